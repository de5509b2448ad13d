// Few components: vectors run along the words of a document instead of along its components, of
// which there are fewer than a vector has lanes.
//
// A document has places, each with a count and K loadings, which lie in columns: a place for every
// word that it has, whose rows of Theta are gathered and turned; or, where it has a good part of
// all features, one for every feature, so that nothing is gathered and Theta is turned once for all
// documents. Which of the two depends on the document alone, and so do its numbers: whatever else
// is in the table, and on any number of threads, they are the same to the last bit.
#pragma once

#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/rows.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

template <int K>
struct Few {
  static constexpr int size = K;
};

// Calls f(Few<K>{}): the number of components is known to the compiler, which keeps one vector for
// each in a register.
template <class F>
inline void with_few(std::int64_t K, const F& f) {
  static_assert(kFewComponents == 8);
  switch (K) {
    case 1:
      return f(Few<1>{});
    case 2:
      return f(Few<2>{});
    case 3:
      return f(Few<3>{});
    case 4:
      return f(Few<4>{});
    case 5:
      return f(Few<5>{});
    case 6:
      return f(Few<6>{});
    case 7:
      return f(Few<7>{});
    default:
      return f(Few<8>{});
  }
}

// Runs are summed in T and then in double, so that long documents and frequent features lose no
// precision.
inline constexpr std::int64_t kFewRun = 64;

template <class T>
struct Places {
  const T* columns;  // (K, stride)
  std::int64_t stride;
  const T* w;      // counts, 0 where a place has no word
  std::int64_t n;  // a whole number of vectors
};

template <class T>
inline std::int64_t whole_vectors(std::int64_t n) {
  return (n + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
}

// A place for every entry; those that fill up the last vector have loadings of 1 and no word. Rows
// up to index[n_ahead] will be wanted next (rows.hpp).
template <class T, class Number>
inline Places<T> places_of_entries(const DocumentPass<T>& pass, const std::int32_t* feature,
                                   const Number* w, std::int64_t n, std::int64_t n_ahead,
                                   Scratch<T>& s) {
  const std::int64_t stride = whole_vectors<T>(n);
  T* columns = s.columns;
  with_few(pass.Theta.width, [&](auto few) {
    constexpr int K = few.size;
    for (std::int64_t p = 0; p < n; ++p) {
      if (p + kPrefetchAhead < n_ahead)
        prefetch_row(pass.Theta.row(feature[p + kPrefetchAhead]), pass.Theta.stride);
      const T* row = pass.Theta.row(feature[p]);
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) columns[k * stride + p] = row[k];
    }
    for (int k = 0; k < K; ++k)
      for (std::int64_t p = n; p < stride; ++p) columns[k * stride + p] = 1;
  });
  for (std::int64_t p = 0; p < n; ++p) s.w[p] = static_cast<T>(w[p]);
  for (std::int64_t p = n; p < stride; ++p) s.w[p] = 0;
  return {columns, stride, s.w, stride};
}

// A place for every feature.
template <class T, class Number>
inline Places<T> places_of_features(const DocumentPass<T>& pass, const std::int32_t* feature,
                                    const Number* w, std::int64_t n, Scratch<T>& s) {
  const std::int64_t size = whole_vectors<T>(pass.W.n_features);
  for (std::int64_t p = 0; p < size; ++p) s.w[p] = 0;
  for (std::int64_t p = 0; p < n; ++p) s.w[feature[p]] = static_cast<T>(w[p]);
  return {pass.turned, pass.turned_stride, s.w, size};
}

// The same from the document's row of a table of bytes.
template <class T>
inline Places<T> places_of_row(const DocumentPass<T>& pass, const std::uint8_t* row,
                               Scratch<T>& s) {
  const std::int64_t size = whole_vectors<T>(pass.W.n_features);
  for (std::int64_t p = 0; p < size; ++p) s.w[p] = static_cast<T>(row[p]);
  return {pass.turned, pass.turned_stride, s.w, size};
}

