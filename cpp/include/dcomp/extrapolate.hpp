// Two points that are a sweep apart, x0 and x1, and where they lead to: the arithmetic of a climb
// with momentum.
#pragma once

#include <cstdint>

namespace dcomp {

// out = x1 + b (x1 - x0) where that grows and x1^2 / (x1 + b (x0 - x1)) where it falls, but `kept`
// of x1 at least, so that what is positive stays so. None is negative.
template <class T>
void extrapolate(const T* x0, const T* x1, double b, double kept, T* out, std::int64_t n,
                 int n_threads);

}  // namespace dcomp
