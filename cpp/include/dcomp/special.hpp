// exp, log, digamma and log-gamma on vectors: the special functions of BJ06 (13)-(19).
//
// Series and recurrences are written out from their definitions; the number of terms is the
// smallest that reaches the precision of T on the reduced range. Arguments of digamma and
// log_gamma must be positive.
#pragma once

#include "dcomp/simd.hpp"

namespace dcomp::DCOMP_ISA {

template <class T>
struct FloatFormat;
template <>
struct FloatFormat<float> {
  static constexpr int mantissa = 23;
  static constexpr std::int32_t bias = 127;
  static constexpr float exp_lowest = -87.0F;
  static constexpr float exp_highest = 88.0F;
  static constexpr float ln2_high = 0.693359375F;  // few bits, so that n * ln2_high is exact
  static constexpr float ln2_low = -2.12194440e-4F;
  static constexpr int exp_terms = 7;
  static constexpr int log_terms = 5;
  static constexpr int digamma_terms = 3;
  static constexpr float recurrence_limit = 1e4F;  // beyond it the shifted sum is below 1e-3 ulp
};
template <>
struct FloatFormat<double> {
  static constexpr int mantissa = 52;
  static constexpr std::int64_t bias = 1023;
  static constexpr double exp_lowest = -708.0;
  static constexpr double exp_highest = 709.0;
  static constexpr double ln2_high = 0.693147180369123816490;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr int exp_terms = 13;
  static constexpr int log_terms = 11;
  static constexpr int digamma_terms = 8;
  static constexpr double recurrence_limit = 1e8;
};

// exp(x) with x clamped to the range in which the result is a normal number.
template <class T>
inline Vec<T> exp(Vec<T> x) {
  using F = FloatFormat<T>;
  using Integer = typename VectorOf<T>::integer;
  x = max<T>(min<T>(x, broadcast<T>(F::exp_highest)), broadcast<T>(F::exp_lowest));
  // Adding and taking away 1.5 * 2^mantissa rounds to the nearest whole number.
  const T magic = T(1.5) * static_cast<T>(Integer(1) << F::mantissa);
  const Vec<T> shifted = x * T(1.44269504088896340736) + magic;
  const Vec<T> n = shifted - magic;
  const Vec<T> r = (x - n * F::ln2_high) - n * F::ln2_low;
  Vec<T> p = broadcast<T>(T(1));
  for (int i = F::exp_terms; i >= 1; --i) p = p * r * (T(1) / static_cast<T>(i)) + T(1);
  const Bits<T> exponent = (__builtin_convertvector(n, Bits<T>) + F::bias) << F::mantissa;
  return p * reinterpret_cast<Vec<T>>(exponent);
}

// log(x) for normal positive x: x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m by artanh.
template <class T>
inline Vec<T> log(Vec<T> x) {
  using F = FloatFormat<T>;
  const auto bits = reinterpret_cast<Bits<T>>(x);
  const auto root = reinterpret_cast<Bits<T>>(broadcast<T>(T(0.70710678118654752440)));
  const Bits<T> e = (bits - root) >> F::mantissa;
  const Bits<T> m_bits = bits - (e << F::mantissa);
  const auto m = reinterpret_cast<Vec<T>>(m_bits);
  const Vec<T> s = (m - T(1)) / (m + T(1));
  const Vec<T> s2 = s * s;
  Vec<T> p = broadcast<T>(T(1) / static_cast<T>(2 * F::log_terms - 1));
  for (int i = F::log_terms - 1; i >= 1; --i) p = p * s2 + T(1) / static_cast<T>(2 * i - 1);
  const Vec<T> n = __builtin_convertvector(e, Vec<T>);
  return n * F::ln2_high + (T(2) * s * p + n * F::ln2_low);
}

// Six steps of the recurrence psi(x) = psi(x + 1) - 1/x in one division: with u = x(x+5) the
// products x(x+5), (x+1)(x+4), (x+2)(x+3) are u, u+4, u+6.
template <class T>
struct SixSteps {
  Vec<T> reciprocals;  // 1/x + ... + 1/(x+5)
  Vec<T> product;      // x (x+1) ... (x+5)
  Vec<T> end;          // x + 6
};
template <class T>
inline SixSteps<T> six_steps(Vec<T> x) {
  const Vec<T> u = x * (x + T(5));
  const Vec<T> product = u * (u + T(4)) * (u + T(6));
  const Vec<T> numerator = (x + x + T(5)) * (T(3) * u * u + T(20) * u + T(24));
  return {numerator / product, product, x + T(6)};
}

// psi(x): six steps up, then the asymptotic series ln y - 1/(2y) - sum B_2k / (2k y^2k).
template <class T>
inline Vec<T> digamma(Vec<T> x) {
  using F = FloatFormat<T>;
  constexpr T series[8] = {T(1.0 / 12),  T(-1.0 / 120),     T(1.0 / 252), T(-1.0 / 240),
                           T(1.0 / 132), T(-691.0 / 32760), T(1.0 / 12),  T(-3617.0 / 8160)};
  const Vec<T> limit = broadcast<T>(F::recurrence_limit);
  const SixSteps<T> up = six_steps<T>(min<T>(x, limit));
  const auto small = x < limit;
  const Vec<T> y = small ? up.end : x;
  const Vec<T> inverse = T(1) / y;
  const Vec<T> inverse2 = inverse * inverse;
  Vec<T> tail = broadcast<T>(series[F::digamma_terms - 1]);
  for (int i = F::digamma_terms - 2; i >= 0; --i) tail = tail * inverse2 + series[i];
  const Vec<T> asymptotic = log<T>(y) - T(0.5) * inverse - inverse2 * tail;
  return asymptotic - (small ? up.reciprocals : Vec<T>{});
}

// ln Gamma(x), double only: bounds are differences of large log-gammas.
inline Vec<double> log_gamma(Vec<double> x) {
  constexpr double series[7] = {1.0 / 12,   -1.0 / 360,        1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360.0, 1.0 / 156};
  const Vec<double> limit = broadcast<double>(FloatFormat<double>::recurrence_limit);
  const SixSteps<double> up = six_steps<double>(min<double>(x, limit));
  const auto small = x < limit;
  const Vec<double> y = small ? up.end : x;
  const Vec<double> inverse = 1.0 / y;
  const Vec<double> inverse2 = inverse * inverse;
  Vec<double> tail = broadcast<double>(series[6]);
  for (int i = 5; i >= 0; --i) tail = tail * inverse2 + series[i];
  const double half_log_2pi = 0.91893853320467274178;
  const Vec<double> stirling = (y - 0.5) * log<double>(y) - y + half_log_2pi + inverse * tail;
  return stirling - (small ? log<double>(up.product) : Vec<double>{});
}

}  // namespace dcomp::DCOMP_ISA
