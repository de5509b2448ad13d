// What the samplers are given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

// Scores given c.
struct ScorePass {
  ScorePrior prior;
  Rows<const std::int32_t> c;  // (I, K)
  float* out;                  // (I, K): the drawn scores, null when not wanted
  std::uint64_t seed;
  std::uint32_t sweep;
  Purpose purpose;
  std::int64_t first = 0;                // the number of the first document in the whole corpus
  const std::int64_t* number = nullptr;  // (I): of each, where they do not follow one another

  // By which its random numbers are named. Always inline: all instruction sets share this header.
  [[gnu::always_inline]] std::uint64_t unit(std::int64_t i) const {
    return static_cast<std::uint64_t>(number == nullptr ? first + i : number[i]);
  }
};

struct SamplePass {
  CsrView W;
  Rows<const float> Theta;       // rows scaled to a largest value of 1
  const double* log_scale;       // (J)
  ScorePass scores;              // their c is that of the last sweep
  Rows<std::int32_t> c_out;      // (I, K)
  std::int32_t* n;               // (J, K), added to; null when Theta is fixed
  std::int64_t switch_from = 0;  // words from which on components of a document are switched
  // The component of every token by document and entry, and each document's first token; null
  // when not wanted. Documents that switch nothing then keep theirs.
  std::uint16_t* tokens = nullptr;
  const std::int64_t* first_token = nullptr;
};

struct SampleScratch {
  float *e, *part;     // (padded)
  double* log_scores;  // SamplerKernels::room rows of K
  double* words;       // three rows of the longest document's entries, where components switch
};

}  // namespace dcomp
