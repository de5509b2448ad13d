// Scores at their mode, for EM: C04 (9), (14); B18 (5.6)-(5.8).
//
//   DM  m_k = (alpha_k - 1 + c_k) / sum
//   GP  l_k = (alpha_k - 1 + c_k) / (beta_k + e)
// with alpha >= 1: below that the density is infinite at zero (MODELS.md section 7). No density is
// maximised at a score of exactly 0 but for alpha = 1, where the power of the score is 0 too.
#pragma once

#include "dcomp/priors/concept.hpp"

namespace dcomp::DCOMP_ISA {

// The same with e_k to the power below 1 of tempered EM; from e and its largest lanes.
template <class T>
inline double tempered_weights(const PriorView<T>& prior, Vec<T> top, Scratch<T>& s) {
  const auto power = static_cast<T>(prior.power);
  const Vec<T> least = broadcast<T>(kWeightFloor<T>);
  const Vec<T> largest = log<T>(max<T>(broadcast<T>(largest_lane<T>(top)), least));
  for (std::int64_t k = 0; k < prior.padded; k += kLanes<T>) {
    const Vec<T> x = load(s.e + k);
    const Vec<T> share = exp<T>(power * (log<T>(max<T>(x, least)) - largest));
    store<T>(s.e + k, x > T(0) ? max<T>(share, least) : least);
  }
  return prior.power * static_cast<double>(largest[0]);
}

// e_k = the score itself, or its power where EM is tempered.
template <class T>
inline double mode_weights(const PriorView<T>& prior, Scratch<T>& s) {
  constexpr int lanes = kLanes<T>;
  Vec<T> top{};
  for (std::int64_t k = 0; k < prior.padded; k += lanes) {
    const Vec<T> a = load(prior.alpha_t + k) + load(s.c + k);
    const Vec<T> x = a * load(s.shift + k);
    store<T>(s.a + k, a);
    store<T>(s.e + k, x);
    top = max<T>(top, x);
  }
  if (prior.power != 1) return tempered_weights(prior, top, s);
  // A document without words may have no score above zero.
  const T largest = max<T>(broadcast<T>(largest_lane<T>(top)), broadcast<T>(kWeightFloor<T>))[0];
  for (std::int64_t k = 0; k < prior.padded; k += lanes)
    store<T>(s.e + k, max<T>(load(s.e + k) / largest, broadcast<T>(kWeightFloor<T>)));
  return log<double>(broadcast<double>(static_cast<double>(largest)))[0];
}

// (alpha - 1) log x, 0 where alpha is 1 whatever x is.
inline Vec<double> powered_log(Vec<double> alpha, Vec<double> x) {
  const Vec<double> safe = max<double>(x, broadcast<double>(1e-300));
  return alpha > 1.0 ? (alpha - 1.0) * log<double>(safe) : Vec<double>{};
}

template <class T>
struct DirichletMode {
  PriorView<T> prior;

  double weights(Scratch<T>& s) const { return mode_weights(prior, s); }
  void shift(std::int64_t, T* out) const {
    for (std::int64_t k = 0; k < prior.padded; ++k) out[k] = prior.shift[k];
  }
  // log Dirichlet(m; alpha).
  double close(std::int64_t, const T* a, ScoreSums sums, double* common) const {
    constexpr int lanes = kLanes<double>;
    Vec<double> a_sum{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes)
      a_sum += load(prior.is_real + k) * load_double(a + k);
    const double total = max<double>(broadcast<double>(sum<double>(a_sum)),
                                     broadcast<double>(static_cast<double>(kWeightFloor<T>)))[0];
    Vec<double> part{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes) {
      const Vec<double> real = load(prior.is_real + k), m = load_double(a + k) * (1 / total);
      part += real * powered_log(load(prior.alpha + k), m);
      store<double>(sums.mean + k, load(sums.mean + k) + real * m);
    }
    *common = -prior.power * log<double>(broadcast<double>(total))[0];
    return prior.constant + sum<double>(part);
  }
};

template <class T>
struct GammaMode {
  PriorView<T> prior;

  double weights(Scratch<T>& s) const { return mode_weights(prior, s); }
  void shift(std::int64_t i, T* out) const {
    const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
    for (std::int64_t k = 0; k < prior.padded; ++k)
      out[k] = prior.is_real[k] > 0.5 ? static_cast<T>(1 / (prior.beta[k] + e)) : T(0);
  }
  // log Gamma(l; alpha, beta) less e l: the rate of the Poisson counts is e (Theta l), whose sum is
  // e times the sum of l.
  double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
    constexpr int lanes = kLanes<double>;
    const double e = prior.exposure == nullptr ? 1.0 : prior.exposure[i];
    Vec<double> part{};
    for (std::int64_t k = 0; k < prior.padded; k += lanes) {
      const Vec<double> real = load(prior.is_real + k), b = load(prior.beta + k) + e;
      const Vec<double> x = load_double(a + k) / b;
      part += real * (powered_log(load(prior.alpha + k), x) - b * x);
      store<double>(sums.mean + k, load(sums.mean + k) + real * x);
    }
    *common = 0;
    return prior.constant + sum<double>(part);
  }
};

}  // namespace dcomp::DCOMP_ISA
