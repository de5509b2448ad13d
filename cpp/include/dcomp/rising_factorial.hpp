// ln Gamma(a + c) - ln Gamma(a) of counts, for the moments that samplers report.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace dcomp {

inline double log_gamma_of(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// Looked up for small c.
class RisingFactorial {
 public:
  explicit RisingFactorial(double a) : a_(a), at_zero_(log_gamma_of(a)), table_(kSize) {
    for (int c = 0; c + 1 < kSize; ++c)
      table_[static_cast<std::size_t>(c) + 1] =
          table_[static_cast<std::size_t>(c)] + std::log(a + c);
  }
  double operator()(std::int32_t c) const {
    return c < kSize ? table_[static_cast<std::size_t>(c)] : log_gamma_of(a_ + c) - at_zero_;
  }

 private:
  static constexpr int kSize = 128;
  double a_, at_zero_;
  std::vector<double> table_;
};

}  // namespace dcomp
