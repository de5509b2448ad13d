#include "dcomp/spread.hpp"

#include <algorithm>
#include <bit>

#include "dcomp/parallel.hpp"
#include "dcomp/stop_point.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kColumns = 16;  // of a task: a cache line of a row

// By the exponent of a number and the first two bits behind it.
std::int64_t bin_of(float x) {
  constexpr int bits_left_out = 23 - 2;
  constexpr std::int64_t lowest = std::int64_t{127 + kLowestOctave} * kBinsPerOctave;
  const auto place = static_cast<std::int64_t>(std::bit_cast<std::uint32_t>(x) >> bits_left_out);
  return std::clamp<std::int64_t>(place - lowest, 0, kBins - 1);
}

}  // namespace

template <class T>
void spread(const T* c, std::int64_t n_rows, std::int64_t width, double* times, double* sums,
            int n_threads) {
  const std::int64_t tasks = (width + kColumns - 1) / kColumns;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t first = t * kColumns, last = std::min(first + kColumns, width);
    std::fill(times + first * kBins, times + last * kBins, 0.0);
    std::fill(sums + first * kBins, sums + last * kBins, 0.0);
    for (std::int64_t i = 0; i < n_rows; ++i) {
      stop_point(last - first);
      for (std::int64_t k = first; k < last; ++k) {
        const T x = c[i * width + k];
        const std::int64_t at = k * kBins + bin_of(static_cast<float>(x));
        times[at] += 1;
        sums[at] += static_cast<double>(x);
      }
    }
  });
}

template void spread<float>(const float*, std::int64_t, std::int64_t, double*, double*, int);
template void spread<double>(const double*, std::int64_t, std::int64_t, double*, double*, int);

}  // namespace dcomp
