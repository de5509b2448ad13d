// The tree's prior as the token sampler sees it; nodes are numbered by place (tree_layout.hpp).
#pragma once

#include <cstdint>

namespace dcomp {

// The children of internal node `parent` that stand side by side at [first, last).
struct TreeRun {
  std::int32_t parent, first, last;
};

// The children of an internal node by place: [inner, inner_end) are internal, [leaf, leaf_end) not.
struct TreeChildren {
  std::int32_t inner = 0, inner_end = 0, leaf = 0, leaf_end = 0;
};

// For each document the internal nodes that it has tokens at or below, by place: parents first.
struct TreeEntry {
  std::int32_t S, D;  // tokens at it and below, and below alone
  std::uint16_t place;
};
struct TreeLists {
  const std::int64_t* start = nullptr;
  std::int32_t* size = nullptr;
  TreeEntry* entry = nullptr;
};

struct TreeWeights {
  std::int64_t H = 0, padded = 0;  // internal nodes, and the same rounded up to whole vectors
  std::int64_t levels = 0;         // that internal nodes have below the root
  const float* a = nullptr;  // (padded places): a1 of an internal node, b of a leaf, 0 of no node
  // (padded) each, 1 where there is no node; 1 at the root and 0 elsewhere:
  const float *a2 = nullptr, *a12 = nullptr, *b = nullptr, *b_total = nullptr, *root = nullptr;
  const std::int32_t* above = nullptr;  // (padded places): place of the parent, 0 for the root
  // (places, padded): 1 for internal nodes on the way there; as S, null where there are lists
  const std::int32_t* path = nullptr;
  std::int32_t* S = nullptr;  // (I, padded): subtree totals of the internal nodes
  const TreeRun *runs = nullptr, *last_run = nullptr;            // internal children, by place
  const TreeRun *leaf_runs = nullptr, *last_leaf_run = nullptr;  // leaves, by place
  TreeLists lists;
  const TreeChildren* children = nullptr;  // (H)
  const std::int32_t* factor = nullptr;    // (padded places): where F is among the factors there
};

// An internal node as the sampler by lists keeps it: kernels/tree_sums.hpp, tree_document.hpp.
struct TreeNode {
  float a1, a2, a12, b, b_total, psi;
  double stop, go;     // W per unit of psi, and per unit of B
  double B, B_shared;  // of the feature at hand, and what all features share of it
  std::int32_t above;
  std::int16_t taken, taken_below;  // whether the token at hand is to be left out of S and D
};

// What a cell of that sampler needs beside its other rows.
struct TreeListScratch {
  TreeNode* node;         // (H)
  double *W, *W_shared;   // (padded places), (padded)
  float* factor;          // (2 padded): G, and F of the internal nodes themselves
  double* rest;           // (padded)
  std::uint16_t* slot;    // (padded): where a node stands in the list of the document
  std::uint64_t* marked;  // tree_words(H)
};
inline std::int64_t tree_words(std::int64_t H) { return (H + 63) / 64; }

// Floats that a cell needs beside its other rows: F and four rows of internal nodes, each with a
// vector to spare.
inline constexpr std::int64_t kTreeSpare = 16;
inline std::int64_t tree_scratch(std::int64_t padded_places, std::int64_t padded) {
  return padded_places + kTreeSpare + 4 * (padded + kTreeSpare);
}

}  // namespace dcomp
