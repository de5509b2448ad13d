// GP: l_k ~ Gamma(alpha_k, rate beta_k), and given c Gamma(alpha_k + c_k, beta_k + e).
// BJ06 (13)-(16), tables III and IV.
#pragma once

#include <cmath>

#include "dcomp/priors/allocation.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/priors/independent.hpp"
#include "dcomp/random.hpp"

namespace dcomp::DCOMP_ISA {

struct GammaScores {
  static constexpr const char* key = "GP";
  static constexpr const char* parameters[] = {"alpha", "beta"};
  static constexpr bool normalised = false, has_tree = false, restricts = true;

  // q(l_k) = Gamma(a_k, beta_k + e).
  template <class T>
  struct Expect {
    PriorView<T> prior;

    static void prepare(const ScorePrior& from, PreparedPrior<T>& out) {
      prepare_gamma(from, 0, [](double beta) { return -std::log(beta + 1); }, out);
    }
    double weights(Scratch<T>& s) const { return expected_weights(prior, s); }

    void shift(std::int64_t i, T* out) const {
      constexpr int lanes = kLanes<double>;
      copy_shift(prior, out);
      if (prior.exposure == nullptr) return forbid_shift(prior, i, kNoLog<T>, out);
      const double* is_real = prior.real(i);
      for (std::int64_t k = 0; k < prior.padded; k += lanes) {
        const Vec<double> log_b = log<double>(load(prior.parameter[1] + k) + prior.exposure[i]);
        const auto real = load(is_real + k) > 0.5;
        store_double(out + k, real ? -log_b : broadcast<double>(-1e30));
      }
    }

    // BJ06 (16) without its combinatoric term and without sum_j w_j log Z_j.
    double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
      constexpr int lanes = kLanes<double>;
      const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
      const double *alpha = prior.parameter[0], *beta = prior.parameter[1];
      const double* is_real = prior.real(i);
      Vec<double> part{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes) {
        const Vec<double> a_k = load_double(a + k);
        const Vec<double> real = load(is_real + k);
        const Vec<double> b = load(beta + k) + e;
        const Vec<double> log_b = log<double>(b);
        const Vec<double> e_log = digamma<double>(a_k) - log_b;  // (14)
        part += real * (log_gamma(a_k) - a_k * log_b + (load(alpha + k) - a_k) * e_log);
        store<double>(sums.log + k, load(sums.log + k) + real * e_log);
        store<double>(sums.mean + k, load(sums.mean + k) + real * a_k / b);
      }
      *common = 0;
      return prior.constant_of(i) + sum<double>(part);
    }
  };

  // l_k = (alpha_k - 1 + c_k) / (beta_k + e).
  template <class T>
  struct Maximise {
    static constexpr bool tempers = false;
    PriorView<T> prior;

    static void prepare(const ScorePrior& from, PreparedPrior<T>& out) {
      prepare_gamma(from, 1, [](double beta) { return 1 / (beta + 1); }, out);
    }
    double weights(Scratch<T>& s) const { return mode_weights(prior, s); }
    void shift(std::int64_t i, T* out) const {
      const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
      const double* is_real = prior.real(i);
      for (std::int64_t k = 0; k < prior.padded; ++k)
        out[k] = is_real[k] > 0.5 ? static_cast<T>(1 / (prior.parameter[1][k] + e)) : T(0);
    }

    // log Gamma(l; alpha, beta) less e l: the rate of the Poisson counts is e (Theta l), whose sum
    // is e times the sum of l.
    double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
      constexpr int lanes = kLanes<double>;
      const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
      const double* is_real = prior.real(i);
      Vec<double> part{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes) {
        const Vec<double> real = load(is_real + k), b = load(prior.parameter[1] + k) + e;
        const Vec<double> x = load_double(a + k) / b;
        part += real * (powered_log(load(prior.parameter[0] + k), x) - b * x);
        store<double>(sums.mean + k, load(sums.mean + k) + real * x);
      }
      *common = 0;
      return prior.constant_of(i) + sum<double>(part);
    }
  };

  struct Draw {
    static constexpr int room = 1;
    const double *alpha, *beta, *exposure;
    std::int64_t K;
    AllowedView allowed;

    explicit Draw(const ScorePrior& prior)
        : alpha(prior.parameter[0]),
          beta(prior.parameter[1]),
          exposure(prior.exposure),
          K(prior.n_components),
          allowed(prior.allowed) {}
    void operator()(std::int64_t i, const std::int32_t* c, Stream& rng, double* out) const {
      const double e = exposure == nullptr ? 1.0 : exposure[i];
      for (std::int64_t k = 0; k < K; ++k)
        out[k] = draw_log_gamma(rng, alpha[k] + c[k]) - std::log(beta[k] + e);
      forbid_draws(allowed, i, K, out);
    }
  };

  // g_k(c) = G(alpha + c) / G(alpha) beta^alpha / (beta + e)^(alpha + c).
  using Moments = IndependentMoments<GammaScores>;
  static double shape(const ScorePrior& prior, std::int64_t k) { return prior.parameter[0][k]; }
  static MomentLogs moment_logs(const ScorePrior& prior, std::int64_t k, double e) {
    const double alpha = prior.parameter[0][k], beta = prior.parameter[1][k];
    const double factor = -alpha * std::log1p(e / beta);
    return {factor, 0, -std::log(beta + e)};
  }

  struct Predictive {
    static constexpr bool has_zeros = false;
    const double *alpha, *beta;

    explicit Predictive(const ScorePrior& prior)
        : alpha(prior.parameter[0]), beta(prior.parameter[1]) {}
    LinearWeight weight(std::int64_t k, double e) const { return {alpha[k], 1 / (beta[k] + e), 1}; }
    LinearLogs logs(std::int64_t k, double e) const { return {-std::log(beta[k] + e), 0}; }
  };

 private:
  // `less`: what the parameter of the scores has less than alpha + c. shift: at exposure 1.
  template <class T, class Shift>
  static void prepare_gamma(const ScorePrior& prior, double less, const Shift& shift,
                            PreparedPrior<T>& out) {
    const double *alpha = prior.parameter[0], *beta = prior.parameter[1];
    for (std::size_t k = 0; k < static_cast<std::size_t>(prior.n_components); ++k) {
      out.shape[k] = static_cast<T>(alpha[k] - less);
      out.shift[k] = static_cast<T>(shift(beta[k]));
      out.constant -= std::lgamma(alpha[k]);
      // A flat prior, beta = 0 at alpha = 1, has no density to speak of.
      if (beta[k] > 0) out.constant += alpha[k] * std::log(beta[k]);
    }
  }
};

}  // namespace dcomp::DCOMP_ISA
