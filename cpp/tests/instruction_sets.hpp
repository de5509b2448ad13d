// Every instruction set that was compiled in and that this machine has.
#pragma once

#include <vector>

#include "dcomp/dispatch.hpp"
#include "dcomp/processor.hpp"

namespace dcomp {

namespace baseline {
extern const InstructionSet instruction_set;
}
#ifdef DCOMP_AVX2
namespace avx2 {
extern const InstructionSet instruction_set;
}
#endif
#ifdef DCOMP_AVX512
namespace avx512 {
extern const InstructionSet instruction_set;
}
#endif

namespace test {

inline std::vector<const InstructionSet*> available_sets() {
  std::vector<const InstructionSet*> sets{&baseline::instruction_set};
#ifdef DCOMP_AVX2
  if (processor().avx2) sets.push_back(&avx2::instruction_set);
#endif
#ifdef DCOMP_AVX512
  if (processor().avx512) sets.push_back(&avx512::instruction_set);
#endif
  return sets;
}

}  // namespace test
}  // namespace dcomp
