#include "dcomp/scan.hpp"

#include <algorithm>

namespace dcomp {

namespace {

constexpr std::int64_t kBlock = 1024;  // looked through as a whole, without a branch
constexpr int kSums = 16;              // side by side, which the compiler can keep in vectors

template <class T>
bool any_outside(const T* x, std::int64_t n, T low, T high) {
  unsigned outside = 0;
  for (std::int64_t i = 0; i < n; ++i)
    outside |= static_cast<unsigned>(!(x[i] >= low)) | static_cast<unsigned>(!(x[i] <= high));
  return outside != 0;
}

}  // namespace

template <class T>
std::int64_t first_outside(const T* x, std::int64_t n, T low, T high) {
  for (std::int64_t i = 0; i < n; i += kBlock) {
    const std::int64_t size = std::min(kBlock, n - i);
    if (!any_outside(x + i, size, low, high)) continue;
    return std::find_if(x + i, x + i + size, [=](T v) { return !(v >= low && v <= high); }) - x;
  }
  return -1;
}

// Fletcher's two sums, for every sixteenth number apart.
std::uint64_t checksum(const std::uint16_t* z, std::int64_t n) {
  std::uint16_t first[kSums] = {}, second[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int s = 0; s < kSums; ++s) {
      first[s] = static_cast<std::uint16_t>(first[s] + z[i + s]);
      second[s] = static_cast<std::uint16_t>(second[s] + first[s]);
    }
  for (int s = 0; i < n; ++i, ++s) {
    first[s] = static_cast<std::uint16_t>(first[s] + z[i]);
    second[s] = static_cast<std::uint16_t>(second[s] + first[s]);
  }
  std::uint64_t all = 0x9E3779B97F4A7C15;
  for (int s = 0; s < kSums; ++s) {
    all = (all ^ (std::uint64_t{first[s]} << 16 | second[s])) * 0xBF58476D1CE4E5B9;
    all ^= all >> 29;
  }
  return all;
}

template std::int64_t first_outside<float>(const float*, std::int64_t, float, float);
template std::int64_t first_outside<double>(const double*, std::int64_t, double, double);
template std::int64_t first_outside<std::int32_t>(const std::int32_t*, std::int64_t, std::int32_t,
                                                  std::int32_t);
template std::int64_t first_outside<std::int64_t>(const std::int64_t*, std::int64_t, std::int64_t,
                                                  std::int64_t);
template std::int64_t first_outside<std::uint16_t>(const std::uint16_t*, std::int64_t,
                                                   std::uint16_t, std::uint16_t);

}  // namespace dcomp
