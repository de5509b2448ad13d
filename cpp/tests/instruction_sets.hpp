// Every instruction set that was compiled in and that this machine has.
#pragma once

#include <vector>

#include "dcomp/dispatch.hpp"

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

namespace test {

inline std::vector<const InstructionSet*> available_sets() {
  std::vector<const InstructionSet*> sets{&baseline::instruction_set};
#ifdef DCOMP_X86
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    sets.push_back(&avx2::instruction_set);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      sets.push_back(&avx512::instruction_set);
  }
#endif
  return sets;
}

}  // namespace test
}  // namespace dcomp
