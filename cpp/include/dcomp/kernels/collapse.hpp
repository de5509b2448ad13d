// Rao-Blackwellised Gibbs sampling, one token at a time: BJ06 figure 7, table IV.
//
// The weight of component k for a token of feature j in document i is
//   s_ik phi_jk,  phi_jk = (gamma_j + n_jk) / (Gamma_g + N_gk),
//   s_ik = F_k (a_k + c_ik) if c_ik > 0, F_k a0_k if c_ik = 0,
// with all counts without the token. DM has a0 = a = alpha and F = 1; GP has F = 1 / (beta + e);
// CGP has a0 = (1 - q0) alpha (MODELS.md section 3). So one kernel serves the three priors.
#pragma once

#include "dcomp/kernels/sample.hpp"

namespace dcomp::DCOMP_ISA {

// What a run of tokens of one feature keeps at hand: everything that does not change within it.
struct RunView {
  float gamma, gamma_total;
  std::int32_t *n, *total;  // rows of the feature and of its block
  std::int64_t K, padded;

  float phi(std::int64_t k) const {
    return (gamma + static_cast<float>(n[k])) / (gamma_total + static_cast<float>(total[k]));
  }
};

typedef std::int32_t CountVector __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
inline Bits<float> load_counts(const std::int32_t* p) {
  return *reinterpret_cast<const CountVector*>(p);
}

// phi of all components; padding 0.
inline void fill_phi(const RunView& run, float* phi) {
  constexpr int lanes = kLanes<float>;
  for (std::int64_t k = 0; k < run.padded; k += lanes) {
    const Vec<float> n = __builtin_convertvector(load_counts(run.n + k), Vec<float>);
    const Vec<float> total = __builtin_convertvector(load_counts(run.total + k), Vec<float>);
    store<float>(phi + k, (run.gamma + n) / (run.gamma_total + total));
  }
  for (std::int64_t k = run.K; k < run.padded; ++k) phi[k] = 0;
}

// Running sums of the weights lane by lane, so that no vector is summed across.
struct TokenSums {
  float weight, scores;
};

// phi in memory, for any number of vectors. `HasZero`: whether a score of no words weighs
// differently (CGP).
template <bool HasZero>
struct PhiInMemory {
  float *phi, *part;
  std::int64_t padded;

  explicit PhiInMemory(const CollapseScratch& s, std::int64_t p)
      : phi(s.phi), part(s.part), padded(p) {}
  void begin(const RunView&) {}
  void set(std::int64_t k, float value) { phi[k] = value; }
  TokenSums scan(const ScoreWeights& at, const std::int32_t* c) const {
    constexpr int lanes = kLanes<float>;
    Vec<float> run{}, scores{};
    for (std::int64_t k = 0; k < padded; k += lanes) {
      const Bits<float> count = load_counts(c + k);
      Vec<float> s = load(at.a + k) + __builtin_convertvector(count, Vec<float>);
      if constexpr (HasZero) s = count > 0 ? s : load(at.a0 + k);
      s *= load(at.F + k);
      scores += s;
      run += s * load(phi + k);
      store<float>(part + k, run);
    }
    return {sum<float>(run), sum<float>(scores)};
  }
};

// phi in two registers, for K of at most two vectors: a store of one number that a vector load
// needs at once would stall the processor, and there are two of them per token.
template <bool HasZero>
struct PhiInRegisters {
  float *phi, *part;
  Vec<float> phi0{}, phi1{};
  Bits<float> id0{}, id1{};

