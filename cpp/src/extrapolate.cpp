#include "dcomp/extrapolate.hpp"

#include <algorithm>
#include <vector>

#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

// Numbers per task, of fixed size, so that sums are cut in the same places for any number of
// threads; and sums side by side, which the compiler can keep in vectors.
constexpr std::int64_t kPerTask = std::int64_t{1} << 15;
constexpr int kSums = 8;

template <class T>
StepSquares squares_of(const T* x0, const T* x1, const T* x2, std::int64_t n) {
  double first[kSums] = {}, second[kSums] = {};
  const auto add = [&](std::int64_t i, int s) {
    const double step = static_cast<double>(x1[i]) - static_cast<double>(x0[i]);
    const double next = static_cast<double>(x2[i]) - static_cast<double>(x1[i]);
    first[s] += step * step;
    second[s] += (next - step) * (next - step);
  };
  std::int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int s = 0; s < kSums; ++s) add(i + s, s);
  for (; i < n; ++i) add(i, 0);
  StepSquares total;
  for (int s = 0; s < kSums; ++s) {
    total.first += first[s];
    total.second += second[s];
  }
  return total;
}

}  // namespace

template <class T>
StepSquares step_squares(const T* x0, const T* x1, const T* x2, std::int64_t n, int n_threads) {
  const std::int64_t tasks = (n + kPerTask - 1) / kPerTask;
  std::vector<StepSquares> part(static_cast<std::size_t>(tasks));
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t i = t * kPerTask;
    part[static_cast<std::size_t>(t)] =
        squares_of(x0 + i, x1 + i, x2 + i, std::min(kPerTask, n - i));
  });
  StepSquares total;
  for (const StepSquares& p : part) {
    total.first += p.first;
    total.second += p.second;
  }
  return total;
}

template <class T>
void extrapolate(const T* x0, const T* x1, const T* x2, double a, double kept, T* out,
                 std::int64_t n, int n_threads) {
  const std::int64_t tasks = (n + kPerTask - 1) / kPerTask;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t last = std::min((t + 1) * kPerTask, n);
    for (std::int64_t i = t * kPerTask; i < last; ++i) {
      const double step = static_cast<double>(x1[i]) - static_cast<double>(x0[i]);
      const double next = static_cast<double>(x2[i]) - static_cast<double>(x1[i]);
      const double ahead = static_cast<double>(x0[i]) + 2 * a * step + a * a * (next - step);
      out[i] = static_cast<T>(std::max(ahead, kept * static_cast<double>(x2[i])));
    }
  });
}

template StepSquares step_squares<float>(const float*, const float*, const float*, std::int64_t,
                                         int);
template StepSquares step_squares<double>(const double*, const double*, const double*, std::int64_t,
                                          int);
template void extrapolate<float>(const float*, const float*, const float*, double, double, float*,
                                 std::int64_t, int);
template void extrapolate<double>(const double*, const double*, const double*, double, double,
                                  double*, std::int64_t, int);

}  // namespace dcomp
