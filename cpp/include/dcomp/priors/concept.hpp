// What a score prior must offer to the mean-field kernel.
#pragma once

#include <concepts>
#include <cstdint>

#include "dcomp/kernels/args.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// Where one document's share of the hyper-parameter statistics goes.
struct ScoreSums {
  double* log = nullptr;   // sum of E[log score_k]
  double* mean = nullptr;  // sum of E[score_k]
};

// shift(i, out): writes what turns a_k into the log of a weight or, for a mode, into the weight;
// but
//   for a term equal over k.
// weights(s): a = alpha_t + c, and e_k, the allocation weights divided by their largest and
// floored;
//   returns the log of that largest.
// close(i, a, sums, common): with scores of parameter a, the prior's part of the objective, and in
//   common the term equal over k that shift left out.
template <class P, class T>
concept AllocationPrior = requires(const P& prior, std::int64_t i, T* out, const T* a,
                                   ScoreSums sums, double* common, Scratch<T>& s) {
  prior.shift(i, out);
  { prior.weights(s) } -> std::same_as<double>;
  { prior.close(i, a, sums, common) } -> std::same_as<double>;
};

template <class T>
inline T largest_lane(Vec<T> v) {
  T largest = v[0];
  for (int q = 1; q < kLanes<T>; ++q) largest = v[q] > largest ? v[q] : largest;
  return largest;
}

// e_k = exp E[log score_k]. Dividing by the largest is what keeps float32 safe: psi(0.001) is
// -1000.
template <class T>
inline double expected_weights(const PriorView<T>& prior, Scratch<T>& s) {
  constexpr int lanes = kLanes<T>;
  Vec<T> top = broadcast<T>(T(-1e30));
  for (std::int64_t k = 0; k < prior.padded; k += lanes) {
    const Vec<T> a = load(prior.alpha_t + k) + load(s.c + k);
    const Vec<T> x = digamma<T>(a) + load(s.shift + k);
    store<T>(s.a + k, a);
    store<T>(s.e + k, x);
    top = max<T>(top, x);
  }
  const T largest = largest_lane<T>(top);
  for (std::int64_t k = 0; k < prior.padded; k += lanes)
    store<T>(s.e + k, max<T>(exp<T>(load(s.e + k) - largest), broadcast<T>(kWeightFloor<T>)));
  return static_cast<double>(largest);
}

}  // namespace dcomp::DCOMP_ISA
