// The score prior as the token samplers see it: three numbers per component.
#pragma once

#include <cstdint>

namespace dcomp {

// s_ik = F_k (a_k + c_ik) where c_ik > 0, and F_k a0_k where c_ik = 0 (MODELS.md section 3):
//   DM   a0 = a = alpha, F = 1
//   GP   a0 = a = alpha, F = 1 / (beta + e)
//   CGP  as GP, but a0 = (1 - q0) alpha
// Stride 0: the same for all documents; else one row of `stride` numbers per document. a0 and a are
// one and the same pointer where no score can be zero.
struct ScoreWeights {
  const float* a0 = nullptr;
  const float* a = nullptr;
  const float* F = nullptr;
  std::int64_t stride = 0;
};

}  // namespace dcomp
