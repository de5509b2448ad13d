// The Python face of the core: checks shapes, drops the GIL, calls the library.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "corpus.hpp"
#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/extrapolate.hpp"
#include "dcomp/factor.hpp"
#include "dcomp/mean_field.hpp"
#include "dcomp/spread.hpp"
#include "evaluation.hpp"
#include "laplace.hpp"
#include "retrieve.hpp"
#include "samplers.hpp"
#include "score_prior.hpp"
#include "split.hpp"
#include "stop.hpp"
#include "structured.hpp"
#include "words.hpp"

namespace dcomp::bindings {

using Sums = std::tuple<double, std::int64_t, std::vector<double>, std::vector<double>>;

// Theta (J, padded K) and log_scale (J) against the corpus.
template <class T>
void require_loadings(const Call& call, const CsrView& W, std::int64_t K,
                      const Matrix<const T>& Theta, const Vector<const double>& log_scale) {
  call.components(K);
  call.shape("Theta", Theta, {W.n_features, padded_width<T>(K)}, "features, K padded to vectors");
  call.shape("log_scale", log_scale, {W.n_features}, "features");
  call.logs("log_scale", log_scale);
}

template <class T>
ExpectInput<T> make_input(const Call& call, const Corpus& corpus, const Matrix<const T>& Theta,
                          const Vector<const double>& log_scale, const Prior& prior,
                          const Matrix<const T>& c_in, const Matrix<T>& c_out, int max_inner,
                          double inner_tol) {
  const CsrView& W = corpus.weights();
  const auto K = static_cast<std::int64_t>(c_in.shape(1));
  require_loadings<T>(call, W, K, Theta, log_scale);
  call.shape("c_in", c_in, {W.n_docs, K}, "documents, K");
  call.shape("c_out", c_out, {W.n_docs, K}, "documents, K");
  call.require(max_inner >= 1, "max_inner must be at least 1", max_inner);
  call.tolerance("inner_tol", inner_tol);
  const ScorePrior view = prior.view(K, W.n_docs);
  prior.require_mode(view.mode == ScoreMode::expect ? "expect" : "maximise");
  return {W, padded_rows(Theta, K), log_scale.data(), view, max_inner, inner_tol};
}

// Numbers of Theta and c are not looked at: a NaN among them makes the bound one, which Python
// tells, and no place in memory depends on them.
template <class T>
Sums expect_pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
                 const Prior& prior, Matrix<const T> c_in, Matrix<T> c_out, Matrix<T> n,
                 int max_inner, double inner_tol, int n_threads) {
  const Call call("expect");
  const int threads = call.threads(n_threads);
  const ExpectInput<T> input =
      make_input<T>(call, corpus, Theta, log_scale, prior, c_in, c_out, max_inner, inner_tol);
  call.shape("n", n, {corpus.weights().n_features, rows(c_in).width}, "features, K");
  call.apart({span("n", n), span("c_out", c_out), span("c_in", c_in), span("Theta", Theta),
              span("log_scale", log_scale)});
  ExpectSums sums;
  {
    const Released release;
    sums = expect<T>(input, corpus.index(), rows(c_in), rows(c_out), rows(n), threads);
  }
  return {sums.bound, sums.inner, sums.log, sums.mean};
}

template <class T>
Sums fold_in_pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
                  const Prior& prior, Matrix<const T> c_in, Matrix<T> c_out, Vector<double> bound,
                  int max_inner, double inner_tol, int n_threads) {
  const Call call("fold_in");
  const int threads = call.threads(n_threads);
  const ExpectInput<T> input =
      make_input<T>(call, corpus, Theta, log_scale, prior, c_in, c_out, max_inner, inner_tol);
  call.shape("bound", bound, {corpus.weights().n_docs}, "documents");
  call.apart({span("bound", bound), span("c_out", c_out), span("c_in", c_in), span("Theta", Theta),
              span("log_scale", log_scale)});
  ExpectSums sums;
  {
    const Released release;
    sums = fold_in<T>(input, rows(c_in), rows(c_out), bound.data(), threads);
  }
  return {sums.bound, sums.inner, sums.log, sums.mean};
}

Treatment treatment_of(const Call& call, const std::string& name) {
  if (name == "mean") return Treatment::mean;
  if (name == "map") return Treatment::map;
  if (name == "vb") return Treatment::vb;
  call.fail("treatment must be 'mean', 'map' or 'vb'; got '" + name + "'");
}

template <class T>
auto loadings(Matrix<const T> n, GammaArray gamma, Vector<const std::int32_t> block,
              std::int64_t n_blocks, const std::string& treatment, Vector<double> log_scale,
              int n_threads) {
  const Call call("loadings");
  const int threads = call.threads(n_threads);
  const auto J = static_cast<std::int64_t>(n.shape(0)), K = static_cast<std::int64_t>(n.shape(1));
  call.components(K);
  call.blocks(block, J, n_blocks);
  const GammaView prior = call.gamma(gamma, J, K);
  call.shape("log_scale", log_scale, {J}, "features");
  const Treatment how = treatment_of(call, treatment);
  call.apart(
      {span("log_scale", log_scale), span("gamma", gamma), span("n", n), span("block", block)});
  auto Theta = new_matrix<T>(J, padded_width<T>(K));
  const Rows<T> out{Theta.data(), J, K, padded_width<T>(K)};
  double objective = 0;
  {
    const Released release;
    objective = update_loadings<T>(how, rows(n), prior, block.data(), n_blocks, out,
                                   log_scale.data(), threads);
  }
  return std::make_tuple(Theta, objective);
}