  explicit PhiInRegisters(const CollapseScratch& s, std::int64_t) : phi(s.phi), part(s.part) {
    for (int q = 0; q < kLanes<float>; ++q) {
      id0[q] = q;
      id1[q] = q + kLanes<float>;
    }
  }
  void begin(const RunView&) {
    phi0 = load(phi);
    phi1 = load(phi + kLanes<float>);
  }
  void set(std::int64_t k, float value) {
    const auto wanted = static_cast<std::int32_t>(k);
    phi0 = id0 == wanted ? broadcast<float>(value) : phi0;
    phi1 = id1 == wanted ? broadcast<float>(value) : phi1;
  }
  static Vec<float> score(const ScoreWeights& at, const std::int32_t* c, std::int64_t k) {
    const Bits<float> count = load_counts(c + k);
    Vec<float> s = load(at.a + k) + __builtin_convertvector(count, Vec<float>);
    if constexpr (HasZero) s = count > 0 ? s : load(at.a0 + k);
    return s * load(at.F + k);
  }
  TokenSums scan(const ScoreWeights& at, const std::int32_t* c) const {
    constexpr int lanes = kLanes<float>;
    const Vec<float> s0 = score(at, c, 0), s1 = score(at, c, lanes);
    const Vec<float> run0 = s0 * phi0, run1 = run0 + s1 * phi1;
    store<float>(part, run0);
    store<float>(part + lanes, run1);
    return {sum<float>(run1), sum<float>(s0 + s1)};
  }
};

template <class Phi>
inline double collapse_runs(const CollapsePass& pass, const TokenCells::Run* first,
                            const TokenCells::Run* last, Stream& rng,
                            const CollapseScratch& scratch) {
  const std::int64_t padded = pass.padded, stride = pass.scores.stride;
  const std::int32_t* document = pass.document;
  std::uint16_t* z = pass.z;
  std::int32_t* all_c = pass.c;
  const ScoreWeights scores = pass.scores;
  Phi phi(scratch, padded);
  double log_words = 0, product = 1;  // of many probabilities, one log at a time
  for (const TokenCells::Run* r = first; r != last; ++r) {
    const std::int64_t j = r->feature, g = pass.block[j];
    const RunView run{static_cast<float>(pass.gamma[j]),
                      static_cast<float>(pass.gamma_total[g]),
                      pass.n + j * padded,
                      pass.total + g * padded,
                      pass.K,
                      padded};
    fill_phi(run, scratch.phi);
    phi.begin(run);
    for (std::int64_t t = r->begin; t < r->end; ++t) {
      const std::int64_t i = document[t], old = z[t];
      std::int32_t* c = all_c + i * padded;
      if (t + 6 < r->end) prefetch_row(all_c + document[t + 6] * padded, padded);
      --c[old], --run.n[old], --run.total[old];
      phi.set(old, run.phi(old));
      const ScoreWeights at{scores.a0 + i * stride, scores.a + i * stride, scores.F + i * stride,
                            0};
      const TokenSums sums = phi.scan(at, c);
      const auto u = static_cast<float>(rng.uniform32() * static_cast<double>(sums.weight));
      const std::int64_t k = place_of_draw(scratch.part, padded, u);
      ++c[k], ++run.n[k], ++run.total[k];
      phi.set(k, run.phi(k));
      z[t] = static_cast<std::uint16_t>(k);
      product *= static_cast<double>(sums.weight / sums.scores);
      if (product < 1e-200) {
        log_words += log<double>(broadcast<double>(product))[0];
        product = 1;
      }
    }
  }
  return log_words + log<double>(broadcast<double>(product))[0];
}

// All tokens of the runs; returns the sum of log p(word | the rest).
inline double collapse_cell(const CollapsePass& pass, const TokenCells::Run* first,
                            const TokenCells::Run* last, Stream& rng,
                            const CollapseScratch& scratch) {
  const bool has_zero = pass.scores.a0 != pass.scores.a;
  if (pass.padded == 2 * kLanes<float>)
    return has_zero ? collapse_runs<PhiInRegisters<true>>(pass, first, last, rng, scratch)
                    : collapse_runs<PhiInRegisters<false>>(pass, first, last, rng, scratch);
  return has_zero ? collapse_runs<PhiInMemory<true>>(pass, first, last, rng, scratch)
                  : collapse_runs<PhiInMemory<false>>(pass, first, last, rng, scratch);
}

}  // namespace dcomp::DCOMP_ISA
