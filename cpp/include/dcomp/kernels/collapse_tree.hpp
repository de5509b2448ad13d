// Rao-Blackwellised Gibbs sampling with scores from a tree of components: BJ04 3.4, MODELS.md
// section 3.
//
// The document's side of a weight is E[m_k | c], the product of the path's ratios. With S the
// subtree totals, D = S - c, and at each internal node p
//   reach_p  the product up to p (1 at the root),
//   G_p = reach_p (a2_p + D_p) / ((a1_p + a2_p + S_p) (b_total_p + D_p)),
// it is G_parent(k) (b_k + c_k) for a leaf and reach_k (a1_k + c_k) / (a1_k + a2_k + S_k) for an
// internal node: one factor F_k times (a_k + c_k), as for the flat priors, where F is the same for
// all leaves of a parent. A token changes S on its path alone; what S decides is found for all
// internal nodes at once (kernels/tree_factors.hpp). The weights add up to p(word | all the rest).
#pragma once

#include "dcomp/kernels/collapse.hpp"
#include "dcomp/kernels/tree_factors.hpp"

namespace dcomp::DCOMP_ISA {

// The tokens of one cell, a step each, as DenseWalk has them.
template <class Count, class V, int NH>
class TreeWalk {
  using Floats = typename V::Floats;

 public:
  explicit TreeWalk(CollapseCell& cell)
      : cell_(cell),
        tree_(*cell.pass.tree),
        factors_(tree_, cell.scratch.tree),
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
  ~TreeWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return t_ < end_; }

  // A step of a token is these six, in this order.
  [[gnu::always_inline]] void measure() { factors_.measure(counts(), totals(), old_); }
  [[gnu::always_inline]] void spread() { factors_.settle(); }
  [[gnu::always_inline]] void scan() {
    const Count* c = counts();
    run_ = Floats{};
    const auto add = [&](std::int64_t k, Floats F) {
      run_ += (V::load(tree_.a + k) + V::load_counts(c + k)) * phi_.at(k) * F;
      V::store(part_ + k, run_);
    };
    const std::int64_t first = tree_.H == 0 ? 0 : tree_.padded;
    for (std::int64_t k = 0; k < first; k += V::size) add(k, factors_.inner(k));
#pragma GCC unroll 4
    for (std::int64_t k = first; k < cell_.pass.padded; k += V::size) add(k, factors_.leaves(k));
  }
  [[gnu::always_inline]] void add_up() {
    const float rest = static_cast<float>(counts()[old_]) - 1;
    const float own = (tree_.a[old_] + rest) * factors_.at(old_) * phi_old_;
    up_to_ = V::running_sum(run_);
    const float weight = V::last(up_to_) + own;
    u_ = uniforms_.next() * weight - own;
    log_words_.times(static_cast<double>(weight));
  }
  [[gnu::always_inline]] void draw() {
    k_ = select(u_, old_, V::place(part_, cell_.pass.padded, run_, up_to_, u_));
    // Rounding may lead to where there is no node; every node has some weight, and one is last.
    if (k_ >= cell_.pass.K || !(tree_.a[k_] > 0)) k_ = cell_.pass.K - 1;
  }
  [[gnu::always_inline]] bool settle() {
    Count* c = counts();
    --c[old_];
    ++c[k_];
    std::int32_t* S = totals();
    const std::int32_t *before = path_of(old_), *after = path_of(k_);
    for (std::int64_t h = 0; h < tree_.padded; h += V::size)
      *reinterpret_cast<Ints<V>*>(S + h) =
          load_ints<V>(S + h) - load_ints<V>(before + h) + load_ints<V>(after + h);
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
  [[gnu::always_inline]] std::int32_t* totals() const { return tree_.S + document_ * tree_.padded; }
  [[gnu::always_inline]] const std::int32_t* path_of(std::int64_t k) const {
    return tree_.path + k * tree_.padded;
  }

  // Takes token t_ out of the feature's counts, as in DenseWalk; the document's are left.
  [[gnu::always_inline]] void take() {
    const CollapsePass& pass = cell_.pass;
    document_ = pass.document[t_];
    old_ = pass.z[t_];
    --n_[old_], --total_[old_];
    phi_old_ = refreshed(old_);
    phi_.set(old_, 0);
    if (t_ + kAhead < last_token_) {
      const std::int64_t ahead = pass.document[t_ + kAhead];
      prefetch_row(static_cast<const Count*>(pass.c) + ahead * pass.padded, pass.padded);
      prefetch_row(tree_.S + ahead * tree_.padded, tree_.padded);
    }
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
    for (std::int64_t k = 0; k < pass.padded; k += V::size)
      phi_.fill(k, (gamma_ + V::load_counts(n_ + k)) * V::load(inverse_ + k), pass.K);
    if (++next_run_ + kRunsAhead < cell_.last)
      prefetch_row(pass.n + next_run_[kRunsAhead].feature * pass.padded, pass.padded);
  }

  CollapseCell& cell_;
  const TreeWeights& tree_;
  TreeFactors<V, NH> factors_;
  Uniforms uniforms_;
  LogProduct log_words_;
  PhiRow<V, 0> phi_;
  float *part_, *inverse_;
  const TokenCells::Run* next_run_;
  std::int64_t t_ = 0, end_ = 0, last_token_ = 0, block_ = -1, document_ = 0, old_ = 0;
  std::int32_t *n_ = nullptr, *total_ = nullptr;
  float gamma_ = 0, gamma_total_ = 0, phi_old_ = 0;
  // Between the parts of a step:
  Floats run_{}, up_to_{};
  std::int64_t k_ = 0;
  float u_ = 0;
};

// All tokens of up to kTogether cells, each part of a step for all of them before the next.
template <class Walk>
inline void walk_trees(CollapseCell* cells, int count) {
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
    for (int w = 0; w < active; ++w) walks[w]->measure();
    for (int w = 0; w < active; ++w) walks[w]->spread();
    for (int w = 0; w < active; ++w) walks[w]->scan();
    for (int w = 0; w < active; ++w) walks[w]->add_up();
    for (int w = 0; w < active; ++w) walks[w]->draw();
    bool ended = false;
    for (int w = 0; w < active; ++w) ended |= !walks[w]->settle();
    if (ended) retire();
  }
  for (int w = 0; w < count; ++w) reinterpret_cast<Walk*>(room[w])->~Walk();
}

template <class Count>
inline void collapse_tree_counts(CollapseCell* cells, int count) {
  // Without permutations of whole vectors, memory is the faster way.
  const TreeWeights& tree = *cells[0].pass.tree;
  const std::int64_t vectors = kVectorBytes > 16 && tree.H > 0 ? tree.padded / Wide::size : 5;
  if (vectors == 1) return walk_trees<TreeWalk<Count, Wide, 1>>(cells, count);
  if (vectors == 2) return walk_trees<TreeWalk<Count, Wide, 2>>(cells, count);
  if (vectors == 3) return walk_trees<TreeWalk<Count, Wide, 3>>(cells, count);
  if (vectors == 4) return walk_trees<TreeWalk<Count, Wide, 4>>(cells, count);
  return walk_trees<TreeWalk<Count, Wide, 0>>(cells, count);
}

inline void collapse_trees(CollapseCell* cells, int count) {
  return cells[0].pass.narrow_counts ? collapse_tree_counts<std::uint16_t>(cells, count)
                                     : collapse_tree_counts<std::int32_t>(cells, count);
}

}  // namespace dcomp::DCOMP_ISA
