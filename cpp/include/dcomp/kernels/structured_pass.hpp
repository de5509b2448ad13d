// What the sampler of structured components is given: plain views, the same for every instruction
// set. Leaves c, nodes h and their allowed pairs as in MODELS.md section 5.
#pragma once

#include "dcomp/kernels/score_weights.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

// Where p(h | c) comes from: given; one row of a Dirichlet for each leaf, of the corpus or of each
// document; a probability of stopping at each node of a tree, of the corpus or of each document.
enum class RowKind { fixed = 0, shared = 1, document = 2, phi = 3, document_phi = 4 };
inline constexpr int kRowKinds = 5;
inline constexpr bool is_stick(RowKind kind) { return kind >= RowKind::phi; }
inline constexpr bool is_per_document(RowKind kind) {
  return kind == RowKind::document || kind == RowKind::document_phi;
}

// The structure. A code names the pair of a token. Codes of sticks are the pairs in their order;
// the others lie in layers of `padded_leaves`, in which code % padded_leaves is the leaf: layer d
// has the d-th node of every leaf, and nothing where a leaf has fewer.
struct StructureView {
  RowKind kind = RowKind::fixed;
  std::int64_t K = 0, padded_leaves = 0, H = 0, padded_nodes = 0, n_codes = 0;
  const std::int32_t *leaf = nullptr, *node = nullptr;  // (n_codes)
  bool own_first = false;  // the first layer has each leaf's own node, the others internal nodes
  // Of a tree, parents at the top being `padded_nodes`, a place of its own:
  const std::int32_t* parent = nullptr;       // (H)
  const std::int32_t* inner = nullptr;        // (H - K): internal nodes from the top down
  const std::int32_t* child_start = nullptr;  // (H + 1)
  const std::int32_t* child = nullptr;
  const std::int32_t* code = nullptr;  // (K, H): of the allowed pairs
  // Where a vector holds all internal nodes, which then have the places h - K in it:
  std::int64_t levels = 0;                   // of internal nodes
  const float* below = nullptr;              // (padded_leaves, vector): 1 at the nodes above a leaf
  const float* is_top = nullptr;             // (H and more)
  const std::int32_t* slot_above = nullptr;  // (H and more): the parent's place, 0 at the top
};

// The prior of p(h | c): psi, or the probabilities themselves where they are given.
struct RowWeights {
  const float* pair = nullptr;        // (n_codes), 0 where there is no pair
  const float* leaf_total = nullptr;  // (padded_leaves): sums over a leaf's pairs, 1 for padding
  const float *stop = nullptr, *go = nullptr;  // (H and a vector more)
};

struct StructuredPass {
  const StructureView* structure = nullptr;
  RowWeights rows;
  const std::int32_t* document = nullptr;  // (T)
  std::int32_t* code = nullptr;            // (T)
  std::int32_t* C = nullptr;               // (I, padded_leaves)
  // What the rows know: of codes, then of leaves; or of nodes, then of all below each. One row for
  // the cell, or one for each document (`stride`), where the leaves' part is C.
  std::int32_t* S = nullptr;
  std::int64_t stride = 0;
  std::int32_t* n = nullptr;      // (J, padded_nodes)
  std::int32_t* total = nullptr;  // (G, padded_nodes)
  const double* gamma = nullptr;
  const double* gamma_total = nullptr;
  const std::int32_t* block = nullptr;
  ScoreWeights scores;           // of leaves
  const float* Theta = nullptr;  // (J, padded_nodes) where loadings are given: n is not looked at
};

struct StructuredScratch {
  float *uniforms, *phi;           // kUniforms, padded_nodes and one vector more
  float *score, *per, *go, *part;  // padded_nodes twice, one more, codes or nodes; and a vector
};

struct StructuredCell {
  StructuredPass pass;
  const TokenCells::Run *first, *last;
  Stream rng;
  StructuredScratch scratch;
  double log_words = 0;
};

}  // namespace dcomp
