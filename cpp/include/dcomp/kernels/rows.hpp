// The two loops in which all the time goes: inner products with gathered rows, and weighted sums
// of gathered rows. Both run over entries of a sparse row; K is contiguous and padded.
#pragma once

#include "dcomp/matrix.hpp"
#include "dcomp/simd.hpp"

namespace dcomp::DCOMP_ISA {

// How many entries ahead a row is asked for: enough to hide a miss to the outer cache.
inline constexpr std::int64_t kPrefetchAhead = 6;

template <class T>
inline void prefetch_row(const T* row, std::int64_t padded) {
  constexpr std::int64_t per_line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t k = 0; k < padded; k += per_line) __builtin_prefetch(row + k);
}

// out[p] = sum_k rows[index[p]][k] * x[k]
template <class T>
inline void inner_products(const Rows<const T>& rows, const std::int32_t* index, std::int64_t n,
                           const T* x, T* out, bool prefetch) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t p = 0; p < n; ++p) {
    if (prefetch && p + kPrefetchAhead < n)
      prefetch_row(rows.row(index[p + kPrefetchAhead]), rows.stride);
    const T* row = rows.row(index[p]);
    Vec<T> even{}, odd{};
    std::int64_t k = 0;
    for (; k + 2 * lanes <= rows.stride; k += 2 * lanes) {
      even += load(row + k) * load(x + k);
      odd += load(row + k + lanes) * load(x + k + lanes);
    }
    if (k < rows.stride) even += load(row + k) * load(x + k);
    out[p] = sum<T>(even + odd);
  }
}

// N vectors of the sum at once, in registers. Runs of kRun entries are summed in T and then added
// to the double accumulator, so that long documents and frequent features lose no precision.
template <int N, class T>
inline void weighted_sum_block(const T* first, std::int64_t stride, const std::int32_t* index,
                               const T* weight, std::int64_t n, double* out) {
  constexpr int lanes = kLanes<T>;
  constexpr std::int64_t kRun = 128;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    const std::int64_t end = begin + kRun < n ? begin + kRun : n;
    Vec<T> run[N] = {};
    for (std::int64_t p = begin; p < end; ++p) {
      const T* row = first + index[p] * stride;
      const Vec<T> w = broadcast<T>(weight[p]);
      for (int q = 0; q < N; ++q) run[q] += w * load(row + q * lanes);
    }
    for (int q = 0; q < N; ++q)
      for (int lane = 0; lane < lanes; ++lane)
        out[q * lanes + lane] += static_cast<double>(run[q][lane]);
  }
}

// out[k] = sum_p weight[p] * rows[index[p]][k]
template <class T>
inline void weighted_sum(const Rows<const T>& rows, const std::int32_t* index, const T* weight,
                         std::int64_t n, double* out) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t k = 0; k < rows.stride; ++k) out[k] = 0;
  std::int64_t k = 0;
  for (; k + 4 * lanes <= rows.stride; k += 4 * lanes)
    weighted_sum_block<4, T>(rows.data + k, rows.stride, index, weight, n, out + k);
  for (; k + 2 * lanes <= rows.stride; k += 2 * lanes)
    weighted_sum_block<2, T>(rows.data + k, rows.stride, index, weight, n, out + k);
  if (k < rows.stride)
    weighted_sum_block<1, T>(rows.data + k, rows.stride, index, weight, n, out + k);
}

}  // namespace dcomp::DCOMP_ISA
