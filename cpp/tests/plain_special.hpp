// digamma and log-gamma in long double, from their definitions and without haste.
#pragma once

#include <cmath>

namespace dcomp::test {

// psi(x) = psi(x + n) - sum 1/(x + i), then the asymptotic series where its terms are tiny.
inline long double plain_digamma(long double x) {
  long double sum = 0;
  for (; x < 40; x += 1) sum += 1 / x;
  const long double r = 1 / (x * x);
  const long double series =
      r * (1.0L / 12 -
           r * (1.0L / 120 -
                r * (1.0L / 252 - r * (1.0L / 240 - r * (1.0L / 132 - r * 691.0L / 32760)))));
  return std::log(x) - 1 / (2 * x) - series - sum;
}

// ln Gamma(x) = ln Gamma(x + n) - ln(x (x+1) ... (x+n-1)), then Stirling's series.
inline long double plain_log_gamma(long double x) {
  long double product = 1;
  for (; x < 40; x += 1) product *= x;
  const long double r = 1 / (x * x);
  const long double series =
      (1.0L / 12 - r * (1.0L / 360 - r * (1.0L / 1260 - r * (1.0L / 1680 - r * 1.0L / 1188)))) / x;
  const long double half_log_2pi = 0.918938533204672741780329736405617640L;
  return (x - 0.5L) * std::log(x) - x + half_log_2pi + series - std::log(product);
}

}  // namespace dcomp::test
