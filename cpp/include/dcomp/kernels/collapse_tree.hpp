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
template <class Count, class V, int NH, bool Own = false>
class TreeWalk {
  using Floats = typename V::Floats;

 public:
  explicit TreeWalk(CollapseCell& cell)
      : cell_(cell),
        tree_(*cell.pass.tree),
        factors_(tree_, cell.scratch.tree),
        feature_(cell),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        part_(cell.scratch.part) {
    fetch_ahead();
  }
  ~TreeWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return feature_.more(); }

  // A step of a token is these six, in this order.
  [[gnu::always_inline]] void measure() { factors_.measure(counts(), totals(), feature_.old()); }
  [[gnu::always_inline]] void spread() { factors_.settle(); }
  [[gnu::always_inline]] void scan() {
    const Count* c = counts();
    run_ = Floats{};
    const auto add = [&](std::int64_t k, Floats F) {
      run_ += (V::load(tree_.a + k) + V::load_counts(c + k)) * feature_.phi(k) * F;
      V::store(part_ + k, run_);
    };
    const std::int64_t first = tree_.H == 0 ? 0 : tree_.padded;
    for (std::int64_t k = 0; k < first; k += V::size) add(k, factors_.inner(k));
#pragma GCC unroll 4
    for (std::int64_t k = first; k < cell_.pass.padded; k += V::size) add(k, factors_.leaves(k));
  }
  [[gnu::always_inline]] void add_up() {
    const std::int64_t old = feature_.old();
    const float rest = static_cast<float>(counts()[old]) - 1;
    const float own = (tree_.a[old] + rest) * factors_.at(old) * feature_.phi_old();
    up_to_ = V::running_sum(run_);
    const float weight = V::last(up_to_) + own;
    u_ = uniforms_.next() * weight - own;
    log_words_.times(static_cast<double>(weight));
  }
  [[gnu::always_inline]] void draw() {
    k_ = select(u_, feature_.old(), V::place(part_, cell_.pass.padded, run_, up_to_, u_));
    // Rounding may lead to where there is no node; every node has some weight, and one is last.
    if (k_ >= cell_.pass.K || !(tree_.a[k_] > 0)) k_ = cell_.pass.K - 1;
  }
  [[gnu::always_inline]] bool settle() {
    Count* c = counts();
    --c[feature_.old()];
    ++c[k_];
    std::int32_t* S = totals();
    const std::int32_t *before = path_of(feature_.old()), *after = path_of(k_);
    for (std::int64_t h = 0; h < tree_.padded; h += V::size)
      *reinterpret_cast<Ints<V>*>(S + h) =
          load_ints<V>(S + h) - load_ints<V>(before + h) + load_ints<V>(after + h);
    if (!feature_.settle(k_)) return false;
    fetch_ahead();
    return true;
  }

 private:
  [[gnu::always_inline]] Count* counts() const {
    return static_cast<Count*>(cell_.pass.c) + feature_.document() * cell_.pass.padded;
  }
  [[gnu::always_inline]] std::int32_t* totals() const {
    return tree_.S + feature_.document() * tree_.padded;
  }
  [[gnu::always_inline]] const std::int32_t* path_of(std::int64_t k) const {
    return tree_.path + k * tree_.padded;
  }

  [[gnu::always_inline]] void fetch_ahead() const {
    const std::int64_t ahead = feature_.document_ahead(), padded = cell_.pass.padded;
    if (ahead < 0) return;
    prefetch_row(static_cast<const Count*>(cell_.pass.c) + ahead * padded, padded);
    prefetch_row(tree_.S + ahead * tree_.padded, tree_.padded);
  }

  CollapseCell& cell_;
  const TreeWeights& tree_;
  TreeFactors<V, NH> factors_;
  FeatureSide<V, 0, Own> feature_;
  Uniforms uniforms_;
  LogProduct log_words_;
  float* part_;
  // Between the parts of a step:
  Floats run_{}, up_to_{};
  std::int64_t k_ = 0;
  float u_ = 0;
};

template <class Count>
inline void collapse_tree_counts(CollapseCell* cells, int count) {
  // Without permutations of whole vectors, memory is the faster way.
  const TreeWeights& tree = *cells[0].pass.tree;
  if (cells[0].pass.own_gamma != nullptr)
    return walk_cells<TreeWalk<Count, Wide, 0, true>>(cells, count);
  const std::int64_t vectors = kVectorBytes > 16 && tree.H > 0 ? tree.padded / Wide::size : 5;
  if (vectors == 1) return walk_cells<TreeWalk<Count, Wide, 1>>(cells, count);
  if (vectors == 2) return walk_cells<TreeWalk<Count, Wide, 2>>(cells, count);
  if (vectors == 3) return walk_cells<TreeWalk<Count, Wide, 3>>(cells, count);
  if (vectors == 4) return walk_cells<TreeWalk<Count, Wide, 4>>(cells, count);
  return walk_cells<TreeWalk<Count, Wide, 0>>(cells, count);
}

inline void collapse_trees(CollapseCell* cells, int count) {
  return cells[0].pass.narrow_counts ? collapse_tree_counts<std::uint16_t>(cells, count)
                                     : collapse_tree_counts<std::int32_t>(cells, count);
}

}  // namespace dcomp::DCOMP_ISA
