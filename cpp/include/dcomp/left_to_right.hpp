// Held-out likelihood from left to right, of all documents.
#pragma once

#include "dcomp/kernels/left_to_right_pass.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

struct LeftToRightInput {
  CsrView W;
  Rows<const float> Theta;  // rows scaled to a largest value of 1, padded with zeros
  const double* log_scale;  // (J)
  ScorePrior prior;         // one with a linear predictive, or a tree
  int n_particles = 1;
  int n_moves = 0;  // at most: Gibbs steps per particle after each token
  std::uint64_t seed = 0;
  std::uint32_t run = 0;  // runs of one seed are independent
};

// out[i]: log of an unbiased estimate of p(w_i | Theta) but for log g(0) and constants of the
// words.
void left_to_right(const LeftToRightInput& input, double* out, int n_threads);

}  // namespace dcomp
