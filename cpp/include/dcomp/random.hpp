// Draws from the distributions of the samplers, all from a Stream. Compiled once, not per
// instruction set.
#pragma once

#include "dcomp/rng.hpp"

namespace dcomp {

// log of a Gamma(shape, 1) draw, shape > 0. In logs, because a shape of 0.001 gives numbers far
// below the smallest double.
double draw_log_gamma(Stream& rng, double shape);

// Standard normal.
double draw_normal(Stream& rng);

// Binomial(n, p), exact for any n.
std::int32_t draw_binomial(Stream& rng, std::int32_t n, double p);

}  // namespace dcomp
