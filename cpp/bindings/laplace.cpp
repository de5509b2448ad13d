#include "laplace.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <tuple>

#include "corpus.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/laplace.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

namespace {

// Sums over documents: value, steps, unsettled documents, eta (K), S (K * K), squares.
using Sums = std::tuple<double, std::int64_t, std::int64_t, std::vector<double>,
                        std::vector<double>, double>;

Sums as_tuple(const LaplaceTotals& t) {
  return {t.value, t.inner, t.unsettled, t.eta, t.S, t.squares};
}

// What both passes are given.
template <class T>
struct Given {
  const Corpus& corpus;
  const Matrix<const T>& Theta;
  const Vector<const double>&log_scale, &mu0;
  const Matrix<const double>& P;
  double half_log_det_P;
  const Matrix<const double>& eta_in;
  const Matrix<double>& eta_out;
  const Matrix<T>& c_out;
  int max_inner;
  double inner_tol;
};

template <class T>
LaplaceInput<T> checked(const Call& call, const Given<T>& of) {
  const CsrView& W = of.corpus.weights();
  const auto K = static_cast<std::int64_t>(of.mu0.shape(0));
  call.components(K);
  call.shape("P", of.P, {K, K}, "K, K");
  call.shape("Theta", of.Theta, {W.n_features, padded_width<T>(K)},
             "features, K padded to vectors");
  call.shape("log_scale", of.log_scale, {W.n_features}, "features");
  call.shape("eta_in", of.eta_in, {W.n_docs, K}, "documents, K");
  call.shape("eta_out", of.eta_out, {W.n_docs, K}, "documents, K");
  call.shape("c_out", of.c_out, {W.n_docs, K}, "documents, K");
  call.require(of.max_inner >= 0, "max_inner must be at least 0", of.max_inner);
  call.tolerance("inner_tol", of.inner_tol);
  call.finite("mu0", of.mu0);
  call.finite("P", of.P);
  call.logs("log_scale", of.log_scale);
  call.finite("eta_in", of.eta_in);
  call.not_negative("Theta", of.Theta);
  call.require(std::isfinite(of.half_log_det_P), "half_log_det_P must be finite");
  return {W,          padded_rows(of.Theta, K), of.log_scale.data(), of.mu0.data(),
          rows(of.P), of.half_log_det_P,        of.max_inner,        of.inner_tol};
}

template <class T>
Sums pass(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
          Vector<const double> mu0, Matrix<const double> P, double half_log_det_P,
          Matrix<const double> eta_in, Matrix<double> eta_out, Matrix<T> c_out, Matrix<T> n,
          int max_inner, double inner_tol, int n_threads) {
  const Call call("laplace");
  const int threads = call.threads(n_threads);
  const LaplaceInput<T> input = checked<T>(call, {corpus, Theta, log_scale, mu0, P, half_log_det_P,
                                                  eta_in, eta_out, c_out, max_inner, inner_tol});
  call.shape("n", n, {corpus.weights().n_features, rows(P).width}, "features, K");
  call.apart({span("n", n), span("c_out", c_out), span("eta_out", eta_out), span("eta_in", eta_in),
              span("Theta", Theta), span("log_scale", log_scale), span("mu0", mu0), span("P", P)});
  LaplaceTotals totals;
  {
    const Released release;
    totals = laplace<T>(input, corpus.index(), rows(eta_in), rows(eta_out), rows(c_out), rows(n),
                        threads);
  }
  return as_tuple(totals);
}

template <class T>
Sums fold_in(Corpus& corpus, Matrix<const T> Theta, Vector<const double> log_scale,
             Vector<const double> mu0, Matrix<const double> P, double half_log_det_P,
             Matrix<const double> eta_in, Matrix<double> eta_out, Matrix<T> c_out,
             Vector<double> value, Matrix<double> variance, int max_inner, double inner_tol,
             int n_threads) {
  const Call call("laplace_fold_in");
  const int threads = call.threads(n_threads);
  const LaplaceInput<T> input = checked<T>(call, {corpus, Theta, log_scale, mu0, P, half_log_det_P,
                                                  eta_in, eta_out, c_out, max_inner, inner_tol});
  const CsrView& W = corpus.weights();
  call.shape("value", value, {W.n_docs}, "documents");
  call.shape("variance", variance, {W.n_docs, rows(P).width}, "documents, K");
  call.apart({span("value", value), span("variance", variance), span("c_out", c_out),
              span("eta_out", eta_out), span("eta_in", eta_in), span("Theta", Theta),
              span("log_scale", log_scale), span("mu0", mu0), span("P", P)});
  LaplaceTotals totals;
  {
    const Released release;
    totals = laplace_fold_in<T>(input, rows(eta_in), rows(eta_out), rows(c_out), value.data(),
                                rows(variance), threads);
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
