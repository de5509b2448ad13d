#include "dcomp/extrapolate.hpp"

#include <algorithm>

#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kPerTask = std::int64_t{1} << 15;  // numbers

}  // namespace

template <class T>
void extrapolate(const T* x0, const T* x1, double b, double kept, T* out, std::int64_t n,
                 int n_threads) {
  const std::int64_t tasks = (n + kPerTask - 1) / kPerTask;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t last = std::min((t + 1) * kPerTask, n);
    for (std::int64_t i = t * kPerTask; i < last; ++i) {
      const double end = static_cast<double>(x1[i]);
      const double step = end - static_cast<double>(x0[i]);
      const double ahead = step < 0 ? end * end / (end - b * step) : end + b * step;
      out[i] = static_cast<T>(std::max(ahead, kept * end));
    }
  });
}

template void extrapolate<float>(const float*, const float*, double, double, float*, std::int64_t,
                                 int);
template void extrapolate<double>(const double*, const double*, double, double, double*,
                                  std::int64_t, int);

}  // namespace dcomp
