// Random numbers by counter: Philox 4x32-10 (Salmon et al. 2011).
//
// A stream is named by (seed, purpose, sweep, unit) and nothing else, so that who draws when, and
// on how many threads, changes nothing. A unit is a document, a feature or a cell of a partition.
// Always inline: kernels of every instruction set use it (simd.hpp says why that matters).
#pragma once

#include <cstdint>

namespace dcomp {

// What the numbers are for: two uses never share a stream.
enum class Purpose : std::uint32_t {
  scores = 1,
  allocation = 2,
  loadings = 3,
  start = 4,
  tokens = 5,
  transform = 6,
  kept_scores = 7,  // draws that no chain goes on from
  kept_loadings = 8,
  left_to_right = 9,
  annealing = 10,
  split = 11,
  given_loadings = 12,  // tokens of a document on its own
  lines = 13,           // scores of a document along lines
  anew = 14,            // all tokens of a document at once, within a chain of single tokens
  two_sided = 15,
};

// Units are told apart by so many bits.
inline constexpr int kUnitBits = 56;

class Stream {
 public:
  [[gnu::always_inline]] Stream(std::uint64_t seed, Purpose purpose, std::uint32_t sweep,
                                std::uint64_t unit)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        // The unit has kUnitBits, the purpose 8, so that a counter word is left to count.
        counter_{0, static_cast<std::uint32_t>(unit),
                 static_cast<std::uint32_t>(unit >> 32) << 8 | static_cast<std::uint32_t>(purpose),
                 sweep} {}

  [[gnu::always_inline]] std::uint32_t next32() {
    if (left_ == 0) refill();
    return block_[--left_];
  }

  // Uniform on (0, 1): never 0, never 1.
  // Half the price, for choices among components: steps of 2^-32.
  [[gnu::always_inline]] double uniform32() { return (next32() + 0.5) * 0x1p-32; }
  [[gnu::always_inline]] double uniform() {
    const std::uint64_t high = next32() >> 5, low = next32() >> 6;
    return (static_cast<double>(high << 26 | low) + 0.5) * 0x1p-53;
  }

  // For those who draw many blocks at once: the name of the next block, and a step past `blocks`.
  [[gnu::always_inline]] const std::uint32_t* key() const { return key_; }
  [[gnu::always_inline]] const std::uint32_t* counter() const { return counter_; }
  [[gnu::always_inline]] void skip(std::uint32_t blocks) { counter_[0] += blocks; }

 private:
  [[gnu::always_inline]] void refill() {
    std::uint32_t c0 = counter_[0], c1 = counter_[1], c2 = counter_[2], c3 = counter_[3];
    std::uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0, p1 = std::uint64_t{0xCD9E8D57} * c2;
      const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
      const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
      c1 = static_cast<std::uint32_t>(p1);
      c3 = static_cast<std::uint32_t>(p0);
      c0 = n0;
      c2 = n2;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    block_[3] = c0;
    block_[2] = c1;
    block_[1] = c2;
    block_[0] = c3;
    left_ = 4;
    ++counter_[0];
  }

  std::uint32_t key_[2], counter_[4], block_[4] = {};
  int left_ = 0;
};

}  // namespace dcomp
