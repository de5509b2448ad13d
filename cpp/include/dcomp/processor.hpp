// Which instruction sets this machine has. Not for kernels: those are compiled for a set, and what
// they include may be linked in its form.
#pragma once

#if defined(__x86_64__) && defined(_MSC_VER)
#include <cpuid.h>
#endif

namespace dcomp {

struct Processor {
  bool avx2 = false, avx512 = false;
};

#if defined(__x86_64__) && defined(_MSC_VER)
// clang-cl: __builtin_cpu_supports wants Clang's run-time library, which Microsoft's linker is not
// given.
inline Processor processor() {
  unsigned a = 0, b = 0, c = 0, d = 0, kept = 0, above = 0;
  constexpr unsigned kFma = 1u << 12, kSaves = 1u << 27, kAvx2 = 1u << 5;
  constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // f, dq, bw, vl
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (kFma | kSaves)) != (kFma | kSaves)) return {};
  __asm__("xgetbv" : "=a"(kept), "=d"(above) : "c"(0));  // which registers the system keeps
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return {};
  const bool avx2 = (kept & 0x06) == 0x06 && (b & kAvx2) != 0;
  return {avx2, avx2 && (kept & 0xe6) == 0xe6 && (b & kAvx512) == kAvx512};
}
#elif defined(__x86_64__)
inline Processor processor() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return {avx2, avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")};
}
#else
inline Processor processor() { return {}; }
#endif

}  // namespace dcomp
