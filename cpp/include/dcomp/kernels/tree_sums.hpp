// Sums over the subtrees of nodes that a document has no tokens in, for the sampler by lists.
//
// There the chances of all nodes below an internal node h are those of the prior, so that
//   W_l = b_l psi_l                                                 for a leaf,
//   W_h = b_h (a1_h psi_h + a2_h B_h / b_total_h) / (a1_h + a2_h)   for an internal node,
//   B_h = the sum of W over the children of h
// do not depend on the document: W_l / B_h is the chance of child l among those of h, with the word
// taken into account. psi_jk = (1 + n_jk / gamma_j) / (Gamma_g + N_gk) as in collapse_sparse.hpp.
// A token changes psi of two places, and through them what lies on their ways up to the root. What
// all features share, which is psi without n, is kept beside it: a run of another feature begins by
// what its own list adds to that. Doubles, because sums live on as weights come and go.
#pragma once

#include "dcomp/kernels/tree_weights.hpp"

namespace dcomp::DCOMP_ISA {

class SubtreeSums {
 public:
  // inverse (places): 1 / (Gamma_g + N_gk), kept by the caller.
  SubtreeSums(const TreeWeights& tree, std::int64_t n_places, const TreeListScratch& room,
              const float* inverse)
      : tree_(tree),
        n_places_(n_places),
        node_(room.node),
        W_(room.W),
        W_shared_(room.W_shared),
        marked_(room.marked),
        inverse_(inverse) {
    for (std::int64_t h = 0; h < tree.H; ++h) {
      const double a1 = tree.a[h], a2 = tree.a2[h], b = tree.b[h], b_total = tree.b_total[h];
      TreeNode& node = node_[h] = {};
      node.a1 = tree.a[h], node.a2 = tree.a2[h], node.a12 = tree.a12[h];
      node.b = tree.b[h], node.b_total = tree.b_total[h];
      node.stop = b * a1 / (a1 + a2);
      node.go = b * a2 / ((a1 + a2) * b_total);
      node.above = tree.above[h];
    }
    for (std::int64_t word = 0; word < tree_words(tree.H); ++word) marked_[word] = 0;
  }

  // Of a place other than the root.
  [[gnu::always_inline]] double W(std::int64_t k) const { return W_[k]; }

  // Everything, of no feature yet.
  void begin() {
    for (std::int64_t h = 0; h < tree_.H; ++h) node_[h].B = 0;
    for (std::int64_t k = tree_.padded; k < n_places_; ++k)
      node_[tree_.above[k]].B += W_[k] = leaf_weight(k, inverse_[k]);
    for (std::int64_t h = tree_.H - 1; h >= 0; --h) {
      TreeNode& node = node_[h];
      node.psi = inverse_[h];
      node.B_shared = node.B;
      W_shared_[h] = W_[h] = inner_weight(node, node.psi, node.B);
      if (h > 0) node_[node.above].B += W_[h];
    }
  }

  // psi of place k is another.
  [[gnu::always_inline]] void set(std::int64_t k, float psi) {
    double change;
    std::int64_t h = tree_.above[k];
    if (k < tree_.H) {
      change = node_[k].stop * (static_cast<double>(psi) - static_cast<double>(node_[k].psi));
      node_[k].psi = psi;
      if (k == 0) return;
      W_[k] += change;
    } else {
      const double W = leaf_weight(k, psi);
      change = W - W_[k];
      W_[k] = W;
    }
    for (;; h = node_[h].above) {
      node_[h].B += change;
      if (h == 0) return;
      change *= node_[h].go;
      W_[h] += change;
    }
  }

  // The same for the places of a feature's list, one after the other, and then `carry`.
  void load(std::int64_t k, float psi) {
    if (k < tree_.H) {
      node_[k].psi = psi;
      return mark(k);
    }
    const double W = leaf_weight(k, psi);
    node_[tree_.above[k]].B += W - W_[k];
    W_[k] = W;
    mark(tree_.above[k]);
  }
  void carry() {
    each_marked([&](std::int64_t h) {
      TreeNode& node = node_[h];
      const double W = inner_weight(node, node.psi, node.B);
      if (h > 0) node_[node.above].B += W - W_[h];
      W_[h] = W;
    });
  }

  // The way back, to what features share; and this follows the inverse of place k, which was
  // `before` when it was loaded. Then `restore`.
  void unload(std::int64_t k, float before) {
    if (k < tree_.H) {
      node_[k].psi = inverse_[k];
      return mark(k);
    }
    W_[k] = leaf_weight(k, inverse_[k]);
    node_[tree_.above[k]].B_shared += W_[k] - leaf_weight(k, before);
    mark(tree_.above[k]);
  }
  void restore() {
    each_marked([&](std::int64_t h) {
      TreeNode& node = node_[h];
      node.B = node.B_shared;
      W_[h] = inner_weight(node, inverse_[h], node.B);
      if (h > 0) node_[node.above].B_shared += W_[h] - W_shared_[h];
      W_shared_[h] = W_[h];
    });
  }

  // The place at or below internal node h, where the document has no token, of u in [0, W_h).
  std::int64_t find(std::int64_t h, double u) const {
    for (;;) {
      const TreeNode& node = node_[h];
      const double stays = node.stop * static_cast<double>(node.psi);
      if (u < stays) return h;
      u = (u - stays) / node.go;
      const std::int64_t k = find_child(h, &u, [](std::int64_t) { return false; });
      if (k >= tree_.H) return k;
      h = k;
    }
  }
  // The child of h of u, which is in [0, sum of W over those that `skip` does not leave out), and
  // in u what it leaves; the last of them where rounding leads past it, -1 where there is none.
  template <class Skip>
  std::int64_t find_child(std::int64_t h, double* u, const Skip& skip) const {
    const TreeChildren& of = tree_.children[h];
    std::int64_t last = -1;
    for (std::int64_t k = of.inner; k < of.inner_end; ++k) {
      if (skip(k)) continue;
      last = k;
      if (*u < W_[k]) return k;
      *u -= W_[k];
    }
    for (std::int64_t k = of.leaf; k < of.leaf_end; ++k) {
      last = k;
      if (*u < W_[k]) return k;
      *u -= W_[k];
    }
    *u = 0;
    return last;
  }

 private:
  [[gnu::always_inline]] double leaf_weight(std::int64_t k, float psi) const {
    return static_cast<double>(tree_.a[k]) * static_cast<double>(psi);
  }
  [[gnu::always_inline]] static double inner_weight(const TreeNode& node, float psi, double B) {
    return node.stop * static_cast<double>(psi) + node.go * B;
  }

  [[gnu::always_inline]] void mark(std::int64_t h) {
    marked_[h / 64] |= std::uint64_t{1} << h % 64;
  }
  // Of all marked nodes and those above them, children first.
  template <class Visit>
  [[gnu::always_inline]] void each_marked(const Visit& visit) {
    for (std::int64_t word = tree_words(tree_.H) - 1; word >= 0; --word)
      while (marked_[word] != 0) {
        const int bit = 63 - __builtin_clzll(marked_[word]);
        const std::int64_t h = word * 64 + bit;
        marked_[word] ^= std::uint64_t{1} << bit;
        visit(h);
        if (h > 0) mark(node_[h].above);
      }
  }

  const TreeWeights& tree_;
  std::int64_t n_places_;
  TreeNode* node_;
  double *W_, *W_shared_;
  std::uint64_t* marked_;
  const float* inverse_;
};

}  // namespace dcomp::DCOMP_ISA
