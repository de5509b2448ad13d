// Small dense matrices, row-major with padded rows: A'A, Cholesky, its solves and its inverse.
//
// All of them add multiples of whole rows, so that vectors run along the rows. Matrices are of the
// size of the components, tens to hundreds, and stay in cache.
#pragma once

#include "dcomp/simd.hpp"

namespace dcomp::DCOMP_ISA {

// out[r][...] = sum_p A[p][k + r] A[p][...] for R rows and V vectors of columns from `column` on.
template <int R, int V, class T>
inline void gram_tile(const T* A, std::int64_t n, std::int64_t stride, std::int64_t k,
                      std::int64_t column, T* out) {
  constexpr int lanes = kLanes<T>;
  Vec<T> sum[R][V] = {};
  for (std::int64_t p = 0; p < n; ++p) {
    const T* row = A + p * stride;
    Vec<T> right[V];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) right[v] = load(row + column + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Vec<T> left = broadcast<T>(row[k + r]);
#pragma GCC unroll 8
      for (int v = 0; v < V; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) store<T>(out + (k + r) * stride + column + v * lanes, sum[r][v]);
}

template <int R, class T>
inline void gram_rows(const T* A, std::int64_t n, std::int64_t stride, std::int64_t k, T* out) {
  constexpr int lanes = kLanes<T>;
  std::int64_t column = k / lanes * lanes;
  for (; column + 4 * lanes <= stride; column += 4 * lanes)
    gram_tile<R, 4>(A, n, stride, k, column, out);
  for (; column + 2 * lanes <= stride; column += 2 * lanes)
    gram_tile<R, 2>(A, n, stride, k, column, out);
  if (column < stride) gram_tile<R, 1>(A, n, stride, k, column, out);
}

// out = A'A (K, stride) on and above the diagonal, for A (n, stride); what lies below is undefined.
template <class T>
inline void gram(const T* A, std::int64_t n, std::int64_t stride, std::int64_t K, T* out) {
  std::int64_t k = 0;
  for (; k + 4 <= K; k += 4) gram_rows<4>(A, n, stride, k, out);
  for (; k < K; ++k) gram_rows<1>(A, n, stride, k, out);
}

// row[columns] -= sum_(i < k) factor[i * stride] rows[i][columns], V vectors from `column` on.
template <int V>
inline void subtract_rows(const double* factor, const double* rows, std::int64_t k,
                          std::int64_t stride, std::int64_t column, double* row) {
  constexpr int lanes = kLanes<double>;
  Vec<double> sum[V];
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) sum[v] = load(row + column + v * lanes);
  for (std::int64_t i = 0; i < k; ++i) {
    const Vec<double> f = broadcast<double>(factor[i * stride]);
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) sum[v] -= f * load(rows + i * stride + column + v * lanes);
  }
#pragma GCC unroll 8
  for (int v = 0; v < V; ++v) store<double>(row + column + v * lanes, sum[v]);
}

// The same for all vectors that meet columns [first, last).
inline void subtract_all(const double* factor, const double* rows, std::int64_t k,
                         std::int64_t stride, std::int64_t first, std::int64_t last, double* row) {
  constexpr int lanes = kLanes<double>;
  std::int64_t column = first / lanes * lanes;
  for (; column + 4 * lanes <= last; column += 4 * lanes)
    subtract_rows<4>(factor, rows, k, stride, column, row);
  for (; column < last; column += lanes) subtract_rows<1>(factor, rows, k, stride, column, row);
}

// A = U'U in place, from and to the upper triangle of A (K, stride); false, with A spoilt, unless A
// is positive definite. The padding of A must be 0 and stays so.
inline bool cholesky(double* A, std::int64_t K, std::int64_t stride) {
  constexpr int lanes = kLanes<double>;
  for (std::int64_t k = 0; k < K; ++k) {
    double* row = A + k * stride;
    const double before = row[k];
    subtract_all(A + k, A, k, stride, k, stride, row);
    const double pivot = row[k];
    if (!(pivot > 1e-13 * (before > 0 ? before : 0))) return false;
    const double scale = 1 / __builtin_sqrt(pivot);
    for (std::int64_t l = k / lanes * lanes; l < stride; l += lanes)
      store<double>(row + l, load(row + l) * scale);
  }
  return true;
}

// x with U'U x = b; x may be b.
inline void cholesky_solve(const double* U, std::int64_t K, std::int64_t stride, const double* b,
                           double* x) {
  for (std::int64_t k = 0; k < K; ++k) x[k] = b[k];
  for (std::int64_t k = 0; k < K; ++k) {
    const double* row = U + k * stride;
    x[k] /= row[k];
    for (std::int64_t l = k + 1; l < K; ++l) x[l] -= row[l] * x[k];
  }
  for (std::int64_t k = K - 1; k >= 0; --k) {
    const double* row = U + k * stride;
    double rest = x[k];
    for (std::int64_t l = k + 1; l < K; ++l) rest -= row[l] * x[l];
    x[k] = rest / row[k];
  }
}

// out = inverse of U'U, upper triangle; `root` (K, stride) is overwritten with the inverse of U'.
// out may be U, which is not read any more when it is written.
inline void cholesky_inverse(const double* U, std::int64_t K, std::int64_t stride, double* root,
                             double* out) {
  constexpr int lanes = kLanes<double>;
  for (std::int64_t k = 0; k < K; ++k) {
    double* row = root + k * stride;
    for (std::int64_t l = 0; l < stride; ++l) row[l] = 0;
    row[k] = 1;
    subtract_all(U + k, root, k, stride, 0, k, row);
    const double scale = 1 / U[k * stride + k];
    for (std::int64_t l = 0; l <= k; l += lanes) store<double>(row + l, load(row + l) * scale);
  }
  gram(root, K, stride, K, out);
}

inline double dot(const double* a, const double* b, std::int64_t stride) {
  constexpr int lanes = kLanes<double>;
  Vec<double> total{};
  for (std::int64_t k = 0; k < stride; k += lanes) total += load(a + k) * load(b + k);
  return sum<double>(total);
}

}  // namespace dcomp::DCOMP_ISA
