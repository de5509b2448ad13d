// Rao-Blackwellised Gibbs sampling, one token at a time: BJ06 figure 7, table IV.
//
// The weight of component k for a token of feature j in document i is
//   s_ik phi_jk,  phi_jk = (gamma_j + n_jk) / (Gamma_g + N_gk),
//   s_ik = F_k (a_k + c_ik) if c_ik > 0, F_k a0_k if c_ik = 0,
// with all counts without the token. DM has a0 = a = alpha and F = 1; GP has F = 1 / (beta + e);
// CGP has a0 = (1 - q0) alpha (MODELS.md section 3). So one kernel serves the three priors.
// `Plain` is the case a0 = a, F the same for all k and i: F then falls out of the draw, and the sum
// of the s_ik is known from the document's length, so the caller adds its log.
#pragma once

#include "dcomp/kernels/collapse_feature.hpp"
#include "dcomp/kernels/uniforms.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

[[gnu::noinline]] inline double log_of(double x) { return log<double>(broadcast<double>(x))[0]; }

// log of a product of many numbers, one log now and then.
class LogProduct {
 public:
  [[gnu::always_inline]] void times(double value) {
    product_ *= value;
    if (product_ < 1e-200 || product_ > 1e200) take();
  }
  double log_sum() {
    take();
    return sum_;
  }

 private:
  void take() {
    sum_ += log_of(product_);
    product_ = 1;
  }
  double sum_ = 0, product_ = 1;
};

// `below` where u < 0, else `other`: without a branch, which no processor could predict.
[[gnu::always_inline]] inline std::int64_t select(float u, std::int64_t below, std::int64_t other) {
  const std::int64_t mask = __builtin_bit_cast(std::int32_t, u) >> 31;
  return (below & mask) | (other & ~mask);
}

// The document's side of a weight, for one component and for a vector of them.
template <bool Plain>
[[gnu::always_inline]] inline float score_of(const ScoreWeights& at, std::int64_t k, float count) {
  if constexpr (Plain) return at.a[k] + count;
  return (count > 0 ? at.a[k] + count : at.a0[k]) * at.F[k];
}
template <class V, bool Plain>
[[gnu::always_inline]] inline typename V::Floats scores_of(const ScoreWeights& at, std::int64_t k,
                                                           typename V::Floats count) {
  if constexpr (Plain) return V::load(at.a + k) + count;
  return (count > 0 ? V::load(at.a + k) + count : V::load(at.a0 + k)) * V::load(at.F + k);
}

// The tokens of one cell, a step each. V: the vectors; NV: how many hold a row, 0 for any number.
// Own: of the priors of components, as FeatureSide has it.
template <class Count, class V, int NV, bool Plain, bool Own = false>
class DenseWalk {
 public:
  explicit DenseWalk(CollapseCell& cell)
      : cell_(cell),
        feature_(cell),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        part_(cell.scratch.part) {
    fetch_ahead();
  }
  ~DenseWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return feature_.more(); }

  // A step of a token is these four, in this order.
  [[gnu::always_inline]] void scan() {
    const ScoreWeights at = weights();
    const Count* c = counts();
    length_ = feature_.length();
    run_ = scores_ = typename V::Floats{};
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < length_; k += V::size) {
      const typename V::Floats s = scores_of<V, Plain>(at, k, V::load_counts(c + k));
      if constexpr (!Plain) scores_ += s;
      run_ += s * feature_.phi(k);
      V::store(part_ + k, run_);
    }
  }
  [[gnu::always_inline]] void add_up() {
    const ScoreWeights at = weights();
    const std::int64_t old = feature_.old();
    const auto before = static_cast<float>(counts()[old]);
    const float score_old = score_of<Plain>(at, old, before - 1);
    const float own = score_old * feature_.phi_old();
    up_to_ = V::running_sum(run_);
    const float weight = V::last(up_to_) + own;
    u_ = uniforms_.next() * weight - own;
    if constexpr (Plain) {
      log_words_.times(static_cast<double>(weight));
    } else {
      const float all = V::last(V::running_sum(scores_));
      const float without = all - score_of<Plain>(at, old, before) + score_old;
      log_words_.times(static_cast<double>(weight / without));
    }
  }
  [[gnu::always_inline]] void draw() {
    const std::int64_t old = feature_.old();
    k_ = select(u_, old, V::place(part_, length_, run_, up_to_, u_));
    const ScoreWeights at = weights();
    if (k_ >= cell_.pass.K || (!Plain && k_ != old && !(counts()[k_] > 0 || at.a0[k_] > 0)))
      k_ = place_of_weight(at, counts());
  }
  [[gnu::always_inline]] bool settle() {
    Count* c = counts();
    --c[feature_.old()];
    ++c[k_];
    if (!feature_.settle(k_)) return false;
    fetch_ahead();
    return true;
  }

 private:
  [[gnu::always_inline]] Count* counts() const {
    return static_cast<Count*>(cell_.pass.c) + feature_.document() * cell_.pass.padded;
  }
  [[gnu::always_inline]] ScoreWeights weights() const {
    const ScoreWeights& all = cell_.pass.scores;
    const std::int64_t row = Plain ? 0 : feature_.document() * all.stride;
    return {all.a0 + row, all.a + row, all.F + row, 0};
  }

  [[gnu::always_inline]] void fetch_ahead() const {
    const std::int64_t ahead = feature_.document_ahead(), padded = cell_.pass.padded;
    if (ahead >= 0) prefetch_row(static_cast<const Count*>(cell_.pass.c) + ahead * padded, padded);
  }

  // Where rounding led a draw to a component of no weight: the last that has some.
  [[gnu::noinline]] std::int64_t place_of_weight(const ScoreWeights& at, const Count* c) const {
    for (std::int64_t k = cell_.pass.K - 1; k >= 0; --k)
      if (k != feature_.old() && (c[k] > 0 || at.a0[k] > 0)) return k;
    return feature_.old();
  }

  CollapseCell& cell_;
  FeatureSide<V, NV, Own> feature_;
  Uniforms uniforms_;
  LogProduct log_words_;
  float* part_;
  // Between the parts of a step:
  typename V::Floats run_{}, up_to_{}, scores_{};
  std::int64_t length_ = 0, k_ = 0;
  float u_ = 0;
};

template <class Count, bool Plain>
inline void collapse_counts(CollapseCell* cells, int count) {
  if (cells[0].pass.own_gamma != nullptr)
    return walk_cells<DenseWalk<Count, Wide, 0, Plain, true>>(cells, count);
  switch ((cells[0].pass.K + Narrow::size - 1) / Narrow::size) {
    case 1:
      return walk_cells<DenseWalk<Count, Narrow, 1, Plain>>(cells, count);
    case 2:
      return walk_cells<DenseWalk<Count, Narrow, 2, Plain>>(cells, count);
    case 3:
      return walk_cells<DenseWalk<Count, Narrow, 3, Plain>>(cells, count);
    case 4:
      return walk_cells<DenseWalk<Count, Narrow, 4, Plain>>(cells, count);
    default:
      return walk_cells<DenseWalk<Count, Wide, 0, Plain>>(cells, count);
  }
}

template <bool Plain>
inline void collapse_cells(CollapseCell* cells, int count) {
  return cells[0].pass.narrow_counts ? collapse_counts<std::uint16_t, Plain>(cells, count)
                                     : collapse_counts<std::int32_t, Plain>(cells, count);
}

}  // namespace dcomp::DCOMP_ISA
