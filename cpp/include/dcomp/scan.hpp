// Looking through numbers at the border, fast enough to be done in every call.
#pragma once

#include <cstdint>

namespace dcomp {

// The first of n numbers outside [low, high], -1 where there is none. NaN is outside.
template <class T>
std::int64_t first_outside(const T* x, std::int64_t n, T low, T high);

// A number that tells assignments apart: of 65,536 random changes, less than one keeps it.
std::uint64_t checksum(const std::uint16_t* z, std::int64_t n);

}  // namespace dcomp
