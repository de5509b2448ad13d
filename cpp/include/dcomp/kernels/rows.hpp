// The two loops in which all the time goes: inner products with gathered rows, and weighted sums
// of gathered rows. Both run over entries of a sparse row; K is contiguous and padded.
#pragma once

#include "dcomp/matrix.hpp"
#include "dcomp/simd.hpp"
#include "dcomp/stop_point.hpp"

namespace dcomp::DCOMP_ISA {

// How many entries ahead a row is asked for: enough to hide a miss to the outer cache.
inline constexpr std::int64_t kPrefetchAhead = 12;

// Always inline: a compiler that sees a function without effects may leave out the call.
template <class T>
[[gnu::always_inline]] inline void prefetch_row(const T* row, std::int64_t padded) {
  constexpr std::int64_t per_line = 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t k = 0; k < padded; k += per_line) __builtin_prefetch(row + k);
}

// out[p] = sum_k rows[index[p]][k] * x[k]. Rows up to index[n_ahead] will be wanted next: those of
// the following documents too, so that a document's first rows are on their way when it begins.
template <class T>
inline void inner_products(const Rows<const T>& rows, const std::int32_t* index, std::int64_t n,
                           std::int64_t n_ahead, const T* x, T* out) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t p = 0; p < n; ++p) {
    if (p + kPrefetchAhead < n_ahead)
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

// Up to four vectors of the sum at once, in registers: named one by one, because compilers keep an
// array of vectors on the stack. Runs of kRun entries are summed in T and then added to the double
// accumulator, so that long documents and frequent features lose no precision.
template <int N, class T, class Index>
inline void weighted_sum_block(const T* first, std::int64_t stride, const Index* index,
                               const T* weight, std::int64_t n, double* out) {
  constexpr int lanes = kLanes<T>;
  constexpr std::int64_t kRun = 128;
  for (std::int64_t begin = 0; begin < n; begin += kRun) {
    const std::int64_t end = begin + kRun < n ? begin + kRun : n;
    Vec<T> r0{}, r1{}, r2{}, r3{};
    for (std::int64_t p = begin; p < end; ++p) {
      const T* row = first + index[p] * stride;
      const Vec<T> w = broadcast<T>(weight[p]);
      r0 += w * load(row);
      if constexpr (N > 1) r1 += w * load(row + lanes);
      if constexpr (N > 2) r2 += w * load(row + 2 * lanes);
      if constexpr (N > 3) r3 += w * load(row + 3 * lanes);
    }
    alignas(kVectorBytes) T flat[N * lanes];
    store<T>(flat, r0);
    if constexpr (N > 1) store<T>(flat + lanes, r1);
    if constexpr (N > 2) store<T>(flat + 2 * lanes, r2);
    if constexpr (N > 3) store<T>(flat + 3 * lanes, r3);
    for (int k = 0; k < N * lanes; k += kLanes<double>)
      store<double>(out + k, load(out + k) + load_double(flat + k));
  }
}

// out[k] = sum_p weight[p] * rows[index[p]][k]
template <class T, class Index>
inline void weighted_sum(const Rows<const T>& rows, const Index* index, const T* weight,
                         std::int64_t n, double* out) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t k = 0; k < rows.stride; ++k) out[k] = 0;
  std::int64_t k = 0;
  for (; k + 4 * lanes <= rows.stride; k += 4 * lanes)
    weighted_sum_block<4>(rows.data + k, rows.stride, index, weight, n, out + k);
  for (; k + 2 * lanes <= rows.stride; k += 2 * lanes)
    weighted_sum_block<2>(rows.data + k, rows.stride, index, weight, n, out + k);
  if (k < rows.stride) weighted_sum_block<1>(rows.data + k, rows.stride, index, weight, n, out + k);
}

// The same two loops over rows that were gathered and turned once: column k holds the k-th numbers
// of a document's rows, so that no vector is summed across per entry, and components can be left
// out. Worth its copy from a few updates of a document on. Columns are padded to whole vectors with
// zeros.
template <class T>
struct Columns {
  T* data;
  std::int64_t stride;

  T* column(std::int64_t k) const { return data + k * stride; }
};

template <class T>
inline Columns<T> gather_columns(const Rows<const T>& rows, const std::int32_t* index,
                                 std::int64_t n, T* memory) {
  constexpr std::int64_t lanes = kLanes<T>;
  const Columns<T> columns{memory, (n + lanes - 1) / lanes * lanes};
  for (std::int64_t p = 0; p < n; ++p) {
    const T* row = rows.row(index[p]);
    for (std::int64_t k = 0; k < rows.width; ++k) columns.column(k)[p] = row[k];
  }
  for (std::int64_t k = 0; k < rows.width; ++k)
    for (std::int64_t p = n; p < columns.stride; ++p) columns.column(k)[p] = 0;
  return columns;
}

// out[p] = sum over the chosen k of columns[k][p] * x[k]
template <class T>
inline void column_products(const Columns<T>& columns, const std::int32_t* chosen,
                            std::int64_t n_chosen, const T* x, T* out) {
  constexpr int lanes = kLanes<T>;
  for (std::int64_t p = 0; p < columns.stride; p += lanes) {
    Vec<T> even{}, odd{};
    std::int64_t q = 0;
    for (; q + 2 <= n_chosen; q += 2) {
      even += load(columns.column(chosen[q]) + p) * broadcast<T>(x[chosen[q]]);
      odd += load(columns.column(chosen[q + 1]) + p) * broadcast<T>(x[chosen[q + 1]]);
    }
    if (q < n_chosen) even += load(columns.column(chosen[q]) + p) * broadcast<T>(x[chosen[q]]);
    store<T>(out + p, even + odd);
  }
}

// sum_p weight[p] * column[p], in runs as in weighted_sum_block.
template <class T>
inline double column_sum(const T* column, std::int64_t size, const T* weight) {
  constexpr int lanes = kLanes<T>;
  constexpr std::int64_t kRun = 128 * lanes;
  double total = 0;
  for (std::int64_t begin = 0; begin < size; begin += kRun) {
    const std::int64_t end = begin + kRun < size ? begin + kRun : size;
    Vec<T> even{}, odd{};
    std::int64_t p = begin;
    for (; p + 2 * lanes <= end; p += 2 * lanes) {
      even += load(column + p) * load(weight + p);
      odd += load(column + p + lanes) * load(weight + p + lanes);
    }
    if (p < end) even += load(column + p) * load(weight + p);
    total += static_cast<double>(sum<T>(even + odd));
  }
  return total;
}

}  // namespace dcomp::DCOMP_ISA
