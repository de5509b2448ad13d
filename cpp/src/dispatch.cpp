#include "dcomp/dispatch.hpp"

#include <cstdlib>
#include <cstring>

#if defined(DCOMP_X86) && defined(_MSC_VER)
#include <cpuid.h>
#endif

namespace dcomp {

namespace baseline {
extern const InstructionSet instruction_set;
}
#ifdef DCOMP_X86
namespace avx2 {
extern const InstructionSet instruction_set;
}
namespace avx512 {
extern const InstructionSet instruction_set;
}
#endif

namespace {

#ifdef DCOMP_X86
struct Supported {
  bool avx2 = false, avx512 = false;
};

#ifdef _MSC_VER
// clang-cl: __builtin_cpu_supports wants Clang's run-time library, which Microsoft's linker is not
// given.
Supported supported() {
  unsigned a = 0, b = 0, c = 0, d = 0, kept = 0, above = 0;
  constexpr unsigned kFma = 1u << 12, kSaves = 1u << 27, kAvx2 = 1u << 5;
  constexpr unsigned kAvx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // f, dq, bw, vl
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (kFma | kSaves)) != (kFma | kSaves)) return {};
  __asm__("xgetbv" : "=a"(kept), "=d"(above) : "c"(0));  // which registers the system keeps
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return {};
  const bool avx2 = (kept & 0x06) == 0x06 && (b & kAvx2) != 0;
  return {avx2, avx2 && (kept & 0xe6) == 0xe6 && (b & kAvx512) == kAvx512};
}
#else
Supported supported() {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return {avx2, avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")};
}
#endif
#endif

const InstructionSet& choose() {
  const char* wanted = std::getenv("DCOMP_SIMD");
  auto allowed = [&](const char* name) {
    return wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, name) == 0;
  };
#ifdef DCOMP_X86
  const Supported found = supported();
  if (found.avx512 && allowed("avx512")) return avx512::instruction_set;
  if (found.avx2 && allowed("avx2")) return avx2::instruction_set;
#else
  static_cast<void>(allowed);
#endif
  return baseline::instruction_set;
}

}  // namespace

const InstructionSet& instruction_set() {
  static const InstructionSet& chosen = choose();
  return chosen;
}

}  // namespace dcomp
