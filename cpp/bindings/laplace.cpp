#include "laplace.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <tuple>

#include "corpus.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/laplace.hpp"

namespace dcomp::bindings {

namespace {

// Sums over documents: value, steps, unsettled documents, eta (K), S (K * K), squares.
using Sums = std::tuple<double, std::int64_t, std::int64_t, std::vector<double>,
                        std::vector<double>, double>;

Sums as_tuple(const LaplaceTotals& t) {
  return {t.value, t.inner, t.unsettled, t.eta, t.S, t.squares};
}

// eta and c on both sides, mu0 and P against K, and the documents' number.
template <class T>
LaplaceInput<T> make_input(const Corpus& corpus, const Matrix<const T>& Theta,
                           const Vector<const double>& log_scale, const Vector<const double>& mu0,
                           const Matrix<const double>& P, double half_log_det_P,
                           const Matrix<const double>& eta_in, const Matrix<double>& eta_out,
                           const Matrix<T>& c_out, int max_inner, double inner_tol) {
  const CsrView& W = corpus.weights();
  const auto K = static_cast<std::int64_t>(mu0.shape(0));
  const auto is = [](const auto& m, std::int64_t n_rows, std::int64_t width) {
    return static_cast<std::int64_t>(m.shape(0)) == n_rows &&
           static_cast<std::int64_t>(m.shape(1)) == width;
  };
  require(K >= 1 && is(P, K, K), "mu0 must hold K numbers and P K rows of K");
  require(is(Theta, W.n_features, padded_width<T>(K)), "Theta must be (J, padded K)");
  require(static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "log_scale must hold J numbers");
  require(is(eta_in, W.n_docs, K) && is(eta_out, W.n_docs, K) && is(c_out, W.n_docs, K),
          "eta and c must be (n_docs, K)");
  require(max_inner >= 0, "max_inner must be at least 0");
  return {W,       padded_rows(Theta, K), log_scale.data(), mu0.data(),
          rows(P), half_log_det_P,        max_inner,        inner_tol};
}

template <class T>
Sums pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
          Vector<const double> mu0, Matrix<const double> P, double half_log_det_P,
          Matrix<const double> eta_in, Matrix<double> eta_out, Matrix<T> c_out, Matrix<T> n,
          int max_inner, double inner_tol, int n_threads) {
  const LaplaceInput<T> input = make_input<T>(corpus, Theta, log_scale, mu0, P, half_log_det_P,
                                              eta_in, eta_out, c_out, max_inner, inner_tol);
  require(static_cast<std::int64_t>(n.shape(0)) == corpus.weights().n_features &&
              n.shape(1) == mu0.shape(0),
          "n must be (n_features, K)");
  LaplaceTotals totals;
  {
    nb::gil_scoped_release release;
    totals = laplace<T>(input, corpus.index(), rows(eta_in), rows(eta_out), rows(c_out), rows(n),
                        std::max(n_threads, 1));
  }
  return as_tuple(totals);
}

template <class T>
Sums fold_in(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
             Vector<const double> mu0, Matrix<const double> P, double half_log_det_P,
             Matrix<const double> eta_in, Matrix<double> eta_out, Matrix<T> c_out,
             Vector<double> value, Matrix<double> variance, int max_inner, double inner_tol,
             int n_threads) {
  const LaplaceInput<T> input = make_input<T>(corpus, Theta, log_scale, mu0, P, half_log_det_P,
                                              eta_in, eta_out, c_out, max_inner, inner_tol);
  require(value.shape(0) == eta_in.shape(0) && variance.shape(0) == eta_in.shape(0) &&
              variance.shape(1) == eta_in.shape(1),
          "value must hold a number per document, variance a row of K");
  LaplaceTotals totals;
  {
    nb::gil_scoped_release release;
    totals = laplace_fold_in<T>(input, rows(eta_in), rows(eta_out), rows(c_out), value.data(),
                                rows(variance), std::max(n_threads, 1));
  }
  return as_tuple(totals);
}

template <class T>
void define(nb::module_& m) {
  m.def("laplace", &pass<T>, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("mu0").noconvert(), nb::arg("P").noconvert(),
        nb::arg("half_log_det_P"), nb::arg("eta_in").noconvert(), nb::arg("eta_out").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("n").noconvert(), nb::arg("max_inner"),
        nb::arg("inner_tol"), nb::arg("n_threads"));
  m.def("laplace_fold_in", &fold_in<T>, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("mu0").noconvert(), nb::arg("P").noconvert(),
        nb::arg("half_log_det_P"), nb::arg("eta_in").noconvert(), nb::arg("eta_out").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("value").noconvert(), nb::arg("variance").noconvert(),
        nb::arg("max_inner"), nb::arg("inner_tol"), nb::arg("n_threads"));
}

}  // namespace

void define_laplace(nb::module_& m) {
  define<float>(m);
  define<double>(m);
}

}  // namespace dcomp::bindings
