// The Python face of the core: checks shapes, drops the GIL, calls the library.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "corpus.hpp"
#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/extrapolate.hpp"
#include "dcomp/factor.hpp"
#include "dcomp/mean_field.hpp"
#include "evaluation.hpp"
#include "laplace.hpp"
#include "samplers.hpp"
#include "score_prior.hpp"
#include "split.hpp"
#include "structured.hpp"

namespace dcomp::bindings {

using Sums = std::tuple<double, std::int64_t, std::vector<double>, std::vector<double>>;

template <class T>
ExpectInput<T> make_input(const Corpus& corpus, const Matrix<const T>& Theta,
                          const Vector<const double>& log_scale, const Prior& prior, std::int64_t K,
                          int max_inner, double inner_tol) {
  const CsrView& W = corpus.weights();
  require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features, "Theta must have J rows");
  require(static_cast<std::int64_t>(Theta.shape(1)) == padded_width<T>(K),
          "Theta must be padded to whole vectors");
  require(static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "log_scale must hold J numbers");
  require(max_inner >= 1, "max_inner must be at least 1");
  const ScorePrior view = prior.view(K, W.n_docs);
  prior.require_mode(view.mode == ScoreMode::expect ? "expect" : "maximise");
  return {W, padded_rows(Theta, K), log_scale.data(), view, max_inner, inner_tol};
}

template <class T>
void require_scores(const Corpus& corpus, const Matrix<const T>& c_in, const Matrix<T>& c_out) {
  require(static_cast<std::int64_t>(c_in.shape(0)) == corpus.weights().n_docs &&
              c_in.shape(0) == c_out.shape(0) && c_in.shape(1) == c_out.shape(1),
          "c must be (n_docs, K) on both sides");
}

template <class T>
Sums expect_pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
                 const Prior& prior, Matrix<const T> c_in, Matrix<T> c_out, Matrix<T> n,
                 int max_inner, double inner_tol, int n_threads) {
  const auto K = static_cast<std::int64_t>(c_in.shape(1));
  require_scores<T>(corpus, c_in, c_out);
  require(static_cast<std::int64_t>(n.shape(0)) == corpus.weights().n_features &&
              static_cast<std::int64_t>(n.shape(1)) == K,
          "n must be (n_features, K)");
  const ExpectInput<T> input =
      make_input<T>(corpus, Theta, log_scale, prior, K, max_inner, inner_tol);
  ExpectSums sums;
  {
    nb::gil_scoped_release release;
    sums =
        expect<T>(input, corpus.index(), rows(c_in), rows(c_out), rows(n), std::max(n_threads, 1));
  }
  return {sums.bound, sums.inner, sums.log, sums.mean};
}

template <class T>
Sums fold_in_pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
                  const Prior& prior, Matrix<const T> c_in, Matrix<T> c_out, Vector<double> bound,
                  int max_inner, double inner_tol, int n_threads) {
  const auto K = static_cast<std::int64_t>(c_in.shape(1));
  require_scores<T>(corpus, c_in, c_out);
  require(static_cast<std::int64_t>(bound.shape(0)) == corpus.weights().n_docs,
          "bound must hold one number per document");
  const ExpectInput<T> input =
      make_input<T>(corpus, Theta, log_scale, prior, K, max_inner, inner_tol);
  ExpectSums sums;
  {
    nb::gil_scoped_release release;
    sums = fold_in<T>(input, rows(c_in), rows(c_out), bound.data(), std::max(n_threads, 1));
  }
  return {sums.bound, sums.inner, sums.log, sums.mean};
}

template <class T>
auto loadings(Matrix<const T> n, Vector<const double> gamma, Vector<const std::int32_t> block,
              std::int64_t n_blocks, const std::string& treatment, Vector<double> log_scale,
              int n_threads) {
  const auto J = static_cast<std::int64_t>(n.shape(0)), K = static_cast<std::int64_t>(n.shape(1));
  require(static_cast<std::int64_t>(gamma.shape(0)) == J &&
              static_cast<std::int64_t>(block.shape(0)) == J &&
              static_cast<std::int64_t>(log_scale.shape(0)) == J,
          "gamma, block and log_scale must hold J numbers each");
  for (std::int64_t j = 0; j < J; ++j)
    require(block.data()[j] >= 0 && block.data()[j] < n_blocks, "block must lie in [0, n_blocks)");
  require(treatment == "mean" || treatment == "map" || treatment == "vb",
          "treatment must be 'mean', 'map' or 'vb'");
  const Treatment how = treatment == "mean"  ? Treatment::mean
                        : treatment == "map" ? Treatment::map
                                             : Treatment::vb;
  auto Theta = new_matrix<T>(J, padded_width<T>(K));
  const Rows<T> out{Theta.data(), J, K, padded_width<T>(K)};
  double objective = 0;
  {
    nb::gil_scoped_release release;
    objective = update_loadings<T>(how, rows(n), gamma.data(), block.data(), n_blocks, out,
                                   log_scale.data(), std::max(n_threads, 1));
  }
  return std::make_tuple(Theta, objective);
}

