// What the left-to-right kernel is given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/kernels/score_weights.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/tree.hpp"

namespace dcomp {

struct LeftToRightPass {
  CsrView W;
  std::int64_t K = 0;
  Rows<const float> Theta;            // rows scaled to a largest value of 1, padded with zeros
  const double* log_scale;            // (J)
  ScoreWeights scores;                // E[score_k | c] but for the total of a normalised prior
  const float* first = nullptr;       // FirstWeights (score_weights.hpp)
  const double* log_first = nullptr;  // their logs
  // A normalised prior: n tokens of document i divide by sum_shapes_i + n.
  const double* sum_shapes = nullptr;
  bool normalised = false;
  const TreeView* tree = nullptr;  // in place of `scores`; its means add up to 1
  int n_particles = 1;
  int n_moves = 0;  // at most: Gibbs steps per particle after each token
  std::uint64_t seed = 0;
  std::uint32_t run = 0;  // runs of one seed are independent
};

// One worker's buffers. R particles, L the longest document.
struct LeftToRightScratch {
  float* s;               // (R, padded): score weights given c
  float* part;            // (R, padded): running sums by lane of s * theta
  float* moving;          // (padded): the same for a move
  std::int32_t* c;        // (R, K)
  std::uint16_t* z;       // (R, L)
  double *weight, *mass;  // (R): normalised; of the parts
  std::int32_t* parent;   // (R)
  std::int32_t* word;     // (L)
  double *S, *mean;       // (K) each, of a tree
};

}  // namespace dcomp