// A document's words, and whether its counts are all 0, 1 or 2.
struct Extent {
  double length;
  bool is_small;
};
template <class Number>
inline Extent extent_of(const Number* w, std::int64_t n) {
  std::int64_t total = 0;
  Number largest = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    total += w[p];
    largest = w[p] > largest ? w[p] : largest;
  }
  return {static_cast<double>(total), largest <= 2};
}
// The same of a row of bytes: sums of 2^16 of them fit 32 bits, of which a vector holds more.
inline Extent extent_of(const std::uint8_t* w, std::int64_t n) {
  std::int64_t total = 0;
  std::uint8_t largest = 0;
  for (std::int64_t begin = 0; begin < n; begin += 1 << 16) {
    const std::int64_t end = begin + (1 << 16) < n ? begin + (1 << 16) : n;
    std::uint32_t part = 0;
    for (std::int64_t p = begin; p < end; ++p) {
      part += w[p];
      largest = w[p] > largest ? w[p] : largest;
    }
    total += part;
  }
  return {static_cast<double>(total), largest <= 2};
}

// z = sum_k e_k column_k at one vector of places.
template <int K, class T>
[[gnu::always_inline]] inline Vec<T> products_at(const Vec<T>* column, const Vec<T>* e) {
  Vec<T> z = column[0] * e[0];
#pragma GCC unroll 8
  for (int k = 1; k < K; ++k) z += column[k] * e[k];
  return z;
}

// z to the power of a count of 0, 1 or 2.
template <class T>
[[gnu::always_inline]] inline Vec<T> small_power(Vec<T> z, Vec<T> w) {
  const Vec<T> one = broadcast<T>(T(1));
  return (w > T(0.5) ? z : one) * (w > T(1.5) ? z : one);
}

// What an allocation leaves behind beside its sums: z and w / z, or z to the power of w alone, for
// counts of 0, 1 and 2.
enum class Kept { nothing, weights, powers };

// sum[k] = sum_p (w_p / z_p) column_k[p]; what is kept goes where `z_out` and `weight_out` say.
template <int K, Kept kKept, class T>
inline void allocate_places(const Places<T>& at, const T* e, T* z_out, T* weight_out, double* sum) {
  constexpr int lanes = kLanes<T>;
  Vec<T> x[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) x[k] = broadcast<T>(e[k]);
  double total[K] = {};
  for (std::int64_t begin = 0; begin < at.n; begin += kFewRun * lanes) {
    const std::int64_t end = begin + kFewRun * lanes < at.n ? begin + kFewRun * lanes : at.n;
    Vec<T> part[K] = {};
    for (std::int64_t p = begin; p < end; p += lanes) {
      Vec<T> column[K];
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) column[k] = load(at.columns + k * at.stride + p);
      const Vec<T> z = products_at<K, T>(column, x);
      const Vec<T> w = load(at.w + p), weight = w / z;
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) part[k] += weight * column[k];
      if constexpr (kKept == Kept::powers) store<T>(z_out + p, small_power<T>(z, w));
      if constexpr (kKept == Kept::weights) {
        store<T>(z_out + p, z);
        store<T>(weight_out + p, weight);
      }
    }
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) total[k] += static_cast<double>(dcomp::DCOMP_ISA::sum<T>(part[k]));
  }
  for (int k = 0; k < K; ++k) sum[k] = total[k];
}

// z alone or, for counts of 0, 1 and 2, z to the power of the count.
template <int K, bool kPowers, class T>
inline void products_of_places(const Places<T>& at, const T* e, T* out) {
  Vec<T> x[K];
#pragma GCC unroll 8
  for (int k = 0; k < K; ++k) x[k] = broadcast<T>(e[k]);
  for (std::int64_t p = 0; p < at.n; p += kLanes<T>) {
    Vec<T> column[K];
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) column[k] = load(at.columns + k * at.stride + p);
    const Vec<T> z = products_at<K, T>(column, x);
    store<T>(out + p, kPowers ? small_power<T>(z, load(at.w + p)) : z);
  }
}

