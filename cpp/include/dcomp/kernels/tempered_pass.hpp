// What the tempered sweep is given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"

namespace dcomp {

struct TemperedPass {
  CsrView W;
  std::int64_t padded = 0;
  const float* alpha = nullptr;         // (padded): the urn's, zeros at the end
  const float* log_F = nullptr;         // LogWeights (score_weights.hpp)
  const float* log_p0 = nullptr;        // log P(score > 0 | c = 0)
  std::int64_t stride = 0;              // of the last two, from one document to the next; 0: shared
  const float* gamma = nullptr;         // (J)
  const float* gamma_total = nullptr;   // (G)
  const std::int32_t* block = nullptr;  // (J)
  std::uint16_t* z = nullptr;           // component of each token, by entry
  Rows<std::int32_t> c, n, total;       // (I, padded), (J, padded), (G, padded)
};

struct TemperedScratch {
  float *power, *part;  // (padded) each
};

}  // namespace dcomp
