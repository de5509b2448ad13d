// Vectors of floats of a chosen width, for code that looks across lanes: draws from weights.
//
// Such code shuffles and compares more than it adds, so the widest vectors are not always best:
// some processors run 64 bytes as two halves. `Narrow` is at most 32 bytes, `Wide` all there is.
#pragma once

#include <utility>

#include "dcomp/simd.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace dcomp::DCOMP_ISA {

// Spelled out for each size: GCC takes a vector of dependent size for a number.
template <int bytes>
struct VectorTypes;
#define DCOMP_VECTOR_TYPES(bytes)                                                                  \
  template <>                                                                                      \
  struct VectorTypes<bytes> {                                                                      \
    typedef float Floats __attribute__((vector_size(bytes)));                                      \
    typedef float InMemory __attribute__((vector_size(bytes), aligned(4), may_alias));             \
    typedef std::int32_t Whole __attribute__((vector_size(bytes)));                                \
    typedef std::int32_t Counts32 __attribute__((vector_size(bytes), aligned(4), may_alias));      \
    typedef std::uint16_t Counts16 __attribute__((vector_size(bytes / 2), aligned(2), may_alias)); \
  };
DCOMP_VECTOR_TYPES(16)
DCOMP_VECTOR_TYPES(32)
DCOMP_VECTOR_TYPES(64)
#undef DCOMP_VECTOR_TYPES

template <int bytes>
struct Lanes {
  static constexpr int size = bytes / 4;
  using Types = VectorTypes<bytes>;
  using Floats = typename Types::Floats;
  using InMemory = typename Types::InMemory;
  using Whole = typename Types::Whole;
  using Every = std::make_integer_sequence<int, size>;

  [[gnu::always_inline]] static Floats load(const float* p) {
    return *reinterpret_cast<const InMemory*>(p);
  }
  [[gnu::always_inline]] static void store(float* p, Floats v) {
    *reinterpret_cast<InMemory*>(p) = v;
  }
  [[gnu::always_inline]] static Floats load_counts(const std::int32_t* p) {
    return __builtin_convertvector(*reinterpret_cast<const typename Types::Counts32*>(p), Floats);
  }
  [[gnu::always_inline]] static Floats load_counts(const std::uint16_t* p) {
#if defined(__AVX512F__)
    if constexpr (bytes == 64) {  // GCC 12 converts these by halves
      const __m256i narrow = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
      return reinterpret_cast<Floats>(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(narrow)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (bytes == 32) {
      const __m128i narrow = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      return reinterpret_cast<Floats>(_mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(narrow)));
    }
#endif
    return __builtin_convertvector(*reinterpret_cast<const typename Types::Counts16*>(p), Floats);
  }

  // 0, 1, 2, ...
  [[gnu::always_inline]] static Whole first_places() { return places(Every{}); }

  // Lane q of the result is the sum of lanes 0 to q.
  [[gnu::always_inline]] static Floats running_sum(Floats v) {
    v += shifted<1>(v, Every{});
    v += shifted<2>(v, Every{});
    if constexpr (size > 4) v += shifted<4>(v, Every{});
    if constexpr (size > 8) v += shifted<8>(v, Every{});
    return v;
  }
  [[gnu::always_inline]] static float last(Floats v) { return v[size - 1]; }

  // Bit q is set where a < b in lane q.
  [[gnu::always_inline]] static unsigned less_bits(Floats a, Floats b) {
#if defined(__AVX512F__)
    if constexpr (bytes == 64)
      return _mm512_cmp_ps_mask(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b),
                                _CMP_LT_OQ);
#endif
#if defined(__AVX2__)
    if constexpr (bytes == 32)
      return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(a < b)));
#endif
#if defined(__SSE2__)
    if constexpr (bytes == 16)
      return static_cast<unsigned>(_mm_movemask_ps(reinterpret_cast<__m128>(a < b)));
#else
    unsigned bits = 0;
    for (int q = 0; q < size; ++q) bits |= (a[q] < b[q] ? 1U : 0U) << q;
    return bits;
#endif
  }

  // The place of u among weights whose running sums by lane are in `part`: part[q] is the sum of
  // the weights at q, q - size, q - 2 size, ..., and `run` its last vector. First the lane, then
  // the place in it; the order of the weights is another than 0, 1, 2, ..., a draw does not mind.
  // Rounding may lead to the last place, or past it.
  [[gnu::always_inline]] static std::int64_t place(const float* part, std::int64_t length,
                                                   Floats run, Floats up_to, float u) {
    const unsigned lane =
        static_cast<unsigned>(__builtin_ctz(less_bits(u - Floats{}, up_to) | 1U << (size - 1)));
    alignas(bytes) float before[size];
    store(before, up_to - run);
    const float over = u - before[lane], rest = over > 0 ? over : 0.0F;
    std::uint64_t passed = 0;
#pragma GCC unroll 8
    for (const float* sum = part + lane; sum < part + length - size; sum += size) {
      passed += *sum <= rest ? 1 : 0;
      asm("" : "+r"(passed));  // one by one: vectors of numbers so far apart cost more
    }
    return static_cast<std::int64_t>(lane + passed * size);
  }

 private:
  template <int... lane>
  [[gnu::always_inline]] static Whole places(std::integer_sequence<int, lane...>) {
    return Whole{lane...};
  }
  template <int shift, int... lane>
  [[gnu::always_inline]] static Floats shifted(Floats v, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(Floats{}, v, (lane < shift ? lane : size + lane - shift)...);
  }
};

using Wide = Lanes<kVectorBytes>;
using Narrow = Lanes < kVectorBytes<32 ? kVectorBytes : 32>;

}  // namespace dcomp::DCOMP_ISA
