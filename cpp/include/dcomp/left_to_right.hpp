// Held-out likelihood from left to right, of all documents.
#pragma once

#include "dcomp/kernels/left_to_right_pass.hpp"

namespace dcomp {

// out[i]: log of an unbiased estimate of p(w_i | Theta) but for log g(0) and constants of the
// words.
void left_to_right(const LeftToRightPass& pass, double* out, int n_threads);

}  // namespace dcomp
