// Rao-Blackwellised Gibbs sampling, one token at a time: BJ06 figure 7, table IV.
//
// The weight of component k for a token of feature j in document i is
//   s_ik phi_jk,  phi_jk = (gamma_j + n_jk) / (Gamma_g + N_gk),
//   s_ik = F_k (a_k + c_ik) if c_ik > 0, F_k a0_k if c_ik = 0,
// with all counts without the token. DM has a0 = a = alpha and F = 1; GP has F = 1 / (beta + e);
// CGP has a0 = (1 - q0) alpha (MODELS.md section 3). So one kernel serves the three priors.
// `Plain` is the case a0 = a, F the same for all k and i: F then falls out of the draw, and the sum
// of the s_ik is known from the document's length, so the caller adds its log.
//
// Two things keep the processor busy. A token's draw waits for the one before it, but not for the
// tokens of other cells: a few cells are walked side by side, each part of a step for all of them
// before the next part. And a number that has just been stored alone stalls the vector load that
// reads it: so the next token is taken out of the counts as soon as the last one is in, before the
// other cells' turns, and its own component is weighed apart.
#pragma once

#include <new>

#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/kernels/lanes.hpp"
#include "dcomp/kernels/rows.hpp"
#include "dcomp/kernels/uniforms.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// How far ahead rows are fetched from memory. The tokens of a cell lie one run after the other.
inline constexpr std::int64_t kAhead = 4, kRunsAhead = 2;

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

// phi of the feature at hand: in NV registers, or in memory for any number of vectors.
template <class V, int NV>
class PhiRow {
  using Floats = typename V::Floats;

 public:
  explicit PhiRow(float*) {
    for (int q = 0; q < V::size; ++q) id_[q] = static_cast<float>(q);
  }
  static constexpr std::int64_t length(std::int64_t) { return NV * V::size; }
  [[gnu::always_inline]] Floats at(std::int64_t k) const { return phi_[k / V::size]; }
  [[gnu::always_inline]] void set(std::int64_t k, float value) {
    for (int v = 0; v < NV; ++v)
      phi_[v] = id_ == static_cast<float>(k - v * V::size) ? value - Floats{} : phi_[v];
  }
  [[gnu::always_inline]] void fill(std::int64_t k, Floats phi, std::int64_t K) {
    phi_[k / V::size] = id_ < static_cast<float>(K - k) ? phi : Floats{};
  }

 private:
  Floats phi_[NV]{}, id_{};
};
template <class V>
class PhiRow<V, 0> {
 public:
  explicit PhiRow(float* phi) : phi_(phi) {}
  static std::int64_t length(std::int64_t padded) { return padded; }
  [[gnu::always_inline]] typename V::Floats at(std::int64_t k) const { return V::load(phi_ + k); }
  [[gnu::always_inline]] void set(std::int64_t k, float value) { phi_[k] = value; }
  [[gnu::always_inline]] void fill(std::int64_t k, typename V::Floats phi, std::int64_t K) {
    V::store(phi_ + k, phi);
    for (std::int64_t past = K; past < k + V::size; ++past) phi_[past] = 0;
  }

 private:
  float* phi_;
};

