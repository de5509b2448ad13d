// What the collapsed sampler's kernels are given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/count_table.hpp"
#include "dcomp/kernels/score_weights.hpp"
#include "dcomp/kernels/tree_weights.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

// What one cell of tokens works on. Its documents and features are its own; `total` is its copy.
struct CollapsePass {
  std::int64_t K, padded;
  const std::int32_t* document;  // (T)
  std::uint16_t* z;              // (T)
  void* c;                       // (I, padded); as n, null where there are lists
  bool narrow_counts;            // whether c holds uint16 or int32
  std::int32_t* n;               // (J, padded)
  std::int32_t* total;           // (G, padded)
  const double* gamma;           // (J)
  const double* gamma_total;     // (G)
  const std::int32_t* block;     // (J)
  ScoreWeights scores;
  ComponentLists documents, features;
  const TreeWeights* tree = nullptr;  // in place of `scores`
  // Where components have priors of their own, in place of gamma and gamma_total:
  const float* own_gamma = nullptr;  // (J, padded)
  const float* own_total = nullptr;  // (G, padded), 1 where there is no component
};

// Cells that one worker walks side by side.
inline constexpr int kTogether = 4;

// Uniform numbers that a cell draws at a time: whole vectors of every instruction set.
inline constexpr int kUniforms = 64;

// All of one padded row but for uniforms (kUniforms); kernels/collapse*.hpp say what for.
struct CollapseScratch {
  float *uniforms, *inverse, *phi, *part;
  // Where components are lists:
  float *psi, *all, *feature;
  double *all_blocks, *feature_blocks;
  std::int32_t* count;
  std::uint16_t *topic, *place;
  float* tree = nullptr;         // tree_scratch() numbers
  TreeListScratch tree_lists{};  // where both
};

// A cell and where its sampler stands.
struct CollapseCell {
  CollapsePass pass;
  const TokenCells::Run *first, *last;
  Stream rng;
  CollapseScratch scratch;
  double log_words = 0;  // sum of log p(word | the rest), less what `plain` leaves to the caller
};

// An error: the counts of features that were loaded lack a token of the assignment. A list has no
// place for what it does not count, so that this must be seen token by token. Not inline, as
// stop_point is not.
[[noreturn]] void tell_missing_token(std::int64_t feature, std::int64_t component);

}  // namespace dcomp
