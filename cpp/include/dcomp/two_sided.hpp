// Runs of collapsed Gibbs sweeps between a reference and the posterior, for the evidence between
// two fences.
#pragma once

#include "dcomp/kernels/two_sided_pass.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

struct TwoSidedInput {
  CsrView W;
  const std::int32_t* block = nullptr;  // (J)
  std::int64_t n_blocks = 0;
  const double* gamma = nullptr;       // (J)
  ScorePrior prior;                    // one with a linear predictive, or a tree
  const double* log_scores = nullptr;  // (I, K): the reference's
  const double* log_Theta = nullptr;   // (J, K): likewise
  std::uint64_t seed = 0;
  std::uint64_t run = 0;  // runs of one seed are independent
  bool backward = false;
};

// One run: a sweep at each of the temperatures in [0, 1], numbered from `first` on. z (tokens) is
// read and written. After each sweep, log_scores and log_words (n) get log g(z) and log p(w | z),
// both less the reference's part.
void two_sided_sweeps(const TwoSidedInput& input, const double* temperatures, std::int64_t n,
                      std::uint32_t first, std::uint16_t* z, double* log_scores, double* log_words);

}  // namespace dcomp
