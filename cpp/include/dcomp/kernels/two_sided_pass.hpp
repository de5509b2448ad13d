// What a sweep between a reference and the posterior is given: plain views, the same for every
// instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/tree.hpp"

namespace dcomp {

// x^power for any normal number x > 0: of its mantissa, in equal steps, and of its exponent.
inline constexpr int kCurveBits = 10;
inline constexpr std::uint32_t kCurvePoints = 1U << kCurveBits;
struct PowerCurve {
  float mantissa[kCurvePoints + 1];  // of 1 + q / kCurvePoints
  float exponent[256];               // of 2^(q - 127)
};

// x^power for x = a + 0, a + 1, ...: looked up, and past the end of the table on the curve.
struct PowerTable {
  const float* table = nullptr;
  std::int64_t size = 0;
  float a = 0;
  const PowerCurve* beyond = nullptr;
};

struct TwoSidedPass {
  CsrView W;
  std::int64_t K = 0, padded = 0;
  const std::int64_t* first_token = nullptr;  // (I + 1): of a document, in z
  const float* log_scores = nullptr;          // (I, padded): the reference's, -1e30 past K
  // A linear predictive, or else the tree:
  const float* log_F = nullptr;           // LogWeights (score_weights.hpp)
  const float* log_p0 = nullptr;          // log P(score > 0 | c = 0)
  std::int64_t stride = 0;                // of these, from one document to the next; 0: shared
  const PowerTable* of_scores = nullptr;  // (padded): a_k + c
  const TreeView* tree = nullptr;
  const PowerTable* of_words = nullptr;   // (J): gamma_j + n
  const PowerTable* of_totals = nullptr;  // (G): gamma_g + N, to the power -t
  const std::int32_t* block = nullptr;    // (J)
  Rows<float> reference;                  // (J, padded): theta*^(1 - t)
  Rows<float> words;                      // (J, padded): the same times (gamma + n)^t
  Rows<float> totals;                     // (G, padded): (gamma_g + N)^-t
  std::uint16_t* z = nullptr;             // component of each token, by entry
  Rows<std::int32_t> c, n, total;         // (I, padded), (J, padded), (G, padded)
  double t = 0;
  bool backward = false;  // the last token first
};

// One worker's buffers, (padded) each; kUniforms; and two rows of K for a tree.
struct TwoSidedScratch {
  float *base, *absent, *row, *part, *uniforms;
  double *S, *reach;
};

}  // namespace dcomp