// The tokens of one cell, a step each. V: the vectors; NV: how many hold a row, 0 for any number.
template <class Count, class V, int NV, bool Plain>
class DenseWalk {
 public:
  explicit DenseWalk(CollapseCell& cell)
      : cell_(cell),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        phi_(cell.scratch.phi),
        part_(cell.scratch.part),
        inverse_(cell.scratch.inverse),
        next_run_(cell.first) {
    if (next_run_ != cell_.last) {
      last_token_ = cell_.last[-1].end;
      begin_run();
      take();
    }
  }
  ~DenseWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return t_ < end_; }

  // A step of a token is these four, in this order.
  [[gnu::always_inline]] void scan() {
    const CollapsePass& pass = cell_.pass;
    const ScoreWeights at = weights();
    const Count* c = counts();
    length_ = phi_.length(pass.padded);
    run_ = scores_ = typename V::Floats{};
#pragma GCC unroll 4
    for (std::int64_t k = 0; k < length_; k += V::size) {
      const typename V::Floats s = scores_of<V, Plain>(at, k, V::load_counts(c + k));
      if constexpr (!Plain) scores_ += s;
      run_ += s * phi_.at(k);
      V::store(part_ + k, run_);
    }
  }
  [[gnu::always_inline]] void add_up() {
    const ScoreWeights at = weights();
    const auto before = static_cast<float>(counts()[old_]);
    const float score_old = score_of<Plain>(at, old_, before - 1), own = score_old * phi_old_;
    up_to_ = V::running_sum(run_);
    const float weight = V::last(up_to_) + own;
    u_ = uniforms_.next() * weight - own;
    if constexpr (Plain) {
      log_words_.times(static_cast<double>(weight));
    } else {
      const float all = V::last(V::running_sum(scores_));
      const float without = all - score_of<Plain>(at, old_, before) + score_old;
      log_words_.times(static_cast<double>(weight / without));
    }
  }
  [[gnu::always_inline]] void draw() {
    k_ = select(u_, old_, V::place(part_, length_, run_, up_to_, u_));
    const ScoreWeights at = weights();
    if (k_ >= cell_.pass.K || (!Plain && k_ != old_ && !(counts()[k_] > 0 || at.a0[k_] > 0)))
      k_ = place_of_weight(at, counts());
  }
  [[gnu::always_inline]] bool settle() {
    Count* c = counts();
    --c[old_];
    ++c[k_];
    phi_.set(old_, phi_old_);
    ++n_[k_], ++total_[k_];
    phi_.set(k_, refreshed(k_));
    cell_.pass.z[t_] = static_cast<std::uint16_t>(k_);
    if (++t_ == end_) {
      if (next_run_ == cell_.last) return false;
      begin_run();
    }
    take();
    return true;
  }

 private:
  [[gnu::always_inline]] Count* counts() const {
    return static_cast<Count*>(cell_.pass.c) + document_ * cell_.pass.padded;
  }
  [[gnu::always_inline]] ScoreWeights weights() const {
    const ScoreWeights& all = cell_.pass.scores;
    const std::int64_t row = Plain ? 0 : document_ * all.stride;
    return {all.a0 + row, all.a + row, all.F + row, 0};
  }

  // Takes token t_ out of the feature's counts. Its component has no weight among the others; what
  // it has stands in phi_old_. The document's count is left for the draw.
  [[gnu::always_inline]] void take() {
    const CollapsePass& pass = cell_.pass;
    document_ = pass.document[t_];
    old_ = pass.z[t_];
    --n_[old_], --total_[old_];
    phi_old_ = refreshed(old_);
    phi_.set(old_, 0);
    if (t_ + kAhead < last_token_)
      prefetch_row(static_cast<const Count*>(pass.c) + pass.document[t_ + kAhead] * pass.padded,
                   pass.padded);
  }

  [[gnu::always_inline]] float refreshed(std::int64_t k) {
    const float inverse = 1 / (gamma_total_ + static_cast<float>(total_[k]));
    inverse_[k] = inverse;
    return (gamma_ + static_cast<float>(n_[k])) * inverse;
  }

  [[gnu::always_inline]] void begin_run() {
    const CollapsePass& pass = cell_.pass;
    const std::int64_t j = next_run_->feature, g = pass.block[j];
    t_ = next_run_->begin;
    end_ = next_run_->end;
    n_ = pass.n + j * pass.padded;
    total_ = pass.total + g * pass.padded;
    gamma_ = static_cast<float>(pass.gamma[j]);
    gamma_total_ = static_cast<float>(pass.gamma_total[g]);
    if (g != block_) {
      block_ = g;
      for (std::int64_t k = 0; k < pass.padded; k += V::size)
        V::store(inverse_ + k, 1 / (gamma_total_ + V::load_counts(total_ + k)));
    }
    for (std::int64_t k = 0; k < phi_.length(pass.padded); k += V::size)
      phi_.fill(k, (gamma_ + V::load_counts(n_ + k)) * V::load(inverse_ + k), pass.K);
    if (++next_run_ + kRunsAhead < cell_.last)
      prefetch_row(pass.n + next_run_[kRunsAhead].feature * pass.padded, pass.padded);
  }

  // Where rounding led a draw to a component of no weight: the last that has some.
  [[gnu::noinline]] std::int64_t place_of_weight(const ScoreWeights& at, const Count* c) const {
    for (std::int64_t k = cell_.pass.K - 1; k >= 0; --k)
      if (k != old_ && (c[k] > 0 || at.a0[k] > 0)) return k;
    return old_;
  }

  CollapseCell& cell_;
  Uniforms uniforms_;
  LogProduct log_words_;
  PhiRow<V, NV> phi_;
  float *part_, *inverse_;
  const TokenCells::Run* next_run_;
  std::int64_t t_ = 0, end_ = 0, last_token_ = 0, block_ = -1, document_ = 0, old_ = 0;
  std::int32_t *n_ = nullptr, *total_ = nullptr;
  float gamma_ = 0, gamma_total_ = 0, phi_old_ = 0;
  // Between the parts of a step:
  typename V::Floats run_{}, up_to_{}, scores_{};
  std::int64_t length_ = 0, k_ = 0;
  float u_ = 0;
};

// All tokens of up to kTogether cells, each step of all of them before the next.
template <class Walk>
inline void walk_cells(CollapseCell* cells, int count) {
  alignas(Walk) unsigned char room[kTogether][sizeof(Walk)];
  Walk* walks[kTogether];
  for (int w = 0; w < count; ++w) walks[w] = new (room[w]) Walk(cells[w]);
  int active = count;
  for (int w = 0; w < active;)
    if (walks[w]->more())
      ++w;
    else
      walks[w] = walks[--active];
  while (active > 0) {
    for (int w = 0; w < active; ++w) walks[w]->scan();
    for (int w = 0; w < active; ++w) walks[w]->add_up();
    for (int w = 0; w < active; ++w) walks[w]->draw();
    bool ended = false;
    for (int w = 0; w < active; ++w) ended |= !walks[w]->settle();
    for (int w = 0; ended && w < active;)
      if (walks[w]->more())
        ++w;
      else
        walks[w] = walks[--active];
  }
  for (int w = 0; w < count; ++w) reinterpret_cast<Walk*>(room[w])->~Walk();
}

template <class Count, bool Plain>
inline void collapse_counts(CollapseCell* cells, int count) {
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
