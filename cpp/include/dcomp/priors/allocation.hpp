// Arithmetic that priors share in the allocation of words: weights from E[log score], and from the
// scores at their mode.
#pragma once

#include "dcomp/kernels/args.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

template <class T>
inline T largest_lane(Vec<T> v) {
  T largest = v[0];
  for (int q = 1; q < kLanes<T>; ++q) largest = v[q] > largest ? v[q] : largest;
  return largest;
}

// The shift that all documents have.
template <class T>
inline void copy_shift(const PriorView<T>& prior, T* out) {
  for (std::int64_t k = 0; k < prior.padded; ++k) out[k] = prior.shift[k];
}

// What `shift` has for a component without a weight: padding, or one that a document may not use.
template <class T>
inline constexpr T kNoLog = T(-1e30);

// Components that document i may not use, in its shift.
template <class T>
inline void forbid_shift(const PriorView<T>& prior, std::int64_t i, T none, T* out) {
  if (prior.group == nullptr) return;
  const double* real = prior.real(i);
  for (std::int64_t k = 0; k < prior.padded; ++k)
    if (!(real[k] > 0.5)) out[k] = none;
}
// And in its weights, where the floor would leave them some.
template <class T>
inline void forbid_weights(const PriorView<T>& prior, T none, Scratch<T>& s) {
  if (prior.group == nullptr) return;
  for (std::int64_t k = 0; k < prior.padded; ++k)
    if (s.shift[k] == none) s.e[k] = 0;
}

// e_k = exp E[log score_k]. Dividing by the largest is what keeps float32 safe: psi(0.001) is
// -1000.
template <class T>
inline double expected_weights(const PriorView<T>& prior, Scratch<T>& s) {
  constexpr int lanes = kLanes<T>;
  Vec<T> top = broadcast<T>(T(-1e30));
  for (std::int64_t k = 0; k < prior.padded; k += lanes) {
    const Vec<T> a = load(prior.shape + k) + load(s.c + k);
    const Vec<T> x = digamma<T>(a) + load(s.shift + k);
    store<T>(s.a + k, a);
    store<T>(s.e + k, x);
    top = max<T>(top, x);
  }
  const T largest = largest_lane<T>(top);
  for (std::int64_t k = 0; k < prior.padded; k += lanes)
    store<T>(s.e + k, max<T>(exp<T>(load(s.e + k) - largest), broadcast<T>(kWeightFloor<T>)));
  forbid_weights(prior, kNoLog<T>, s);
  return static_cast<double>(largest);
}

// Scores at their mode, for EM: C04 (9), (14); B18 (5.6)-(5.8). Shapes are at least 1: below that
// the density is infinite at zero (MODELS.md section 7). No density is maximised at a score of
// exactly 0 but for a shape of 1, where the power of the score is 0 too.

// The weights to the power below 1 of tempered EM; from e and its largest lanes.
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
  forbid_weights(prior, T(0), s);
  return prior.power * static_cast<double>(largest[0]);
}

// e_k = the score itself, or its power where EM is tempered.
template <class T>
inline double mode_weights(const PriorView<T>& prior, Scratch<T>& s) {
  constexpr int lanes = kLanes<T>;
  Vec<T> top{};
  for (std::int64_t k = 0; k < prior.padded; k += lanes) {
    const Vec<T> a = load(prior.shape + k) + load(s.c + k);
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
  forbid_weights(prior, T(0), s);
  return log<double>(broadcast<double>(static_cast<double>(largest)))[0];
}

// (alpha - 1) log x, 0 where alpha is 1 whatever x is.
inline Vec<double> powered_log(Vec<double> alpha, Vec<double> x) {
  const Vec<double> safe = max<double>(x, broadcast<double>(1e-300));
  return alpha > 1.0 ? (alpha - 1.0) * log<double>(safe) : Vec<double>{};
}

}  // namespace dcomp::DCOMP_ISA
