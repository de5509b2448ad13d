// Three points that are a sweep apart, x0, x1, x2, and the one that they lead to: the arithmetic of
// an accelerated climb (SQUAREM, Varadhan and Roland 2008).
#pragma once

#include <cstdint>

namespace dcomp {

// Squared lengths: of a step, |x1 - x0|^2, and of what the next one differs by,
// |x2 - 2 x1 + x0|^2.
struct StepSquares {
  double first = 0, second = 0;
};

// In double, in an order that does not depend on the number of threads.
template <class T>
StepSquares step_squares(const T* x0, const T* x1, const T* x2, std::int64_t n, int n_threads);

// out = x0 + 2 a (x1 - x0) + a^2 (x2 - 2 x1 + x0), but `kept` of x2 at least, so that what is
// positive stays so.
template <class T>
void extrapolate(const T* x0, const T* x1, const T* x2, double a, double kept, T* out,
                 std::int64_t n, int n_threads);

}  // namespace dcomp
