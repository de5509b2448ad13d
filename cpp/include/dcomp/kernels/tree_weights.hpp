// The tree's prior as the token sampler sees it; nodes are numbered by place (tree_layout.hpp).
#pragma once

#include <cstdint>

namespace dcomp {

// The children of internal node `parent` that stand side by side at [first, last).
struct TreeRun {
  std::int32_t parent, first, last;
};

struct TreeWeights {
  std::int64_t H = 0, padded = 0;  // internal nodes, and the same rounded up to whole vectors
  std::int64_t levels = 0;         // that internal nodes have below the root
  const float* a = nullptr;  // (padded places): a1 of an internal node, b of a leaf, 0 of no node
  // (padded) each, 1 where there is no node; 1 at the root and 0 elsewhere:
  const float *a2 = nullptr, *a12 = nullptr, *b = nullptr, *b_total = nullptr, *root = nullptr;
  const std::int32_t* above = nullptr;  // (padded places): place of the parent, 0 for the root
  const std::int32_t* path = nullptr;   // (places, padded): 1 for internal nodes on the way there
  std::int32_t* S = nullptr;            // (I, padded): subtree totals of the internal nodes
  const TreeRun *runs = nullptr, *last_run = nullptr;            // internal children, by place
  const TreeRun *leaf_runs = nullptr, *last_leaf_run = nullptr;  // leaves, by place
};

// Floats that a cell needs beside its other rows: F and four rows of internal nodes, each with a
// vector to spare.
inline constexpr std::int64_t kTreeSpare = 16;
inline std::int64_t tree_scratch(std::int64_t padded_places, std::int64_t padded) {
  return padded_places + kTreeSpare + 4 * (padded + kTreeSpare);
}

}  // namespace dcomp
