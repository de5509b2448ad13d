// Non-negative factorisation under the Kullback-Leibler loss, one row at a time:
//
//   minimise  sum_k x_k - sum_p w_p log y_p,   y = F x,   x >= 0.
//
// Multiplicative: x_k <- x_k g_k, g = F' (w / y) (Lee and Seung). By coordinates: one coordinate
// after the other at its newest y, by steps that never raise the loss
// (src/dcomp/reference/kl_nmf.py says why). Both begin with y and g of all coordinates, from whole
// rows of F; coordinates that are zero and would stay so are then left out, and of the others the
// columns are gathered.
#pragma once

#include "dcomp/kernels/expect.hpp"
#include "dcomp/kernels/factor_pass.hpp"

namespace dcomp::DCOMP_ISA {

// No word is expected less often than this: keeps w / y^2 within float32.
template <class T>
inline constexpr T kMeanFloor = sizeof(T) == 4 ? T(1e-12) : T(1e-100);
// A share of its row that counts as none.
template <class T>
inline constexpr double kShareFloor = sizeof(T) == 4 ? 1e-10 : 1e-18;

template <class T>
inline void floor_mean(T* y, std::int64_t n) {
  for (std::int64_t p = 0; p < n; ++p) y[p] = y[p] > kMeanFloor<T> ? y[p] : kMeanFloor<T>;
}

// g = sum_p w_p f_p / y_p and h = sum_p w_p f_p^2 / y_p^2, in runs as in column_sum.
struct Slope {
  double g, h;
};
template <class T>
inline Slope slope_of(const T* column, const T* w, const T* y, std::int64_t size) {
  constexpr int lanes = kLanes<T>;
  constexpr std::int64_t kRun = 128 * lanes;
  Slope slope{0, 0};
  for (std::int64_t begin = 0; begin < size; begin += kRun) {
    const std::int64_t end = begin + kRun < size ? begin + kRun : size;
    Vec<T> g{}, h{};
    for (std::int64_t p = begin; p < end; p += lanes) {
      const Vec<T> ratio = load(column + p) / load(y + p), weighted = load(w + p) * ratio;
      g += weighted;
      h += weighted * ratio;
    }
    slope.g += static_cast<double>(sum<T>(g));
    slope.h += static_cast<double>(sum<T>(h));
  }
  return slope;
}

// The step of one coordinate; y follows. Returns the size of the change.
template <class T>
inline double step_coordinate(const T* column, const T* w, T* y, std::int64_t size, double least,
                              T* x) {
  const auto before = static_cast<double>(*x);
  const Slope slope = slope_of(column, w, y, size);
  double after = 0;
  if (slope.g > 1)
    after = before + (slope.g - 1) / slope.h;
  else if (before > 0)
    after = before * before * slope.h / (before * slope.h + 1 - slope.g);
  if (after < least) after = 0;
  const T value = static_cast<T>(after), change = value - *x;
  if (change == 0) return 0;
  *x = value;
  constexpr int lanes = kLanes<T>;
  for (std::int64_t p = 0; p < size; p += lanes)
    store<T>(y + p, max<T>(load(y + p) + change * load(column + p), broadcast<T>(kMeanFloor<T>)));
  return change < 0 ? -static_cast<double>(change) : static_cast<double>(change);
}

template <class T>
inline void gather(const Rows<const T>& F, const std::int32_t* index, std::int64_t n,
                   const std::int32_t* wanted, std::int64_t n_wanted, const Columns<T>& columns) {
  for (std::int64_t p = 0; p < n; ++p) {
    const T* row = F.row(index[p]);
    for (std::int64_t q = 0; q < n_wanted; ++q) columns.column(q)[p] = row[wanted[q]];
  }
  for (std::int64_t q = 0; q < n_wanted; ++q)
    for (std::int64_t p = n; p < columns.stride; ++p) columns.column(q)[p] = 0;
}

// Rounds over the active coordinates of a row. Columns that do not fit together come in groups.
template <class T>
inline void descend(const FactorPass<T>& pass, const std::int32_t* index, std::int64_t n,
                    double total, std::int64_t n_active, FactorScratch<T>& s, FactorSums& sums) {
  constexpr std::int64_t lanes = kLanes<T>;
  const Columns<T> columns{s.columns, (n + lanes - 1) / lanes * lanes};
  const std::int64_t fit = s.columns_size / columns.stride;
  const std::int64_t group = fit < n_active ? fit : n_active;
  const double least = kShareFloor<T> * total;
  for (int round = 0; round < pass.max_rounds; ++round) {
    stop_point(n * n_active);
    double change = 0;
    for (std::int64_t first = 0; first < n_active; first += group) {
      const std::int64_t count = first + group < n_active ? group : n_active - first;
      if (round == 0 || group < n_active)
        gather(pass.F, index, n, s.active + first, count, columns);
      for (std::int64_t q = 0; q < count; ++q)
        change += step_coordinate(columns.column(q), s.w, s.y, columns.stride, least,
                                  s.x + s.active[first + q]);
    }
    sums.rounds += 1;
    if (change <= pass.tol * total) return;
  }
}

// Lists the coordinates that a step could move, and the largest breach of the conditions.
template <class T>
inline std::int64_t choose_active(std::int64_t K, FactorScratch<T>& s, double* breach) {
  std::int64_t n_active = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    const auto x = static_cast<double>(s.x[k]);
    const double slope = 1 - s.gradient[k];
    const double least = x < slope ? x : slope;
    const double size = least < 0 ? -least : least;
    if (size > *breach) *breach = size;
    if (x > 0 || slope < 0) s.active[n_active++] = static_cast<std::int32_t>(k);
  }
  return n_active;
}

