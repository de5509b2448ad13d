// Scores of long documents with the loadings given, along lines that follow the curvature.
//
// Gamma scores and Poisson words: log p(l | w) = sum (alpha_k - 1) log l_k - b_k l_k
// + sum_j w_j log (Theta l)_j. A draw of the allocation moves a score by the root of its words, and
// in a document of a million words that is next to nothing. With the allocation summed out, what
// words say is linear in l, so that a straight line can follow what they leave open for as far as
// it goes: slices (Neal 2003) along lines from the curvature at the mode are exact for any prior
// shape, and nothing is tuned. A Dirichlet is gammas of rate 1 over their sum (BJ06 Lemma 1).
#pragma once

#include <cstdint>

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"

namespace dcomp {

struct LineInput {
  CsrView W;
  const std::int64_t* number;  // (I): of the documents in the whole corpus
  Rows<const float> Theta;     // rows at any scale
  const double* alpha;         // (K)
  Rows<const double> rate;     // (I, K): b, that of the prior and the exposure
  // Of a score that is 0 with probability rho > 0, log of rho / (1 - rho) Gamma(alpha) /
  // beta^alpha, and P(score = 0 | c = 0); null where no score is.
  const double* log_zero;   // (K)
  Rows<const double> zero;  // (I, K)
  bool normalised;          // scores are shares
  std::uint64_t seed;
  std::uint32_t sweep;             // the number of the first
  std::int64_t skip, keep, every;  // sweeps: `skip`, then `keep` times `every`, the last recorded
};

// From the counts c (I, K), or from each document's mode where they are null; c_out and scores_out
// are (keep, I, K).
void sample_lines(const LineInput& input, const std::int32_t* c, std::int32_t* c_out,
                  float* scores_out, int n_threads);

}  // namespace dcomp
