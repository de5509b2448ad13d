// Uniform numbers of a Stream, many at a time: its blocks are independent, so they fill vectors.
#pragma once

#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/simd.hpp"

namespace dcomp::DCOMP_ISA {

// Philox 4x32-10 as in rng.hpp, one block per lane. Numbers on [0, 1) in steps of 2^-24, which
// float32 holds exactly.
[[gnu::noinline]] inline void fill_uniforms(Stream& rng, float* out) {
  typedef std::uint64_t Wide __attribute__((vector_size(kVectorBytes)));
  typedef float Narrow __attribute__((vector_size(kVectorBytes / 2), aligned(4), may_alias));
  constexpr int lanes = kVectorBytes / 8;
  const Wide low = Wide{} + 0xFFFFFFFFU;
  for (int done = 0; done < kUniforms; done += 4 * lanes, rng.skip(lanes)) {
    Wide c0{}, c1 = Wide{} + rng.counter()[1], c2 = Wide{} + rng.counter()[2],
               c3 = Wide{} + rng.counter()[3];
    for (int q = 0; q < lanes; ++q) c0[q] = rng.counter()[0] + static_cast<std::uint32_t>(q);
    std::uint32_t k0 = rng.key()[0], k1 = rng.key()[1];
    for (int round = 0; round < 10; ++round) {
      const Wide p0 = c0 * 0xD2511F53U, p1 = c2 * 0xCD9E8D57U;
      c0 = (p1 >> 32) ^ c1 ^ k0;
      c2 = (p0 >> 32) ^ c3 ^ k1;
      c1 = p1 & low;
      c3 = p0 & low;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    const Wide block[4] = {c0, c1, c2, c3};
    for (int r = 0; r < 4; ++r)
      *reinterpret_cast<Narrow*>(out + done + r * lanes) =
          __builtin_convertvector(block[r] >> 8, Narrow) * 0x1p-24F;
  }
}

// The numbers of a stream one by one, from a buffer of kUniforms.
class Uniforms {
 public:
  Uniforms(Stream* rng, float* buffer) : rng_(rng), buffer_(buffer) {}
  [[gnu::always_inline]] float next() {
    if (next_ == kUniforms) {
      fill_uniforms(*rng_, buffer_);
      next_ = 0;
    }
    return buffer_[next_++];
  }

 private:
  Stream* rng_;
  float* buffer_;
  int next_ = kUniforms;
};

}  // namespace dcomp::DCOMP_ISA
