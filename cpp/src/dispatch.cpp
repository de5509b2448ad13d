#include "dcomp/dispatch.hpp"

#include <cstdlib>
#include <cstring>

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

const InstructionSet& choose() {
  const char* wanted = std::getenv("DCOMP_SIMD");
  auto allowed = [&](const char* name) {
    return wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, name) == 0;
  };
#ifdef DCOMP_X86
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (has_avx512 && allowed("avx512")) return avx512::instruction_set;
  if (has_avx2 && allowed("avx2")) return avx2::instruction_set;
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
