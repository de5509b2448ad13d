// The internal nodes that a document has tokens at or below, as the sampler by lists walks them.
//
// With the factors of kernels/collapse_tree.hpp, found for these nodes alone, from the root down,
// the weight of all places by their prior's a splits into two terms for each node h of the list:
//   F_h a1_h psi_h                                stopping there,
//   G_h (B_h - the W of children in the list)     leaves, and whole subtrees without a token.
// The children in the list stand for themselves.
#pragma once

#include "dcomp/kernels/tree_factors.hpp"
#include "dcomp/kernels/tree_sums.hpp"

namespace dcomp::DCOMP_ISA {

class DocumentTree {
 public:
  DocumentTree(const TreeWeights& tree, const TreeListScratch& room)
      : tree_(tree),
        node_(room.node),
        G_(room.factor),
        F_(room.factor + tree.padded),
        rest_(room.rest),
        slot_(room.slot) {
    for (std::int64_t h = 0; h < 2 * tree.padded; ++h) room.factor[h] = 0;
    for (std::int64_t h = 0; h < tree.padded; ++h) slot_[h] = 0;
  }

  // F by place: of the leaves below an internal node, and behind them of the nodes themselves.
  const float* factors() const { return G_; }
  // Of all places, by their prior.
  double weight() const { return weight_; }

  // Document i without its token at place `old`.
  [[gnu::always_inline]] void open(std::int64_t i, std::int64_t old, const SubtreeSums& sums) {
    size_ = tree_.lists.size + i;
    entry_ = tree_.lists.entry + tree_.lists.start[i];
    on_path(old, [&](std::int64_t h, std::int16_t below) {
      node_[h].taken = 1;
      node_[h].taken_below = below;
    });
    slot_[0] = 0;
    weight_ = measured(0, 1.0F);
    for (std::int32_t q = 1; q < *size_; ++q) {
      const std::int64_t h = entry_[q].place;
      const TreeNode& node = node_[h];
      const float above = G_[node.above], S = static_cast<float>(entry_[q].S - node.taken);
      const float reach = above * (node.b + S);
      slot_[h] = static_cast<std::uint16_t>(q);
      weight_ += measured(q, reach > kReachFloor ? reach : kReachFloor) -
                 static_cast<double>(above) * sums.W(h);
    }
  }

  // The place of u in [0, weight()).
  [[gnu::noinline]] std::int64_t find(double u, const SubtreeSums& sums) const {
    const std::int32_t size = *size_;
    for (std::int32_t q = 0; q < size; ++q) {
      const TreeNode& node = node_[entry_[q].place];
      rest_[q] = node.B;
      if (q > 0) rest_[slot_[node.above]] -= sums.W(entry_[q].place);
    }
    for (std::int32_t q = 0; q < size; ++q) {
      const std::int64_t h = entry_[q].place;
      const double stays = stop_weight(h), G = static_cast<double>(G_[h]);
      const double goes = rest_[q] > 0 ? G * rest_[q] : 0;  // what rounding leaves of nothing
      if (u < stays) return h;
      if (u - stays < goes || q + 1 == size) return find_below(h, (u - stays) / G, sums);
      u -= stays + goes;
    }
    return 0;
  }

  // Gives the token place k in the stead of `old`.
  [[gnu::always_inline]] void settle(std::int64_t old, std::int64_t k) {
    on_path(old, [&](std::int64_t h, std::int16_t) { node_[h].taken = node_[h].taken_below = 0; });
    if (k == old) return;
    bool all_there = true;
    on_path(k, [&](std::int64_t h, std::int16_t below) {
      if (!has(h)) {
        all_there = false;
        return;
      }
      ++entry_[slot_[h]].S;
      entry_[slot_[h]].D += below;
    });
    on_path(old, [&](std::int64_t h, std::int16_t below) {
      --entry_[slot_[h]].S;
      entry_[slot_[h]].D -= below;
    });
    if (entry_[slot_[inner_of(old)]].S == 0) take_off(old);
    if (!all_there) put_on(k);
  }

 private:
  [[gnu::always_inline]] bool has(std::int64_t h) const {
    return slot_[h] < *size_ && entry_[slot_[h]].place == h;
  }
  [[gnu::always_inline]] std::int64_t inner_of(std::int64_t k) const {
    return k < tree_.H ? k : tree_.above[k];
  }
  // Internal nodes from k up to the root, and whether k lies below.
  template <class Visit>
  [[gnu::always_inline]] void on_path(std::int64_t k, const Visit& visit) const {
    for (std::int64_t h = inner_of(k);; h = node_[h].above) {
      visit(h, static_cast<std::int16_t>(h == k ? 0 : 1));
      if (h == 0) return;
    }
  }

  // Sets the factors of entry q, and gives what it weighs if no child were in the list.
  [[gnu::always_inline]] double measured(std::int32_t q, float reach) {
    const std::int64_t h = entry_[q].place;
    const TreeNode& node = node_[h];
    const auto S = static_cast<float>(entry_[q].S - node.taken);
    const auto D = static_cast<float>(entry_[q].D - node.taken_below);
    const float among = node.b_total + D, share = reach / ((node.a12 + S) * among);
    G_[h] = share * (node.a2 + D);
    F_[h] = share * among;
    return static_cast<double>(G_[h]) * node.B + stop_weight(h);
  }
  [[gnu::always_inline]] double stop_weight(std::int64_t h) const {
    return static_cast<double>(F_[h] * node_[h].a1 * node_[h].psi);
  }

  // Among the children of h that are not in the list, and what lies below them.
  std::int64_t find_below(std::int64_t h, double u, const SubtreeSums& sums) const {
    const std::int64_t k = sums.find_child(h, &u, [&](std::int64_t child) { return has(child); });
    if (k < 0) return h;
    return k < tree_.H ? sums.find(k, u) : k;
  }

  // Nodes of the path that have no token any more, the lowest first: it stands last.
  [[gnu::noinline]] void take_off(std::int64_t k) {
    for (std::int64_t h = inner_of(k); entry_[slot_[h]].S == 0; h = node_[h].above) {
      --*size_;
      for (std::int32_t q = slot_[h]; q < *size_; ++q) {
        entry_[q] = entry_[q + 1];
        slot_[entry_[q].place] = static_cast<std::uint16_t>(q);
      }
    }
  }
  // The path of k, with one token each where there was none. The root is always there.
  [[gnu::noinline]] void put_on(std::int64_t k) {
    for (std::int64_t h = inner_of(k); !has(h); h = node_[h].above) {
      std::int32_t at = (*size_)++;
      for (; entry_[at - 1].place > h; --at) {
        entry_[at] = entry_[at - 1];
        slot_[entry_[at].place] = static_cast<std::uint16_t>(at);
      }
      entry_[at] = {1, h == k ? 0 : 1, static_cast<std::uint16_t>(h)};
      slot_[h] = static_cast<std::uint16_t>(at);
    }
  }

  const TreeWeights& tree_;
  TreeNode* node_;
  float *G_, *F_;
  double* rest_;
  std::uint16_t* slot_;
  // Of the document at hand:
  std::int32_t* size_ = nullptr;
  TreeEntry* entry_ = nullptr;
  double weight_ = 0;
};

}  // namespace dcomp::DCOMP_ISA