template <class T>
void predict(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
             Matrix<const T> scores, Vector<double> out, int n_threads) {
  const auto K = static_cast<std::int64_t>(scores.shape(1));
  const CsrView& W = corpus.weights();
  require(static_cast<std::int64_t>(scores.shape(0)) == W.n_docs &&
              static_cast<std::int64_t>(out.shape(0)) == W.n_docs,
          "scores and out must have one row per document");
  require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(Theta.shape(1)) == padded_width<T>(K) &&
              static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "Theta must be (J, padded K) and log_scale (J,)");
  nb::gil_scoped_release release;
  log_predictive<T>(W, padded_rows(Theta, K), log_scale.data(), rows(scores), out.data(),
                    std::max(n_threads, 1));
}

// One side of a factorisation W ~ X F'; returns the sums before and after, and the residual.
template <class T>
std::tuple<double, double, double, double> factor_pass(Corpus& corpus, Matrix<const T> F,
                                                       Matrix<const T> x_in, Matrix<T> x_out,
                                                       const std::string& update, int max_rounds,
                                                       double tol, int n_threads) {
  const CsrView& W = corpus.weights();
  const auto K = static_cast<std::int64_t>(x_in.shape(1));
  require(static_cast<std::int64_t>(F.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(F.shape(1)) == padded_width<T>(K),
          "F must be (columns, padded K)");
  require(static_cast<std::int64_t>(x_in.shape(0)) == W.n_docs && x_in.shape(0) == x_out.shape(0) &&
              x_in.shape(1) == x_out.shape(1),
          "x must be (rows, K) on both sides");
  require(update == "multiplicative" || update == "coordinates",
          "update must be 'multiplicative' or 'coordinates'");
  require(max_rounds >= 1, "max_rounds must be at least 1");
  const FactorPass<T> pass{
      W,
      padded_rows(F, K),
      rows(x_in),
      rows(x_out),
      update == "coordinates" ? FactorUpdate::coordinates : FactorUpdate::multiplicative,
      max_rounds,
      tol};
  FactorSums sums;
  {
    nb::gil_scoped_release release;
    sums = factor<T>(pass, std::max(n_threads, 1));
  }
  return {
      sums.before, sums.after, sums.residual,
      static_cast<double>(sums.rounds) / static_cast<double>(std::max<std::int64_t>(W.n_docs, 1))};
}

template <class T>
void require_alike(const Matrix<const T>& x, std::initializer_list<const Matrix<const T>*> others) {
  for (const Matrix<const T>* other : others)
    require(other->shape(0) == x.shape(0) && other->shape(1) == x.shape(1),
            "the points must have one shape");
}

// Of three points a sweep apart: the squared length of a step, and of its change.
template <class T>
std::tuple<double, double> squares(Matrix<const T> x0, Matrix<const T> x1, Matrix<const T> x2,
                                   int n_threads) {
  require_alike<T>(x0, {&x1, &x2});
  StepSquares found;
  {
    nb::gil_scoped_release release;
    found = step_squares<T>(x0.data(), x1.data(), x2.data(), static_cast<std::int64_t>(x0.size()),
                            std::max(n_threads, 1));
  }
  return {found.first, found.second};
}

template <class T>
void leap(Matrix<const T> x0, Matrix<const T> x1, Matrix<const T> x2, double factor, double kept,
          Matrix<T> out, int n_threads) {
  require_alike<T>(x0, {&x1, &x2});
  require(out.shape(0) == x0.shape(0) && out.shape(1) == x0.shape(1),
          "the points must have one shape");
  nb::gil_scoped_release release;
  extrapolate<T>(x0.data(), x1.data(), x2.data(), factor, kept, out.data(),
                 static_cast<std::int64_t>(x0.size()), std::max(n_threads, 1));
}

// Elementwise special functions, so that Python can test what the kernels use.
template <class T>
void special(const std::string& name, Vector<const T> x, Vector<T> out) {
  const auto n = static_cast<std::int64_t>(x.shape(0));
  require(x.shape(0) == out.shape(0) && n % 16 == 0,
          "x and out must have one length, 16 divides it");
  if constexpr (std::is_same_v<T, double>) {
    if (name == "log_gamma") return instruction_set().log_gamma(x.data(), out.data(), n);
  }
  const int which = name == "exp" ? 0 : name == "log" ? 1 : name == "digamma" ? 2 : -1;
  require(which >= 0, "unknown function '" + name + "'");
  kernels<T>().special[which](x.data(), out.data(), n);
}

template <class T>
void define_kernels(nb::module_& m) {
  m.def("expect", &expect_pass<T>, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("prior"), nb::arg("c_in").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("n").noconvert(), nb::arg("max_inner"),
        nb::arg("inner_tol"), nb::arg("n_threads"));
  m.def("fold_in", &fold_in_pass<T>, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("prior"), nb::arg("c_in").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("bound").noconvert(), nb::arg("max_inner"),
        nb::arg("inner_tol"), nb::arg("n_threads"));
  m.def("loadings", &loadings<T>, nb::arg("n").noconvert(), nb::arg("gamma").noconvert(),
        nb::arg("block").noconvert(), nb::arg("n_blocks"), nb::arg("treatment"),
        nb::arg("log_scale").noconvert(), nb::arg("n_threads"));
  m.def("log_predictive", &predict<T>, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("scores").noconvert(), nb::arg("out").noconvert(),
        nb::arg("n_threads"));
  m.def("factor", &factor_pass<T>, nb::arg("corpus"), nb::arg("F").noconvert(),
        nb::arg("x_in").noconvert(), nb::arg("x_out").noconvert(), nb::arg("update"),
        nb::arg("max_rounds"), nb::arg("tol"), nb::arg("n_threads"));
  m.def("step_squares", &squares<T>, nb::arg("x0").noconvert(), nb::arg("x1").noconvert(),
        nb::arg("x2").noconvert(), nb::arg("n_threads"));
  m.def("extrapolate", &leap<T>, nb::arg("x0").noconvert(), nb::arg("x1").noconvert(),
        nb::arg("x2").noconvert(), nb::arg("factor"), nb::arg("kept"), nb::arg("out").noconvert(),
        nb::arg("n_threads"));
  m.def("special", &special<T>, nb::arg("name"), nb::arg("x").noconvert(),
        nb::arg("out").noconvert());
}

std::vector<std::tuple<std::string, std::string>> cells() {
  std::vector<std::tuple<std::string, std::string>> out;
  for (const Cell& cell : compiled()) out.emplace_back(cell.key, cell.mode);
  return out;
}

}  // namespace dcomp::bindings

NB_MODULE(_core, m) {
  using namespace dcomp::bindings;
  namespace nb = nanobind;
  nb::class_<Corpus>(m, "Corpus")
      .def(nb::init<Vector<const std::int64_t>, Vector<const std::int32_t>,
                    Vector<const std::int32_t>, std::int64_t, std::int64_t>(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("data").noconvert(), nb::arg("n_features"), nb::arg("first") = 0)
      .def(nb::init<Vector<const std::int64_t>, Vector<const std::int32_t>, Vector<const double>,
                    std::int64_t, std::int64_t>(),
           nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("data").noconvert(), nb::arg("n_features"), nb::arg("first") = 0)
      .def_prop_ro("first", [](const Corpus& corpus) { return corpus.weights().first; });
  define_score_prior(m);
  define_kernels<float>(m);
  define_kernels<double>(m);
  define_laplace(m);
  define_samplers(m);
  define_structured(m);
  define_evaluation(m);
  define_split(m);
  m.def("lanes", [] { return dcomp::kernels<float>().lanes; }, "Numbers of float32 in a vector.");
  m.def("instruction_set", [] { return std::string(dcomp::instruction_set().name); });
  m.def("compiled", &cells, "The score priors and allocation modes that were compiled in.");
}
