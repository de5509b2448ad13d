// What the collapsed sampler's dense kernels share: the feature's side of a weight, and the walk
// through the tokens of a few cells at a time.
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

namespace dcomp::DCOMP_ISA {

// How far ahead rows are fetched from memory. The tokens of a cell lie one run after the other.
inline constexpr std::int64_t kAhead = 4, kRunsAhead = 2;

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

// The tokens of one cell, one at a time, each taken out of n and N while it is at hand: phi_jk =
// (gamma_j + n_jk) / (Gamma_g + N_gk). V: the vectors; NV: how many hold a row, 0 for any number.
// Own: components have priors of their own, (gamma_jk + n_jk) / (Gamma_gk + N_gk).
template <class V, int NV, bool Own = false>
class FeatureSide {
 public:
  explicit FeatureSide(CollapseCell& cell)
      : cell_(cell), phi_(cell.scratch.phi), inverse_(cell.scratch.inverse), next_run_(cell.first) {
    if (next_run_ == cell_.last) return;
    last_token_ = cell_.last[-1].end;
    begin_run();
    take();
  }

  bool more() const { return t_ < end_; }

  // Of the token at hand: its document, and the component that it had.
  [[gnu::always_inline]] std::int64_t document() const { return document_; }
  [[gnu::always_inline]] std::int64_t old() const { return old_; }
  // The document of a token to come, -1 near the end.
  [[gnu::always_inline]] std::int64_t document_ahead() const {
    return t_ + kAhead < last_token_ ? cell_.pass.document[t_ + kAhead] : -1;
  }

  // phi of all components but the token's own, for `length` of them; and of that one.
  [[gnu::always_inline]] std::int64_t length() const { return phi_.length(cell_.pass.padded); }
  [[gnu::always_inline]] typename V::Floats phi(std::int64_t k) const { return phi_.at(k); }
  [[gnu::always_inline]] float phi_old() const { return phi_old_; }

  // Gives the token component k and goes on to the next; false if there is none.
  [[gnu::always_inline]] bool settle(std::int64_t k) {
    phi_.set(old_, phi_old_);
    ++n_[k], ++total_[k];
    phi_.set(k, refreshed(k));
    cell_.pass.z[t_] = static_cast<std::uint16_t>(k);
    if (++t_ == end_) {
      if (next_run_ == cell_.last) return false;
      begin_run();
    }
    take();
    return true;
  }

 private:
  // Takes token t_ out of the feature's counts. Its component has no weight among the others; what
  // it has stands in phi_old_. The document's counts are left for the draw.
  [[gnu::always_inline]] void take() {
    document_ = cell_.pass.document[t_];
    old_ = cell_.pass.z[t_];
    --n_[old_], --total_[old_];
    phi_old_ = refreshed(old_);
    phi_.set(old_, 0);
  }

  [[gnu::always_inline]] float gamma_of(std::int64_t k) const {
    if constexpr (Own) return own_gamma_[k];
    return gamma_;
  }
  [[gnu::always_inline]] float gamma_total_of(std::int64_t k) const {
    if constexpr (Own) return own_total_[k];
    return gamma_total_;
  }
  // The same of a vector of components.
  [[gnu::always_inline]] auto gammas_of(std::int64_t k) const {
    if constexpr (Own)
      return V::load(own_gamma_ + k);
    else
      return gamma_;
  }
  [[gnu::always_inline]] auto gamma_totals_of(std::int64_t k) const {
    if constexpr (Own)
      return V::load(own_total_ + k);
    else
      return gamma_total_;
  }

  [[gnu::always_inline]] float refreshed(std::int64_t k) {
    const float inverse = 1 / (gamma_total_of(k) + static_cast<float>(total_[k]));
    inverse_[k] = inverse;
    return (gamma_of(k) + static_cast<float>(n_[k])) * inverse;
  }

  [[gnu::always_inline]] void begin_run() {
    const CollapsePass& pass = cell_.pass;
    const std::int64_t j = next_run_->feature, g = pass.block[j];
    stop_point((next_run_->end - next_run_->begin) * pass.padded);
    t_ = next_run_->begin;
    end_ = next_run_->end;
    n_ = pass.n + j * pass.padded;
    total_ = pass.total + g * pass.padded;
    if constexpr (Own) {
      own_gamma_ = pass.own_gamma + j * pass.padded;
      own_total_ = pass.own_total + g * pass.padded;
    } else {
      gamma_ = static_cast<float>(pass.gamma[j]);
      gamma_total_ = static_cast<float>(pass.gamma_total[g]);
    }
    if (g != block_) {
      block_ = g;
      for (std::int64_t k = 0; k < pass.padded; k += V::size)
        V::store(inverse_ + k, 1 / (gamma_totals_of(k) + V::load_counts(total_ + k)));
    }
    for (std::int64_t k = 0; k < length(); k += V::size)
      phi_.fill(k, (gammas_of(k) + V::load_counts(n_ + k)) * V::load(inverse_ + k), pass.K);
    if (++next_run_ + kRunsAhead < cell_.last)
      prefetch_row(pass.n + next_run_[kRunsAhead].feature * pass.padded, pass.padded);
  }

  CollapseCell& cell_;
  PhiRow<V, NV> phi_;
  float* inverse_;
  const TokenCells::Run* next_run_;
  std::int64_t t_ = 0, end_ = 0, last_token_ = 0, block_ = -1, document_ = 0, old_ = 0;
  std::int32_t *n_ = nullptr, *total_ = nullptr;
  float gamma_ = 0, gamma_total_ = 0, phi_old_ = 0;
  const float *own_gamma_ = nullptr, *own_total_ = nullptr;
};

// All tokens of up to kTogether cells, each part of a step for all of them before the next.
template <class Walk>
inline void walk_cells(CollapseCell* cells, int count) {
  alignas(Walk) unsigned char room[kTogether][sizeof(Walk)];
  Walk* walks[kTogether];
  for (int w = 0; w < count; ++w) walks[w] = new (room[w]) Walk(cells[w]);
  int active = count;
  const auto retire = [&] {
    for (int w = 0; w < active;)
      if (walks[w]->more())
        ++w;
      else
        walks[w] = walks[--active];
  };
  retire();
  while (active > 0) {
    if constexpr (requires(Walk walk) { walk.measure(), walk.spread(); }) {
      for (int w = 0; w < active; ++w) walks[w]->measure();
      for (int w = 0; w < active; ++w) walks[w]->spread();
    }
    for (int w = 0; w < active; ++w) walks[w]->scan();
    for (int w = 0; w < active; ++w) walks[w]->add_up();
    for (int w = 0; w < active; ++w) walks[w]->draw();
    bool ended = false;
    for (int w = 0; w < active; ++w) ended |= !walks[w]->settle();
    if (ended) retire();
  }
  for (int w = 0; w < count; ++w) reinterpret_cast<Walk*>(room[w])->~Walk();
}

}  // namespace dcomp::DCOMP_ISA
