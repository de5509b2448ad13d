#include "dcomp/random.hpp"

#include <algorithm>
#include <cmath>

namespace dcomp {

// By the polar method.
double draw_normal(Stream& rng) {
  for (;;) {
    const double x = 2 * rng.uniform() - 1, y = 2 * rng.uniform() - 1, s = x * x + y * y;
    if (s < 1 && s > 0) return x * std::sqrt(-2 * std::log(s) / s);
  }
}

namespace {

// Binomial(n, p) for p <= 1/2 by inversion: fast while n p is small.
std::int32_t binomial_by_inversion(Stream& rng, std::int32_t n, double p) {
  const double odds = p / (1 - p);
  double term = std::pow(1 - p, n), u = rng.uniform();
  for (std::int32_t x = 0; x < n; ++x) {
    if (u < term) return x;
    u -= term;
    term *= odds * (n - x) / (x + 1);
  }
  return n;
}

// Binomial(n, p) for n p >= 10 by transformed rejection (Hormann 1993, algorithm BTRS).
std::int32_t binomial_by_rejection(Stream& rng, std::int32_t n, double p) {
  const double spread = std::sqrt(n * p * (1 - p));
  const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = n * p + 0.5, v_r = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * spread;
  const double log_odds = std::log(p / (1 - p)), mode = std::floor((n + 1.0) * p);
  const auto log_factorials = [](double k, double rest) {
    int sign = 0;
    return lgamma_r(k + 1, &sign) + lgamma_r(rest + 1, &sign);
  };
  const double at_mode = log_factorials(mode, n - mode);
  for (;;) {
    const double u = rng.uniform() - 0.5;
    double v = rng.uniform();
    const double us = 0.5 - std::abs(u), k = std::floor((2 * a / us + b) * u + c);
    if (us >= 0.07 && v <= v_r) return static_cast<std::int32_t>(k);
    if (k < 0 || k > n) continue;
    v = std::log(v * alpha / (a / (us * us) + b));
    if (v <= at_mode - log_factorials(k, n - k) + (k - mode) * log_odds)
      return static_cast<std::int32_t>(k);
  }
}

}  // namespace

// Shapes like 1e-40 would leave the range of a float, and two infinities have no difference.
constexpr double kLowestLog = -1e38;

// Gamma(a) = Gamma(a + 1) U^(1/a) below 1; Marsaglia and Tsang (2000) above.
double draw_log_gamma(Stream& rng, double shape) {
  if (shape < 1) {
    const double boost = std::log(rng.uniform()) / shape;
    return std::max(draw_log_gamma(rng, shape + 1) + boost, kLowestLog);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = draw_normal(rng), t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t, u = rng.uniform();
    if (u < 1 - 0.0331 * x * x * x * x) return std::log(d * v);
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return std::log(d * v);
  }
}

std::int32_t draw_binomial(Stream& rng, std::int32_t n, double p) {
  if (n == 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - draw_binomial(rng, n, 1 - p);
  return n * p < 10 ? binomial_by_inversion(rng, n, p) : binomial_by_rejection(rng, n, p);
}

}  // namespace dcomp
