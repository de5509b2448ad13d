// exp, log, digamma and log_gamma of every instruction set against long double.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "instruction_sets.hpp"
#include "plain_special.hpp"
#include "random_counts.hpp"

namespace dcomp::test {

namespace {

enum { kExp = 0, kLog = 1, kDigamma = 2 };

template <class T>
constexpr double epsilon() {
  return static_cast<double>(std::numeric_limits<T>::epsilon());
}

// The points that models meet: scores with tiny priors, single words, long documents, the totals
// of large corpora.
const std::vector<double> kLandmarks = {1e-30, 1e-10, 1e-4,     1e-3, 0.01, 0.1,    0.5, 0.999999,
                                        1,     1.5,   1.461632, 2,    5.5,  6,      6.5, 11.9,
                                        12,    100,   9999,     1e4,  1e5,  999999, 1e8, 2e9};

// Landmarks, then n points evenly in the logarithm between low and high, to whole vectors.
template <class T>
std::vector<T> positive_points(double low, double high, int n) {
  std::vector<T> x;
  for (const double value : kLandmarks) x.push_back(static_cast<T>(value));
  Random random(17);
  while (x.size() < kLandmarks.size() + static_cast<std::size_t>(n) || x.size() % 16 != 0)
    x.push_back(static_cast<T>(low * std::pow(high / low, random.uniform())));
  return x;
}

template <class T>
std::vector<T> applied(void (*function)(const T*, T*, std::int64_t), const std::vector<T>& x) {
  std::vector<T> out(x.size());
  function(x.data(), out.data(), static_cast<std::int64_t>(x.size()));
  return out;
}

// Checks function(x) against reference(x) within tolerance(reference).
template <class T, class Reference, class Tolerance>
void compare(void (*function)(const T*, T*, std::int64_t), const std::vector<T>& x,
             const Reference& reference, const Tolerance& tolerance) {
  const std::vector<T> out = applied(function, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto expected = static_cast<double>(reference(static_cast<long double>(x[i])));
    CHECK_CLOSE(out[i], expected, tolerance(expected));
  }
}

// exp: 4 units in the last place, over all arguments with a normal result.
template <class T>
void check_exp(const InstructionSet& set, double low, double high) {
  std::vector<T> x(4096);
  Random random(3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] =
        static_cast<T>(i % 2 == 0 ? low + (high - low) * random.uniform() : random.uniform() - 0.5);
  x[0] = 0;
  compare<T>(
      set.kernels<T>().special[kExp], x, [](long double v) { return std::exp(v); },
      [](double expected) { return 4 * epsilon<T>() * expected; });

  // Outside, the result stays a positive normal number.
  const T far = static_cast<T>(1e30);
  const std::vector<T> out =
      applied<T>(set.kernels<T>().special[kExp], {-far, T(-1000), far, T(1000), T(-2000), 0, 0, 0,
                                                  -far, T(-1000), far, T(1000), T(-2000), 0, 0, 0});
  for (const T value : out) CHECK(std::isnormal(value) && value > 0);
}

// log: 3 units in the last place, relative also next to log(1) = 0.
template <class T>
void check_log(const InstructionSet& set, double low, double high) {
  std::vector<T> x = positive_points<T>(low, high, 4096);
  Random random(5);
  for (int i = 0; i < 1024; ++i) x.push_back(static_cast<T>(0.9 + 0.2 * random.uniform()));
  compare<T>(
      set.kernels<T>().special[kLog], x, [](long double v) { return std::log(v); },
      [](double expected) { return 3 * epsilon<T>() * std::abs(expected); });
}

// digamma: relative to 1 + |psi|, because psi has a zero at 1.4616.
template <class T>
void check_digamma(const InstructionSet& set, double tolerance) {
  compare<T>(set.kernels<T>().special[kDigamma], positive_points<T>(1e-30, 2e9, 8192),
             plain_digamma, [&](double expected) { return tolerance * (1 + std::abs(expected)); });
}

}  // namespace

TEST(plain_special_functions_are_right) {
  // psi(1) = -Euler's constant, psi(1/2) = psi(1) - 2 ln 2; C's own lgamma for the other.
  const long double euler = 0.577215664901532860606512090082402431L;
  CHECK_CLOSE(plain_digamma(1), -euler, 1e-16);
  CHECK_CLOSE(plain_digamma(0.5L), -euler - 2 * std::log(2.0L), 1e-15);
  for (const double x : kLandmarks) {
    const double expected = std::lgamma(x);
    CHECK_CLOSE(plain_log_gamma(x), expected, 1e-14 * (1 + std::abs(expected)));
  }
}

TEST(exp_is_within_4_ulp) {
  for (const InstructionSet* set : available_sets()) {
    check_exp<float>(*set, -86.9, 87.9);
    check_exp<double>(*set, -707.9, 708.9);
  }
}

TEST(log_is_within_3_ulp) {
  for (const InstructionSet* set : available_sets()) {
    check_log<float>(*set, 1.2e-38, 3e38);
    check_log<double>(*set, 1e-300, 1e300);
  }
}

TEST(digamma_is_right_from_1e_30_to_2e9) {
  for (const InstructionSet* set : available_sets()) {
    check_digamma<float>(*set, 6e-7);
    check_digamma<double>(*set, 1e-14);
  }
}

TEST(log_gamma_is_right_from_1e_30_to_2e9) {
  for (const InstructionSet* set : available_sets())
    compare<double>(set->log_gamma, positive_points<double>(1e-30, 2e9, 8192), plain_log_gamma,
                    [](double expected) { return 3e-14 * (1 + std::abs(expected)); });
}

TEST(digamma_is_the_slope_of_log_gamma) {
  const std::vector<double> at = {0.3, 0.7, 1, 1.46, 3, 5.99, 6.01, 20, 300};
  for (const InstructionSet* set : available_sets())
    for (const double x : at) {
      const double h = 1e-4 * x;
      std::vector<double> points(16, x);
      points[0] = x - h;
      points[1] = x + h;
      const auto value = applied(set->log_gamma, points);
      const auto slope = applied(set->kernels<double>().special[kDigamma], points);
      CHECK_CLOSE((value[1] - value[0]) / (2 * h), slope[2], 1e-7 * (1 + std::abs(slope[2])));
    }
}

}  // namespace dcomp::test
