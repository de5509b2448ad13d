// What the samplers are given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/kernels/score_weights.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

struct SamplePass {
  CsrView W;
  Rows<const float> Theta;        // rows scaled to a largest value of 1
  const double* log_scale;        // (J)
  const double *alpha, *beta;     // (K); beta null for DM
  const double* rho;              // (K), null unless CGP
  const double* exposure;         // (I), null where it is 1; unused by DM
  Rows<const std::int32_t> c_in;  // (I, K)
  Rows<std::int32_t> c_out;       // (I, K)
  std::int32_t* n;                // (J, K), added to; null when Theta is fixed
  float* scores;                  // (I, K): the drawn scores, null when not wanted
  std::uint64_t seed;
  std::uint32_t sweep;
  Purpose purpose;
};

struct SampleScratch {
  float *e, *part;     // (padded)
  double* log_scores;  // (K)
};

// For each document the components that it uses, with their counts, in no order.
struct ComponentLists {
  const std::int64_t* start = nullptr;  // (I): room for as many as the document can use
  std::int32_t* size = nullptr;         // (I)
  std::uint16_t* topic = nullptr;
  std::int32_t* count = nullptr;
};

// What one cell of tokens works on. Its documents and features are its own; `total` is its copy.
struct CollapsePass {
  std::int64_t K, padded;
  const std::int32_t* document;  // (T)
  std::uint16_t* z;              // (T)
  std::int32_t* c;               // (I, padded)
  std::int32_t* n;               // (J, padded)
  std::int32_t* total;           // (G, padded)
  const double* gamma;           // (J)
  const double* gamma_total;     // (G)
  const std::int32_t* block;     // (J)
  ScoreWeights scores;
  ComponentLists lists;  // in place of c where components are many
};

struct CollapseScratch {
  float* phi;    // (padded)
  float* part;   // (padded): running sums by lane, or the weights that all documents share
  float* own;    // (padded): the weights of one document
  float* block;  // (padded): sums of blocks of weights
  float* sums;   // (padded): sums of vectors of own
};

}  // namespace dcomp
