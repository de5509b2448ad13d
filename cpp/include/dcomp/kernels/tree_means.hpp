// E(m_k | c) of a tree's nodes from a document's counts: the product of the means along the path.
// Always inline: kernels of every instruction set use it (simd.hpp says why that matters).
#pragma once

#include "dcomp/tree.hpp"

namespace dcomp {

// S (K): what a node and all below it hold.
[[gnu::always_inline]] inline void subtree_totals(const TreeView& tree, const std::int32_t* c,
                                                  double* S) {
  for (std::int64_t k = 0; k < tree.K; ++k) S[k] = c[k];
  for (std::int64_t at = tree.K - 1; at > 0; --at)
    S[tree.parent[tree.order[at]]] += S[tree.order[at]];
}

[[gnu::always_inline]] inline void tree_means(const TreeView& tree, const std::int32_t* c,
                                              const double* S, double* mean) {
  mean[0] = 1;
  for (std::int64_t h = 0; h < tree.H; ++h) {
    const std::int32_t node = tree.inner[h];
    const double D = S[node] - c[node], all = tree.a1[node] + tree.a2[node] + S[node];
    const double go = mean[node] * (tree.a2[node] + D) / (all * (tree.b_total[h] + D));
    for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
      mean[tree.order[at]] = go * (tree.b[tree.order[at]] + S[tree.order[at]]);
    mean[node] *= (tree.a1[node] + c[node]) / all;
  }
}

}  // namespace dcomp
