// The score priors by name, and what was compiled of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcomp {

struct PriorDescription {
  const char* key;  // of its model
  std::vector<std::string> parameters;
  bool normalised;  // scores sum to 1, and an exposure has no meaning
  bool has_tree;
  bool restricts;  // heeds which components a document may use
};

// In the order of priors/list.hpp, which is what ScorePrior::which counts.
const std::vector<PriorDescription>& score_priors();

// The place of the prior of this model, -1 where there is none.
int prior_named(const std::string& key);

// A model's key, and a way to allocate its words that kernels were compiled for.
struct Cell {
  std::string_view key, mode;
  friend bool operator==(const Cell&, const Cell&) = default;
};

// Read back from the tables of the instruction set in use: a cell is here when its kernel is there.
const std::vector<Cell>& compiled();
bool is_compiled(std::string_view key, std::string_view mode);

}  // namespace dcomp
