// CGP: l_k = 0 with probability rho_k, else Gamma(alpha_k, rate beta_k). BJ06 (3), tables III, IV.
//
// No mean field and no mode: an exact zero makes E[log l] infinite.
#pragma once

#include <cmath>
#include <vector>

#include "dcomp/priors/concept.hpp"
#include "dcomp/priors/independent.hpp"
#include "dcomp/random.hpp"

namespace dcomp::DCOMP_ISA {

struct ConditionalGammaScores {
  static constexpr const char* key = "CGP";
  static constexpr const char* parameters[] = {"alpha", "beta", "rho"};
  static constexpr bool normalised = false, has_tree = false, restricts = true;

  // Where c_k = 0 the score is zero with probability q0, else Gamma(alpha_k + c_k, beta_k + e).
  struct Draw {
    static constexpr int room = 1;
    const double *alpha, *beta, *rho, *exposure;
    std::int64_t K;
    AllowedView allowed;

    explicit Draw(const ScorePrior& prior)
        : alpha(prior.parameter[0]),
          beta(prior.parameter[1]),
          rho(prior.parameter[2]),
          exposure(prior.exposure),
          K(prior.n_components),
          allowed(prior.allowed) {}
    void operator()(std::int64_t i, const std::int32_t* c, Stream& rng, double* out) const {
      const double e = exposure == nullptr ? 1.0 : exposure[i];
      for (std::int64_t k = 0; k < K; ++k) {
        if (c[k] == 0) {
          // q0 = rho / (rho + (1 - rho) (beta / (beta + e))^alpha)  (table III)
          const double stays = std::exp(-alpha[k] * std::log1p(e / beta[k]));
          if (rng.uniform() < rho[k] / (rho[k] + (1 - rho[k]) * stays)) {
            out[k] = -HUGE_VAL;
            continue;
          }
        }
        out[k] = draw_log_gamma(rng, alpha[k] + c[k]) - std::log(beta[k] + e);
      }
      forbid_draws(allowed, i, K, out);
    }
  };

  struct Switch {
    const ScorePrior& prior;

    explicit Switch(const ScorePrior& from) : prior(from) {}
    Absence operator()(std::int64_t i, std::int64_t k) const {
      const double alpha = prior.parameter[0][k], beta = prior.parameter[1][k],
                   rho = prior.parameter[2][k];
      const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
      int sign = 0;
      const double log_zero = std::log(rho) - std::log1p(-rho) + lgamma_r(alpha, &sign);
      return {alpha, beta + e, log_zero - alpha * std::log(beta)};
    }
  };

  // (1 - rho) g_GP(c) + rho [c = 0].
  using Moments = IndependentMoments<ConditionalGammaScores>;
  static double shape(const ScorePrior& prior, std::int64_t k) { return prior.parameter[0][k]; }
  static MomentLogs moment_logs(const ScorePrior& prior, std::int64_t k, double e) {
    const double alpha = prior.parameter[0][k], beta = prior.parameter[1][k],
                 rho = prior.parameter[2][k];
    const double factor = -alpha * std::log1p(e / beta);
    const double zero = std::log((1 - rho) * std::exp(factor) + rho);
    return {zero, factor + std::log1p(-rho) - zero, -std::log(beta + e)};
  }

  class Predictive {
   public:
    static constexpr bool has_zeros = true;

    explicit Predictive(const ScorePrior& prior)
        : alpha_(prior.parameter[0]), beta_(prior.parameter[1]) {
      const double* rho = prior.parameter[2];
      for (std::int64_t k = 0; k < prior.n_components; ++k)
        log_odds_.push_back(std::log(rho[k]) - std::log1p(-rho[k]));
    }
    LinearWeight weight(std::int64_t k, double e) const {
      const double q0 = 1 / (1 + std::exp(-log_odds_of_zero(k, e)));
      return {alpha_[k], 1 / (beta_[k] + e), 1 - q0};
    }
    // log(1 - q0), however small 1 - q0 is.
    LinearLogs logs(std::int64_t k, double e) const {
      const double odds = log_odds_of_zero(k, e), above = odds > 0 ? odds : 0;
      return {-std::log(beta_[k] + e), -(above + std::log1p(std::exp(-std::abs(odds))))};
    }

   private:
    // log q0 / (1 - q0), with q0 as in Draw.
    double log_odds_of_zero(std::int64_t k, double e) const {
      const double log_gamma_zero = -alpha_[k] * std::log1p(e / beta_[k]);
      return log_odds_[static_cast<std::size_t>(k)] - log_gamma_zero;
    }
    const double *alpha_, *beta_;
    std::vector<double> log_odds_;  // of rho
  };
};

}  // namespace dcomp::DCOMP_ISA
