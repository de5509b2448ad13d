// What a linear predictive (priors/concept.hpp) comes to for the documents of a corpus: the rows of
// weights that token samplers, left to right and tempered sweeps work with.
#pragma once

#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/kernels/score_weights.hpp"
#include "dcomp/score_prior.hpp"
#include "dcomp/tree_layout.hpp"

namespace dcomp {

// Whether the prior has a linear predictive, without which there is none of all this.
bool predicts_linearly(const ScorePrior& prior);

// Whether one row of weights serves all documents: exposures have no meaning, or are equal.
bool shares_weights(const ScorePrior& prior, std::int64_t n_docs);

// Owner of what a ScoreWeights points to.
class PreparedWeights {
 public:
  PreparedWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded);
  ScoreWeights view() const;
  std::int64_t n_rows() const { return n_rows_; }

 private:
  std::int64_t n_rows_, padded_;
  AlignedVector<float> a0_, a_, F_;  // (n_rows, padded), 0 past K; a0 empty where it is a
};

// The same as logs, each for itself: log F, and log P(score > 0 | c = 0).
struct LogWeights {
  LogWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded);

  std::int64_t stride;              // of a row per document; 0 where all share one
  AlignedVector<float> F, present;  // (n_rows, padded); past K -1e30, and 0
};

// F a0, the weights of a first token, over their largest, and the log of that: under CGP all may be
// too small for a float.
struct FirstWeights {
  FirstWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded);

  AlignedVector<float> weight;      // (n_rows, padded), 0 past K
  std::vector<double> log_largest;  // (n_rows)
};

// a (K), which no exposure changes.
std::vector<double> shapes(const ScorePrior& prior);

// A tree's predictive, in the places of a layout; holds until the next call.
TreeWeights tree_weights(const ScorePrior& prior, TreeLayout& layout);

}  // namespace dcomp
