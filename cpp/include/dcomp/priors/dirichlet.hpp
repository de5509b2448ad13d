// DM: m ~ Dirichlet(alpha), q(m) = Dirichlet(a). BJ06 (17)-(19).
#pragma once

#include "dcomp/priors/concept.hpp"

namespace dcomp::DCOMP_ISA {

template <class T>
struct DirichletScores {
  PriorView<T> prior;

  double weights(Scratch<T>& s) const { return expected_weights(prior, s); }

  void shift(std::int64_t, T* out) const {
    for (std::int64_t k = 0; k < prior.padded; ++k) out[k] = prior.shift[k];
  }

  // BJ06 (19) without its combinatoric term and without sum_j w_j log Z_j.
  double close(std::int64_t, const T* a, ScoreSums sums, double* common) const {
    constexpr int lanes = kLanes<double>;
    const double* alpha = prior.alpha;
    const double* is_real = prior.is_real;
    Vec<double> a_sum{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes)
      a_sum += load(is_real + k) * load_double(a + k);
    const double total = sum<double>(a_sum);
    const double psi_total = digamma<double>(broadcast<double>(total))[0];
    Vec<double> part{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes) {
      const Vec<double> a_k = load_double(a + k);
      const Vec<double> real = load(is_real + k);
      const Vec<double> e_log = digamma<double>(a_k) - psi_total;  // (18)
      part += real * (log_gamma(a_k) + (load(alpha + k) - a_k) * e_log);
      store<double>(sums.log + k, load(sums.log + k) + real * e_log);
      store<double>(sums.mean + k, load(sums.mean + k) + real * a_k * (1 / total));
    }
    *common = -psi_total;
    return prior.constant - log_gamma(broadcast<double>(total))[0] + sum<double>(part);
  }
};

}  // namespace dcomp::DCOMP_ISA
