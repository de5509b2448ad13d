#include "dcomp/extrapolate.hpp"

#include <algorithm>
#include <limits>

#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kPerTask = std::int64_t{1} << 15;  // numbers

}  // namespace

template <class T>
void extrapolate(const T* x0, const T* x1, double b, double kept, T* out, std::int64_t n,
                 int n_threads) {
  constexpr T least = std::numeric_limits<T>::min();  // where there is nothing, of nothing
  const T more = static_cast<T>(b), left = static_cast<T>(kept);
  const std::int64_t tasks = (n + kPerTask - 1) / kPerTask;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t last = std::min((t + 1) * kPerTask, n);
    // Without a branch, so that it goes by whole vectors: one of `grown` and `fallen` is 0.
    for (std::int64_t i = t * kPerTask; i < last; ++i) {
      const T end = x1[i], grown = std::max(end - x0[i], T(0)),
              fallen = std::max(x0[i] - end, T(0));
      const T share = end / std::max(end + more * fallen, least);
      out[i] = std::max(end * share + more * grown, left * end);
    }
  });
}

template void extrapolate<float>(const float*, const float*, double, double, float*, std::int64_t,
                                 int);
template void extrapolate<double>(const double*, const double*, double, double, double*,
                                  std::int64_t, int);

}  // namespace dcomp
