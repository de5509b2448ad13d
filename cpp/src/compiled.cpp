#include "dcomp/compiled.hpp"

#include <algorithm>

#include "dcomp/dispatch.hpp"

namespace dcomp {

namespace {

std::vector<Cell> read_tables(const InstructionSet& set) {
  std::vector<Cell> cells;
  const auto of_priors = [&](const char* mode, const auto& is_there) {
    for (int p = 0; p < set.n_priors; ++p)
      if (is_there(p)) cells.push_back({score_priors()[static_cast<std::size_t>(p)].key, mode});
  };
  const auto allocates = [&](auto f32, auto f64) {
    return [&set, f32, f64](int p) {
      return set.f32.priors[p].*f32 != nullptr && set.f64.priors[p].*f64 != nullptr;
    };
  };
  const auto of_model = [&](const auto& kernel) { cells.push_back({kernel.key, kernel.mode}); };
  using F32 = AllocationKernels<float>;
  using F64 = AllocationKernels<double>;
  of_priors("expect", allocates(&F32::expect, &F64::expect));
  of_priors("maximise", allocates(&F32::maximise, &F64::maximise));
  of_priors("temper", allocates(&F32::temper, &F64::temper));
  of_model(set.f32.factor_rows);
  of_priors("sample", [&](int p) { return set.priors[p].sample_document != nullptr; });
  of_priors("collapse", [&](int p) { return set.priors[p].collapse[0][0] != nullptr; });
  of_model(set.collapse_structured);
  of_model(set.f32.laplace_documents);
  return cells;
}

}  // namespace

const std::vector<Cell>& compiled() {
  static const std::vector<Cell> cells = read_tables(instruction_set());
  return cells;
}

bool is_compiled(std::string_view key, std::string_view mode) {
  const auto& cells = compiled();
  return std::find(cells.begin(), cells.end(), Cell{key, mode}) != cells.end();
}

}  // namespace dcomp
