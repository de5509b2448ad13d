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

namespace dcomp::DCOMP_ISA {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;  // SSE2 and NEON
#endif

// Loads and stores go through `unaligned`: a memcpy of 64 bytes keeps a vector in memory.
template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(kVectorBytes)));
  typedef std::int32_t bits __attribute__((vector_size(kVectorBytes)));
  typedef float unaligned __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
  typedef std::int32_t bits_unaligned
      __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
  using integer = std::int32_t;
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(kVectorBytes)));
  typedef std::int64_t bits __attribute__((vector_size(kVectorBytes)));
  typedef double unaligned __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
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
  return *reinterpret_cast<const typename VectorOf<T>::unaligned*>(p);
}
template <class T>
inline void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename VectorOf<T>::unaligned*>(p) = v;
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
  typedef T unaligned
      __attribute__((vector_size(kLanes<double> * sizeof(T)), aligned(alignof(T)), may_alias));
};
template <class T>
inline Vec<double> load_double(const T* p) {
  const typename HalfOf<T>::type v = *reinterpret_cast<const typename HalfOf<T>::unaligned*>(p);
  return __builtin_convertvector(v, Vec<double>);
}
template <class T>
inline void store_double(T* p, Vec<double> v) {
  *reinterpret_cast<typename HalfOf<T>::unaligned*>(p) =
      __builtin_convertvector(v, typename HalfOf<T>::type);
}

// Horizontal sum by halving; the order is fixed, so the result does not depend on the caller.
template <class T>
inline T sum(Vec<T> v) {
  typedef double Double8 __attribute__((vector_size(64)));
  typedef double Double4 __attribute__((vector_size(32)));
  typedef T Half __attribute__((vector_size(32)));
  typedef T Quarter __attribute__((vector_size(16)));
  Quarter q;
  if constexpr (kVectorBytes == 16) {
    q = v;
  } else {
    Half half;
    if constexpr (kVectorBytes == 64) {
      const auto all = reinterpret_cast<Double8>(v);
      half = reinterpret_cast<Half>(__builtin_shufflevector(all, all, 0, 1, 2, 3)) +
             reinterpret_cast<Half>(__builtin_shufflevector(all, all, 4, 5, 6, 7));
    } else {
      half = v;
    }
    const auto all = reinterpret_cast<Double4>(half);
    q = reinterpret_cast<Quarter>(__builtin_shufflevector(all, all, 0, 1)) +
        reinterpret_cast<Quarter>(__builtin_shufflevector(all, all, 2, 3));
  }
  if constexpr (sizeof(T) == 8)
    return q[0] + q[1];
  else
    return (q[0] + q[2]) + (q[1] + q[3]);
}

}  // namespace dcomp::DCOMP_ISA
