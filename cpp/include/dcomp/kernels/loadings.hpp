// From the statistics n to the weights of the allocation: BJ06 (15) and MODELS.md section 4.
#pragma once

#include "dcomp/kernels/args.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// Writes row j of Theta and its scale; returns the row's share of the prior term of the objective:
// `log_theta` has room for two padded rows.
//   mean  sum_k gamma log theta             (log density of Dirichlet(gamma + 1), no constants)
//   map   sum_k (gamma - 1) log theta       (log density of Dirichlet(gamma))
//   vb    sum_k ln Gamma(lambda) + (gamma - lambda) E[log theta]
template <class T>
double loading_row(const LoadingPass<T>& pass, std::int64_t j, double* log_theta) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.n.width, padded = pass.Theta.stride;
  const std::int64_t real = (K + lanes - 1) / lanes * lanes;  // beyond there is padding alone
  const double less = pass.treatment == Treatment::map ? 1 : 0;
  double* gamma = log_theta + padded;
  for (std::int64_t k = 0; k < real; ++k) gamma[k] = pass.gamma(j, k < K ? k : 0);
  const double* log_total = pass.log_total.row(pass.block[j]);
  const T* n = pass.n.row(j);

  Vec<double> part{};
  double largest = -1e300;
  for (std::int64_t k = 0; k < K; ++k) {
    // map at gamma = 1 meets exact zeros: kept positive, far below any weight that counts.
    const double value = static_cast<double>(n[k]) + (gamma[k] - less);
    log_theta[k] = value > 1e-300 ? value : 1e-300;
  }
  for (std::int64_t k = K; k < real; ++k) log_theta[k] = 1;
  for (std::int64_t k = 0; k < real; k += lanes) {
    const Vec<double> lambda = load(log_theta + k);
    if (pass.treatment == Treatment::vb) {
      const Vec<double> e_log = digamma<double>(lambda) - load(log_total + k);  // B18 (6.12)
      part += load(pass.is_real + k) * (log_gamma(lambda) + (load(gamma + k) - lambda) * e_log);
      store<double>(log_theta + k, e_log);
    } else {
      const Vec<double> value = log<double>(lambda) - load(log_total + k);  // (15)
      part += load(pass.is_real + k) * ((load(gamma + k) - less) * value);
      store<double>(log_theta + k, value);
    }
  }
  for (std::int64_t k = 0; k < K; ++k) largest = log_theta[k] > largest ? log_theta[k] : largest;
  T* theta = pass.Theta.row(j);
  for (std::int64_t k = real; k < padded; ++k) theta[k] = 0;
  for (std::int64_t k = 0; k < real; k += lanes) {
    const Vec<double> value = exp<double>(load(log_theta + k) - largest);
    store_double(theta + k,
                 max<double>(value, broadcast<double>(kWeightFloor<T>)) * load(pass.is_real + k));
  }
  pass.log_scale[j] = largest;
  return sum<double>(part);
}

}  // namespace dcomp::DCOMP_ISA
