// The same sampler for many components: its cost follows the components that a document uses.
//
// The weight of a component splits into two parts,
//   F a0 phi                      the same for every document: kept for a run of one feature
//   F (a - a0 + c) phi, c > 0     only the components of the document's list
// A token changes two entries of the first part, so its total and the sums of its blocks of
// kBlock components are kept up to date; the second part is summed anew. The draw is exact.
#pragma once

#include "dcomp/kernels/collapse.hpp"

namespace dcomp::DCOMP_ISA {

inline constexpr std::int64_t kBlock = 32;

// The first part: weights in scratch.part, sums of blocks in scratch.block.
struct SharedPart {
  float *weight, *block;
  const ScoreWeights& at;
  double total = 0;

  void fill(const float* phi, std::int64_t padded) {
    constexpr int lanes = kLanes<float>;
    total = 0;
    for (std::int64_t begin = 0; begin < padded; begin += kBlock) {
      const std::int64_t end = begin + kBlock < padded ? begin + kBlock : padded;
      Vec<float> sums{};
      for (std::int64_t k = begin; k < end; k += lanes) {
        const Vec<float> value = load(at.a0 + k) * load(at.F + k) * load(phi + k);
        store<float>(weight + k, value);
        sums += value;
      }
      block[begin / kBlock] = sum<float>(sums);
      total += static_cast<double>(block[begin / kBlock]);
    }
  }
  void set(std::int64_t k, float phi) {
    const float value = at.a0[k] * at.F[k] * phi, change = value - weight[k];
    weight[k] = value;
    block[k / kBlock] += change;
    total += static_cast<double>(change);
  }
  std::int64_t find(float u, std::int64_t K) const {
    const std::int64_t last = (K - 1) / kBlock;
    std::int64_t b = 0;
    for (; b < last && !(u < block[b]); ++b) u -= block[b];
    std::int64_t k = b * kBlock;
    const std::int64_t end = k + kBlock < K ? k + kBlock : K;
    while (k + 1 < end && !(u < weight[k])) u -= weight[k++];
    return k;
  }
};

inline std::int64_t where(const std::uint16_t* topic, std::int64_t size, std::int64_t k) {
  std::int64_t q = 0;
  while (q < size && topic[q] != k) ++q;
  return q;
}

// The second part of the document's own components: fills `own`, and sums of its vectors in `sums`
// for the search. `Plain`: no score can be zero and F is the same for all, as for DM.
template <bool Plain>
inline TokenSums own_part(const ScoreWeights& at, const float* __restrict phi,
                          const std::uint16_t* __restrict topic,
                          const std::int32_t* __restrict count, std::int64_t size,
                          float* __restrict own, float* __restrict sums) {
  constexpr int lanes = kLanes<float>;
  float scores = 0;
  if constexpr (Plain) {
    std::int32_t tokens = 0;
    for (std::int64_t q = 0; q < size; ++q) {
      own[q] = static_cast<float>(count[q]) * phi[topic[q]];
      tokens += count[q];
    }
    scores = at.F[0] * static_cast<float>(tokens);
  } else {
    for (std::int64_t q = 0; q < size; ++q) {
      const std::int64_t k = topic[q];
      const float s = at.F[k] * (at.a[k] - at.a0[k] + static_cast<float>(count[q]));
      scores += s;
      own[q] = s * phi[k];
    }
  }
  std::int64_t end = size;
  for (; end % lanes != 0; ++end) own[end] = 0;
  float weight = 0;
  for (std::int64_t q = 0; q < end; q += lanes)
    weight += sums[q / lanes] = sum<float>(load(own + q));
  return {Plain ? at.F[0] * weight : weight, scores};
}

// The place of u in `own`, by its vectors' sums first.
inline std::int64_t find_own(const float* own, const float* sums, std::int64_t size, float u) {
  constexpr int lanes = kLanes<float>;
  const std::int64_t last = (size - 1) / lanes;
  std::int64_t v = 0;
  for (; v < last && !(u < sums[v]); ++v) u -= sums[v];
  std::int64_t q = v * lanes;
  while (q + 1 < size && !(u < own[q])) u -= own[q++];
  return q;
}

template <bool Plain>
inline double collapse_runs_sparse(const CollapsePass& pass, const TokenCells::Run* first,
                                   const TokenCells::Run* last, Stream& rng,
                                   const CollapseScratch& scratch) {
  const std::int64_t padded = pass.padded, K = pass.K;
  const ScoreWeights at = pass.scores;
  const ComponentLists lists = pass.lists;
  float *phi = scratch.phi, *own = scratch.own;
  SharedPart shared{scratch.part, scratch.block, at};
  double sum_shared = 0;
  for (std::int64_t k = 0; k < K; ++k)
    sum_shared += static_cast<double>(at.a0[k]) * static_cast<double>(at.F[k]);
  double log_words = 0, product = 1;
  for (const TokenCells::Run* r = first; r != last; ++r) {
    const std::int64_t j = r->feature, g = pass.block[j];
    const RunView run{static_cast<float>(pass.gamma[j]),
                      static_cast<float>(pass.gamma_total[g]),
                      pass.n + j * padded,
                      pass.total + g * padded,
                      K,
                      padded};
    fill_phi(run, phi);
    shared.fill(phi, padded);
    for (std::int64_t t = r->begin; t < r->end; ++t) {
      const std::int64_t i = pass.document[t], old = pass.z[t];
      if (t + 4 < r->end) {
        const std::int64_t next = lists.start[pass.document[t + 4]];
        __builtin_prefetch(lists.topic + next);
        __builtin_prefetch(lists.count + next);
      }
      std::uint16_t* topic = lists.topic + lists.start[i];
      std::int32_t* count = lists.count + lists.start[i];
      std::int32_t& size = lists.size[i];
      const std::int64_t at_old = where(topic, size, old);
      if (--count[at_old] == 0) {
        --size;
        topic[at_old] = topic[size];
        count[at_old] = count[size];
      }
      --run.n[old], --run.total[old];
      shared.set(old, phi[old] = run.phi(old));
      const TokenSums sums = own_part<Plain>(at, phi, topic, count, size, own, scratch.sums);
      const double weight = static_cast<double>(sums.weight) + shared.total;
      auto u = static_cast<float>(rng.uniform32() * weight);
      std::int64_t q = 0, k = 0;
      if (u < sums.weight && size > 0) {
        q = find_own(own, scratch.sums, size, Plain ? u / at.F[0] : u);
        k = topic[q];
      } else {
        k = shared.find(u - sums.weight, K);
        q = where(topic, size, k);
      }
      if (q == size) {
        topic[size] = static_cast<std::uint16_t>(k);
        count[size++] = 0;
      }
      ++count[q], ++run.n[k], ++run.total[k];
      shared.set(k, phi[k] = run.phi(k));
      pass.z[t] = static_cast<std::uint16_t>(k);
      product *= weight / (static_cast<double>(sums.scores) + sum_shared);
      if (product < 1e-200) {
        log_words += log<double>(broadcast<double>(product))[0];
        product = 1;
      }
    }
  }
  return log_words + log<double>(broadcast<double>(product))[0];
}

inline double collapse_cell_sparse(const CollapsePass& pass, const TokenCells::Run* first,
                                   const TokenCells::Run* last, Stream& rng,
                                   const CollapseScratch& scratch) {
  bool plain = pass.scores.a0 == pass.scores.a;
  for (std::int64_t k = 1; k < pass.K; ++k) plain &= pass.scores.F[k] == pass.scores.F[0];
  return plain ? collapse_runs_sparse<true>(pass, first, last, rng, scratch)
               : collapse_runs_sparse<false>(pass, first, last, rng, scratch);
}

}  // namespace dcomp::DCOMP_ISA
