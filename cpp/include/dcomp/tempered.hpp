// Chains of collapsed Gibbs sweeps at rising temperatures, for the evidence.
#pragma once

#include "dcomp/kernels/tempered_pass.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

struct TemperedInput {
  CsrView W;
  const std::int32_t* block = nullptr;  // (J)
  std::int64_t n_blocks = 0;
  const double* gamma = nullptr;  // (J)
  ScorePrior prior;               // one whose predictive is linear
  std::uint64_t seed = 0;
};

// A sweep at each of the temperatures for every chain, each chain by one worker. z (chains, tokens)
// is read and written; where `first` is 0 it is drawn from the urn before. After each sweep,
// log_scores and log_words (chains, n) get log g(z) - log r(z) and log p(w | z). Random numbers are
// those of the chains from `first_chain` on: chains may be run in several calls.
void tempered_sweeps(const TemperedInput& input, std::int64_t n_chains, const double* temperatures,
                     std::int64_t n, std::uint32_t first, std::uint16_t* z, double* log_scores,
                     double* log_words, int n_threads, std::int64_t first_chain = 0);

}  // namespace dcomp
