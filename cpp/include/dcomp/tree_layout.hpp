// A tree as the token sampler walks it: internal nodes first, then leaves, siblings together.
//
// Internal nodes have whole vectors to themselves, so that some places of a row hold no node. The
// counts of the internal nodes are then the first numbers of a document's row.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/count_table.hpp"
#include "dcomp/kernels/tree_weights.hpp"
#include "dcomp/tree.hpp"

namespace dcomp {

class TreeLayout {
 public:
  // lengths (I): tokens of each document. lists: documents have lists of the internal nodes that
  // they reach, in place of a number for each.
  TreeLayout(const TreeView& tree, const std::vector<std::int64_t>& lengths, bool lists);

  const std::vector<std::int32_t>& parent() const { return parent_; }  // of each node
  std::int64_t n_places() const { return static_cast<std::int64_t>(node_.size()); }
  // The node at a place, -1 for none; and the way back.
  const std::vector<std::int32_t>& node() const { return node_; }
  const std::vector<std::int32_t>& place() const { return place_; }

  // Counts S anew from c, whose columns are places; lists have D beside it.
  void count(const CountView& c);

  // With the priors of `tree`, which has these parents. Holds until the next call.
  TreeWeights weights(const TreeView& tree);

 private:
  void place_nodes(const TreeView& view);
  void place_children();
  void make_room(const std::vector<std::int64_t>& lengths);
  void count_lists(const CountView& c);

  std::int64_t H_, padded_, levels_ = 0;
  bool lists_;
  std::vector<std::int32_t> parent_, node_, place_;
  std::vector<TreeRun> runs_, leaf_runs_;
  std::vector<TreeChildren> children_;
  AlignedVector<std::int32_t> above_, factor_, path_, S_;
  std::vector<std::int64_t> list_start_;
  std::vector<std::int32_t> list_size_;
  AlignedVector<TreeEntry> entries_;
  AlignedVector<float> numbers_;
};

}  // namespace dcomp
