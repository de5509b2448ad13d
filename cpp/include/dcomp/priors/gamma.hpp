// GP: l_k ~ Gamma(alpha_k, rate beta_k), q(l_k) = Gamma(a_k, beta_k + e). BJ06 (13)-(16).
#pragma once

#include "dcomp/priors/concept.hpp"

namespace dcomp::DCOMP_ISA {

template <class T>
struct GammaScores {
  PriorView<T> prior;

  double weights(Scratch<T>& s) const { return expected_weights(prior, s); }

  void shift(std::int64_t i, T* out) const {
    constexpr int lanes = kLanes<double>;
    for (std::int64_t k = 0; k < prior.padded; ++k) out[k] = prior.shift[k];
    if (prior.exposure == nullptr) return;
    for (std::int64_t k = 0; k < prior.padded; k += lanes) {
      const Vec<double> log_b = log<double>(load(prior.beta + k) + prior.exposure[i]);
      const auto real = load(prior.is_real + k) > 0.5;
      store_double(out + k, real ? -log_b : broadcast<double>(-1e30));
    }
  }

  // BJ06 (16) without its combinatoric term and without sum_j w_j log Z_j.
  double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
    constexpr int lanes = kLanes<double>;
    const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
    const double* alpha = prior.alpha;
    Vec<double> part{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes) {
      const Vec<double> a_k = load_double(a + k);
      const Vec<double> real = load(prior.is_real + k);
      const Vec<double> b = load(prior.beta + k) + e;
      const Vec<double> log_b = log<double>(b);
      const Vec<double> e_log = digamma<double>(a_k) - log_b;  // (14)
      part += real * (log_gamma(a_k) - a_k * log_b + (load(alpha + k) - a_k) * e_log);
      store<double>(sums.log + k, load(sums.log + k) + real * e_log);
      store<double>(sums.mean + k, load(sums.mean + k) + real * a_k / b);
    }
    *common = 0;
    return prior.constant + sum<double>(part);
  }
};

}  // namespace dcomp::DCOMP_ISA
