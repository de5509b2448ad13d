// One vector type, as wide as the instruction set that this translation unit is compiled for.
//
// The kernels are compiled several times, each time inside its own namespace DCOMP_ISA, and the
// widest set that the machine has is chosen at run time (dispatch.hpp). Code here must therefore
// never call a std:: template that the compiler could emit out of line: the linker would keep one
// copy for all instruction sets, and a machine without AVX could meet the AVX one.
#pragma once

#ifndef DCOMP_ISA
#error "define DCOMP_ISA (the namespace of this instruction set) before including simd.hpp"
#endif

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace dcomp::DCOMP_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;  // SSE2 and NEON
#endif

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
  typedef std::int32_t bits __attribute__((vector_size(kVectorBytes)));
  using integer = std::int32_t;
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
  typedef std::int64_t bits __attribute__((vector_size(kVectorBytes)));
  using integer = std::int64_t;
};

template <class T>
using Vec = typename VectorOf<T>::type;
template <class T>
using Bits = typename VectorOf<T>::bits;
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
inline Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
inline void store(T* p, Vec<T> v) {
  std::memcpy(p, &v, sizeof v);
}
template <class T>
inline Vec<T> broadcast(T x) {
  return x - Vec<T>{};  // not x + 0, which is no copy where x is -0
}
template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}
template <class T>
inline Vec<T> min(Vec<T> a, Vec<T> b) {
  return a < b ? a : b;
}

// Loads kLanes<double> numbers of type T as doubles, and the way back.
template <class T>
struct HalfOf {
  typedef T type __attribute__((vector_size(kLanes<double> * sizeof(T))));
};
template <class T>
inline Vec<double> load_double(const T* p) {
  typename HalfOf<T>::type v;
  std::memcpy(&v, p, sizeof v);
  return __builtin_convertvector(v, Vec<double>);
}
template <class T>
inline void store_double(T* p, Vec<double> v) {
  const auto narrow = __builtin_convertvector(v, typename HalfOf<T>::type);
  std::memcpy(p, &narrow, sizeof narrow);
}

// Horizontal sum by halving; the order is fixed, so the result does not depend on the caller.
template <class T>
inline T sum(Vec<T> v) {
#if defined(__AVX512F__)
  typedef T Half __attribute__((vector_size(32)));
  const auto bits = reinterpret_cast<__m512d>(v);
  const Half half = reinterpret_cast<Half>(_mm512_castpd512_pd256(bits)) +
                    reinterpret_cast<Half>(_mm512_extractf64x4_pd(bits, 1));
#elif defined(__AVX2__)
  const Vec<T> half = v;
#endif
#if defined(__AVX2__)
  typedef T Quarter __attribute__((vector_size(16)));
  const auto half_bits = reinterpret_cast<__m256d>(half);
  const Quarter q = reinterpret_cast<Quarter>(_mm256_castpd256_pd128(half_bits)) +
                    reinterpret_cast<Quarter>(_mm256_extractf128_pd(half_bits, 1));
#else
  const Vec<T> q = v;
#endif
  if constexpr (sizeof(T) == 8)
    return q[0] + q[1];
  else
    return (q[0] + q[2]) + (q[1] + q[3]);
}

}  // namespace dcomp::DCOMP_ISA
