// How the numbers of each column of a table spread over sizes: how many there are in every quarter
// of an octave, and what they add up to.
#pragma once

#include <cstdint>

namespace dcomp {

inline constexpr int kBinsPerOctave = 4;
inline constexpr int kLowestOctave = -14;  // what is below lies in the first bin
inline constexpr int kOctaves = 46;        // and what is above them in the last
inline constexpr std::int64_t kBins = std::int64_t{kBinsPerOctave} * kOctaves;

// c (n_rows, width), none negative; times and sums (width, kBins). In an order that does not depend
// on the number of threads.
template <class T>
void spread(const T* c, std::int64_t n_rows, std::int64_t width, double* times, double* sums,
            int n_threads);

}  // namespace dcomp
