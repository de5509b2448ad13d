// EX, a prior that no model needs: l_k ~ Exponential(rate tau_k), w_j ~ Poisson(e (Theta l)_j), and
// given c Gamma(1 + c_k, tau_k + e).
//
// Compiled with the CMake option DCOMP_MADE_UP_PRIOR alone, by tests that hold the rest of the core
// to its word: a prior, whatever its parameters are called, is one header and one line of the list.
#pragma once

#include <cmath>

#include "dcomp/priors/allocation.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/priors/independent.hpp"
#include "dcomp/random.hpp"

namespace dcomp::DCOMP_ISA {

struct ExponentialScores {
  static constexpr const char* key = "EX";
  static constexpr const char* parameters[] = {"tau"};
  static constexpr bool normalised = false, has_tree = false;

  // q(l_k) = Gamma(a_k, tau_k + e), a_k = 1 + c_k.
  template <class T>
  struct Expect {
    PriorView<T> prior;

    static void prepare(const ScorePrior& from, PreparedPrior<T>& out) {
      const double* tau = from.parameter[0];
      for (std::size_t k = 0; k < static_cast<std::size_t>(from.n_components); ++k) {
        out.shift[k] = static_cast<T>(-std::log(tau[k] + 1));  // shape is 1 as it comes
        out.constant += std::log(tau[k]);
      }
    }
    double weights(Scratch<T>& s) const { return expected_weights(prior, s); }
    void shift(std::int64_t i, T* out) const {
      copy_shift(prior, out);
      if (prior.exposure == nullptr) return;
      for (std::int64_t k = 0; k < prior.padded; k += kLanes<double>) {
        const Vec<double> log_b = log<double>(load(prior.parameter[0] + k) + prior.exposure[i]);
        const auto real = load(prior.is_real + k) > 0.5;
        store_double(out + k, real ? -log_b : broadcast<double>(-1e30));
      }
    }

    // sum_k ln tau_k + ln G(a_k) - a_k ln b_k + (1 - a_k) E[log l_k].
    double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
      const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
      Vec<double> part{};
      for (std::int64_t k = 0; k < prior.padded; k += kLanes<double>) {
        const Vec<double> a_k = load_double(a + k), real = load(prior.is_real + k);
        const Vec<double> b = load(prior.parameter[0] + k) + e, log_b = log<double>(b);
        const Vec<double> e_log = digamma<double>(a_k) - log_b;
        part += real * (log_gamma(a_k) - a_k * log_b + (1.0 - a_k) * e_log);
        store<double>(sums.log + k, load(sums.log + k) + real * e_log);
        store<double>(sums.mean + k, load(sums.mean + k) + real * a_k / b);
      }
      *common = 0;
      return prior.constant + sum<double>(part);
    }
  };

  struct Draw {
    static constexpr int room = 1;
    const double *tau, *exposure;
    std::int64_t K;

    explicit Draw(const ScorePrior& prior)
        : tau(prior.parameter[0]), exposure(prior.exposure), K(prior.n_components) {}
    void operator()(std::int64_t i, const std::int32_t* c, Stream& rng, double* out) const {
      const double e = exposure == nullptr ? 1.0 : exposure[i];
      for (std::int64_t k = 0; k < K; ++k)
        out[k] = draw_log_gamma(rng, 1.0 + c[k]) - std::log(tau[k] + e);
    }
  };

  // g_k(c) = c! tau / (tau + e)^(1 + c).
  using Moments = IndependentMoments<ExponentialScores>;
  static double shape(const ScorePrior&, std::int64_t) { return 1; }
  static MomentLogs moment_logs(const ScorePrior& prior, std::int64_t k, double e) {
    const double tau = prior.parameter[0][k];
    return {-std::log1p(e / tau), 0, -std::log(tau + e)};
  }

  struct Predictive {
    static constexpr bool has_zeros = false;
    const double* tau;

    explicit Predictive(const ScorePrior& prior) : tau(prior.parameter[0]) {}
    LinearWeight weight(std::int64_t k, double e) const { return {1, 1 / (tau[k] + e), 1}; }
    LinearLogs logs(std::int64_t k, double e) const { return {-std::log(tau[k] + e), 0}; }
  };
};

}  // namespace dcomp::DCOMP_ISA