template <class T>
void predict(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
             Matrix<const T> scores, Vector<double> out, int n_threads) {
  const Call call("log_predictive");
  const int threads = call.threads(n_threads);
  const auto K = static_cast<std::int64_t>(scores.shape(1));
  const CsrView& W = corpus.weights();
  require_loadings<T>(call, W, K, Theta, log_scale);
  call.shape("scores", scores, {W.n_docs, K}, "documents, K");
  call.shape("out", out, {W.n_docs}, "documents");
  call.apart({span("out", out), span("scores", scores), span("Theta", Theta),
              span("log_scale", log_scale)});
  const Released release;
  log_predictive<T>(W, padded_rows(Theta, K), log_scale.data(), rows(scores), out.data(), threads);
}

FactorUpdate update_of(const Call& call, const std::string& name) {
  if (name == "multiplicative") return FactorUpdate::multiplicative;
  if (name == "coordinates") return FactorUpdate::coordinates;
  call.fail("update must be 'multiplicative' or 'coordinates'; got '" + name + "'");
}

// One side of a factorisation W ~ X F'; returns the sums before and after, and the residual.
template <class T>
std::tuple<double, double, double, double> factor_pass(Corpus& corpus, Matrix<const T> F,
                                                       Matrix<const T> x_in, Matrix<T> x_out,
                                                       const std::string& update, int max_rounds,
                                                       double tol, int n_threads) {
  const Call call("factor");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.weights();
  const auto K = static_cast<std::int64_t>(x_in.shape(1));
  call.components(K);
  call.shape("F", F, {W.n_features, padded_width<T>(K)}, "columns, K padded to vectors");
  call.shape("x_in", x_in, {W.n_docs, K}, "rows, K");
  call.shape("x_out", x_out, {W.n_docs, K}, "rows, K");
  call.require(max_rounds >= 1, "max_rounds must be at least 1", max_rounds);
  call.tolerance("tol", tol);
  call.apart({span("x_out", x_out), span("x_in", x_in), span("F", F)});
  const FactorPass<T> pass{
      W, padded_rows(F, K), rows(x_in), rows(x_out), update_of(call, update), max_rounds, tol};
  FactorSums sums;
  {
    const Released release;
    sums = factor<T>(pass, threads);
  }
  return {
      sums.before, sums.after, sums.residual,
      static_cast<double>(sums.rounds) / static_cast<double>(std::max<std::int64_t>(W.n_docs, 1))};
}

template <class T, class... Others>
void require_alike(const Call& call, const Matrix<const T>& x, const Others&... others) {
  const auto check = [&](const auto& other) {
    call.shape("each of the points", other, {rows(x).n_rows, rows(x).width}, "as x0 has");
  };
  (check(others), ...);
}

template <class T>
void leap(Matrix<const T> x0, Matrix<const T> x1, double b, double kept, Matrix<T> out,
          int n_threads) {
  const Call call("extrapolate");
  const int threads = call.threads(n_threads);
  require_alike<T>(call, x0, x1, out);
  call.require(std::isfinite(b), "b must be finite");
  call.require(kept >= 0 && kept <= 1, "kept must lie in [0, 1]");
  call.apart({span("out", out), span("x0", x0), span("x1", x1)});
  const Released release;
  extrapolate<T>(x0.data(), x1.data(), b, kept, out.data(), static_cast<std::int64_t>(x0.size()),
                 threads);
}

template <class T>
void spread_columns(Matrix<const T> c, Matrix<double> times, Matrix<double> sums, int n_threads) {
  const Call call("spread");
  const int threads = call.threads(n_threads);
  const auto table = rows(c);
  call.shape("times", times, {table.width, kBins}, "columns of c, bins");
  call.shape("sums", sums, {table.width, kBins}, "columns of c, bins");
  call.apart({span("times", times), span("sums", sums), span("c", c)});
  const Released release;
  spread<T>(c.data(), table.n_rows, table.width, times.data(), sums.data(), threads);
}

// Elementwise special functions, so that Python can test what the kernels use.
template <class T>
void special(const std::string& name, Vector<const T> x, Vector<T> out) {
  const Call call("special");
  const auto n = static_cast<std::int64_t>(x.shape(0));
  call.require(n % 16 == 0, "the length of x must be a multiple of 16", n);
  call.shape("out", out, {n}, "as x");
  if constexpr (std::is_same_v<T, double>) {
    if (name == "log_gamma") return instruction_set().log_gamma(x.data(), out.data(), n);
  }
  const int which = name == "exp" ? 0 : name == "log" ? 1 : name == "digamma" ? 2 : -1;
  if (which < 0) call.fail("there is no function '" + name + "' for these numbers");
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
  m.def("extrapolate", &leap<T>, nb::arg("x0").noconvert(), nb::arg("x1").noconvert(), nb::arg("b"),
        nb::arg("kept"), nb::arg("out").noconvert(), nb::arg("n_threads"));
  m.def("spread", &spread_columns<T>, nb::arg("c").noconvert(), nb::arg("times").noconvert(),
        nb::arg("sums").noconvert(), nb::arg("n_threads"));
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
  define_retrieve(m);
  define_split(m);
  define_stop(m);
  define_words(m);
  m.def("spread_bins", [] { return dcomp::kBins; }, "Sizes that `spread` tells apart.");
  m.def("lanes", [] { return dcomp::kernels<float>().lanes; }, "Numbers of float32 in a vector.");
  m.def("instruction_set", [] { return std::string(dcomp::instruction_set().name); });
  m.def("compiled", &cells, "The score priors and allocation modes that were compiled in.");
}