template <class Number, class T>
inline void factor_row(const FactorPass<T>& pass, const Number* numbers, std::int64_t i,
                       std::int64_t last, FactorScratch<T>& s, FactorSums& sums) {
  constexpr std::int64_t lanes = kLanes<T>;
  const std::int64_t begin = pass.W.indptr[i], n = pass.W.size(i), K = pass.F.width;
  const std::int32_t* index = pass.W.indices + begin;
  const Number* w = numbers + begin;
  for (std::int64_t k = 0; k < K; ++k) s.x[k] = pass.x_in.row(i)[k];
  for (std::int64_t k = K; k < pass.F.stride; ++k) s.x[k] = 0;
  double total = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    s.w[p] = static_cast<T>(w[p]);
    total += w[p];
  }
  inner_products(pass.F, index, n, pass.W.indptr[last] - begin, s.x, s.y);
  floor_mean(s.y, n);
  for (std::int64_t p = 0; p < n; ++p) s.weight[p] = s.w[p] / s.y[p];
  weighted_sum(pass.F, index, s.weight, n, s.gradient);
  const double before = weighted_log(w, s.y, n);
  sums.before += before;
  const std::int64_t n_active = choose_active(K, s, &sums.residual);
  if (pass.update == FactorUpdate::multiplicative) {
    for (std::int64_t k = 0; k < K; ++k)
      s.x[k] = static_cast<T>(static_cast<double>(s.x[k]) * s.gradient[k]);
    sums.rounds += 1;
  } else if (n == 0) {  // nothing to explain
    for (std::int64_t k = 0; k < K; ++k) s.x[k] = 0;
  } else if (n_active == 0) {
    sums.after += before;
  } else {
    for (std::int64_t p = n; p % lanes != 0; ++p) {
      s.w[p] = 0;
      s.y[p] = 1;
    }
    descend(pass, index, n, total, n_active, s, sums);
    sums.after += weighted_log(w, s.y, n);
  }
  for (std::int64_t k = 0; k < K; ++k) pass.x_out.row(i)[k] = s.x[k];
}

// Not inline, as in kernels/expect.hpp.
template <class Number, class T>
[[gnu::noinline]] void factor_numbers(const FactorPass<T>& pass, const Number* numbers,
                                      std::int64_t first, std::int64_t last, FactorScratch<T>& s,
                                      FactorSums& sums) {
  for (std::int64_t i = first; i < last; ++i) factor_row(pass, numbers, i, last, s, sums);
}

template <class T>
void factor_rows(const FactorPass<T>& pass, std::int64_t first, std::int64_t last,
                 FactorScratch<T>& s, FactorSums& sums) {
  if (pass.W.weight == nullptr)
    factor_numbers(pass, pass.W.data, first, last, s, sums);
  else
    factor_numbers(pass, pass.W.weight, first, last, s, sums);
}

}  // namespace dcomp::DCOMP_ISA
