#include "dcomp/dispatch.hpp"

#include <cstdlib>
#include <cstring>

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

namespace {

const InstructionSet& choose() {
  [[maybe_unused]] const Processor found = processor();
  const char* wanted = std::getenv("DCOMP_SIMD");
  [[maybe_unused]] auto allowed = [&](const char* name) {
    return wanted == nullptr || *wanted == '\0' || std::strcmp(wanted, name) == 0;
  };
#ifdef DCOMP_AVX512
  if (found.avx512 && allowed("avx512")) return avx512::instruction_set;
#endif
#ifdef DCOMP_AVX2
  if (found.avx2 && allowed("avx2")) return avx2::instruction_set;
#endif
  return baseline::instruction_set;
}

}  // namespace

const InstructionSet& instruction_set() {
  static const InstructionSet& chosen = choose();
  return chosen;
}

}  // namespace dcomp