// sum_p w_p log z_p.
template <class T>
inline double log_of_places(const T* w, const T* z, std::int64_t n) {
  constexpr int lanes = kLanes<double>;
  Vec<double> total{};
  for (std::int64_t p = 0; p < n; p += lanes)
    total += load_double(w + p) * log<double>(load_double(z + p));
  return sum<double>(total);
}

// sum_p log power_p, a log of eight at a time. A z is at least the floor of weights, whose square
// is a normal float, and eight such squares a normal double; in double there would be no room.
inline double log_of_powers(const float* power, std::int64_t n) {
  static_assert(kWeightFloor<float> >= 1e-18F);
  constexpr int lanes = kLanes<double>;
  Vec<double> total{};
  std::int64_t p = 0;
  for (; p + 8 * lanes <= n; p += 8 * lanes) {
    Vec<double> product = load_double(power + p);
#pragma GCC unroll 8
    for (int q = 1; q < 8; ++q) product *= load_double(power + p + q * lanes);
    total += log<double>(product);
  }
  for (; p < n; p += lanes) total += log<double>(load_double(power + p));
  return sum<double>(total);
}

// sum_p w_p log z_p of a document with a place for every feature, whose z were not kept.
template <int K, class T>
inline double log_of_dense(const Places<T>& at, const Extent& extent, const T* e, T* z) {
  if constexpr (sizeof(T) == 4) {
    if (extent.is_small) {
      products_of_places<K, true>(at, e, z);
      return log_of_powers(z, at.n);
    }
  }
  products_of_places<K, false>(at, e, z);
  return log_of_places(at.w, z, at.n);
}

// The loop is one that compilers know how to make vectors of; a conversion of vectors of bytes is
// not.
template <class T>
[[gnu::always_inline]] inline Vec<T> load_bytes(const std::uint8_t* p) {
  alignas(kVectorBytes) typename VectorOf<T>::integer wide[kLanes<T>];
  for (int q = 0; q < kLanes<T>; ++q) wide[q] = p[q];
  return __builtin_convertvector(*reinterpret_cast<const Bits<T>*>(wide), Vec<T>);
}

// The feature half for the documents of a table of bytes: vectors run along features, and a
// document's z is worked out again, which costs less than to write it down and read it back.
// Documents come in runs, of which a cache line of bytes serves several vectors.
template <int K, class T>
inline void collect_table(const TablePass<T>& pass, std::int64_t first, std::int64_t last) {
  constexpr int lanes = kLanes<T>;
  const std::int64_t n_docs = pass.table.n_rows;
  for (std::int64_t begin = 0; begin < n_docs; begin += kFewRun) {
    const std::int64_t end = begin + kFewRun < n_docs ? begin + kFewRun : n_docs;
    for (std::int64_t p = first; p < last; p += lanes) {
      Vec<T> column[K], part[K] = {};
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) column[k] = load(pass.turned + k * pass.stride + p);
      for (std::int64_t i = begin; i < end; ++i) {
        const T* e = pass.e.row(i);
        Vec<T> x[K];
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) x[k] = broadcast<T>(e[k]);
        const Vec<T> weight = load_bytes<T>(pass.table.row(i) + p) / products_at<K, T>(column, x);
#pragma GCC unroll 8
        for (int k = 0; k < K; ++k) part[k] += weight * x[k];
      }
#pragma GCC unroll 8
      for (int k = 0; k < K; ++k) {
        alignas(kVectorBytes) T flat[lanes];
        store<T>(flat, part[k]);
        double* out = pass.sum + k * pass.stride + p;
        for (int q = 0; q < lanes; q += kLanes<double>)
          store<double>(out + q, load(out + q) + load_double(flat + q));
      }
    }
  }
}

template <class T>
void collect_few(const TablePass<T>& pass, std::int64_t first, std::int64_t last) {
  with_few(pass.e.width, [&](auto few) { collect_table<few.size>(pass, first, last); });
}

}  // namespace dcomp::DCOMP_ISA
