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
  TreeLayout(const TreeView& tree, std::int64_t n_docs);

  const std::vector<std::int32_t>& parent() const { return parent_; }  // of each node
  std::int64_t n_places() const { return static_cast<std::int64_t>(node_.size()); }
  // The node at a place, -1 for none; and the way back.
  const std::vector<std::int32_t>& node() const { return node_; }
  const std::vector<std::int32_t>& place() const { return place_; }

  // Counts S anew from c, whose columns are places.
  void count(const CountView& c);

  // With the priors of `tree`, which has these parents. Holds until the next call.
  TreeWeights weights(const TreeView& tree);

 private:
  std::int64_t H_, padded_, levels_ = 0;
  std::vector<std::int32_t> parent_, node_, place_;
  std::vector<TreeRun> runs_, leaf_runs_;
  AlignedVector<std::int32_t> above_, path_, S_;
  AlignedVector<float> numbers_;
};

}  // namespace dcomp
