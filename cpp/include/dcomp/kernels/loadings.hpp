// From the statistics n to the weights of the allocation: BJ06 (15) and MODELS.md section 4.
#pragma once

#include "dcomp/kernels/args.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// Writes row j of Theta and its scale; returns the row's share of the prior term of the objective:
//   mean  sum_k gamma log theta             (log density of Dirichlet(gamma + 1), no constants)
//   map   sum_k (gamma - 1) log theta       (log density of Dirichlet(gamma))
//   vb    sum_k ln Gamma(lambda) + (gamma - lambda) E[log theta]
template <class T>
double loading_row(const LoadingPass<T>& pass, std::int64_t j, double* log_theta) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.n.width, padded = pass.Theta.stride;
  const double gamma = pass.gamma[j];
  const double extra = pass.treatment == Treatment::map ? gamma - 1 : gamma;
  const double* log_total = pass.log_total.row(pass.block[j]);
  const T* n = pass.n.row(j);

  Vec<double> part{};
  double largest = -1e300;
  for (std::int64_t k = 0; k < padded; k += lanes) {
    Vec<double> lambda = broadcast<double>(1.0), real{};
    for (int q = 0; q < lanes && k + q < K; ++q) {
      // map at gamma = 1 meets exact zeros: kept positive, far below any weight that counts.
      const double value = static_cast<double>(n[k + q]) + extra;
      lambda[q] = value > 1e-300 ? value : 1e-300;
      real[q] = 1.0;
    }
    if (pass.treatment == Treatment::vb) {
      const Vec<double> e_log = digamma<double>(lambda) - load(log_total + k);  // B18 (6.12)
      part += real * (log_gamma(lambda) + (gamma - lambda) * e_log);
      store<double>(log_theta + k, e_log);
    } else {
      const Vec<double> value = log<double>(lambda) - load(log_total + k);  // (15)
      if (extra != 0) part += real * (extra * value);
      store<double>(log_theta + k, value);
    }
    for (int q = 0; q < lanes && k + q < K; ++q)
      largest = log_theta[k + q] > largest ? log_theta[k + q] : largest;
  }
  T* theta = pass.Theta.row(j);
  for (std::int64_t k = 0; k < padded; k += lanes) {
    const Vec<double> value = exp<double>(load(log_theta + k) - largest);
    for (int q = 0; q < lanes; ++q) {
      const T t = static_cast<T>(value[q]);
      theta[k + q] = k + q < K ? (t > kWeightFloor<T> ? t : kWeightFloor<T>) : T(0);
    }
  }
  pass.log_scale[j] = largest;
  return sum<double>(part);
}

}  // namespace dcomp::DCOMP_ISA
