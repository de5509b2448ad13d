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
  return Vec<T>{} + x;
}
template <class T>
inline Vec<T> max(Vec<T> a, Vec<T> b) {
  return a > b ? a : b;
}
template <class T>
inline Vec<T> min(Vec<T> a, Vec<T> b) {
  return a < b ? a : b;
}

// Horizontal sum by halving; the order is fixed, so the result does not depend on the caller.
template <class T, int Bytes>
struct Halving {
  typedef T whole __attribute__((vector_size(Bytes)));
  typedef T half __attribute__((vector_size(Bytes / 2)));
  static T sum(const whole& v) {
    half low, high;
    std::memcpy(&low, &v, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&v) + sizeof low, sizeof high);
    if constexpr (Bytes / 2 == 2 * sizeof(T)) {
      const half both = low + high;
      return both[0] + both[1];
    } else {
      return Halving<T, Bytes / 2>::sum(low + high);
    }
  }
};
template <class T>
inline T sum(Vec<T> v) {
  if constexpr (kVectorBytes == 2 * sizeof(T))
    return v[0] + v[1];
  else
    return Halving<T, kVectorBytes>::sum(v);
}

}  // namespace dcomp::DCOMP_ISA
