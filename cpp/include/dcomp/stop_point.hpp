// Where work can be stopped (interrupt.hpp). Apart from the rest, and not inline: kernels of every
// instruction set have stop points (simd.hpp says why that matters).
#pragma once

#include <cstdint>

namespace dcomp {

// No more work than this is done between two looks at the clock.
inline constexpr std::int64_t kMuchWork = std::int64_t{1} << 17;

// Throws Stopped where an end is wanted. `work`: about how many numbers are worked on from here to
// the next stop point; where that is little, most calls do not even look at the clock.
void stop_point(std::int64_t work = kMuchWork);

}  // namespace dcomp
