// The logistic normal by Laplace's method as a library: every document, on any number of threads.
#pragma once

#include <vector>

#include "dcomp/kernels/laplace_pass.hpp"

namespace dcomp {

template <class T>
struct LaplaceInput {
  CsrView W;
  Rows<const T> Theta;
  const double* log_scale = nullptr;
  const double* mu0 = nullptr;  // (K)
  Rows<const double> P;         // (K, K): see LaplacePass
  double half_log_det_P = 0;
  int max_inner = 1;
  double inner_tol = 0;
};

struct LaplaceTotals {
  double value = 0, squares = 0;
  std::int64_t inner = 0, unsettled = 0;
  std::vector<double> eta;  // (K)
  std::vector<double> S;    // (K, K), symmetric
};

// One pass: eta_in -> eta_out and c_out for every document, n += the statistics of the loadings,
// and the sums. n must come in as zeros.
template <class T>
LaplaceTotals laplace(const LaplaceInput<T>& input, const CorpusIndex& index,
                      const Rows<const double>& eta_in, const Rows<double>& eta_out,
                      const Rows<T>& c_out, const Rows<T>& n, int n_threads);

// The mode of every document with the loadings given; value (I) of each, and the diagonals of
// Sigma_d, variance (I, K).
template <class T>
LaplaceTotals laplace_fold_in(const LaplaceInput<T>& input, const Rows<const double>& eta_in,
                              const Rows<double>& eta_out, const Rows<T>& c_out, double* value,
                              const Rows<double>& variance, int n_threads);

}  // namespace dcomp
