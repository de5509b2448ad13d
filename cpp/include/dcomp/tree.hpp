// A tree of components and its priors, BJ04 3.4: a word stops at an internal node k with
// probability q_k ~ Beta(a1_k, a2_k), or goes on to a child with probabilities from Dirichlet(b of
// the children). Everything follows from the subtree totals S_k of a document's counts c.
#pragma once

#include <cstdint>
#include <vector>

namespace dcomp {

struct TreeView {
  std::int64_t K = 0, H = 0;             // nodes, internal nodes
  const std::int32_t* parent = nullptr;  // (K), -1 for the root
  const std::int32_t* order = nullptr;   // (K): parents first, siblings together
  const std::int32_t* inner = nullptr;   // (H): internal nodes, in that order
  const std::int32_t* slot = nullptr;    // (K): place in `inner`, -1 for a leaf
  const std::int32_t* below = nullptr;   // (H + 1): children of inner[h] are order[below[h]] ...
  const double *a1 = nullptr, *a2 = nullptr, *b = nullptr;  // (K)
  const double* b_total = nullptr;                          // (H)
};

// Owner of what a TreeView points to.
class Tree {
 public:
  Tree(const std::int32_t* parent, const double* a1, const double* a2, const double* b,
       std::int64_t K);
  TreeView view() const;

 private:
  std::vector<std::int32_t> parent_, order_, inner_, slot_, below_;
  std::vector<double> a1_, a2_, b_, b_total_;
};

// Empty where every node's way up ends at node 0, else what is wrong.
const char* check_tree(const std::int32_t* parent, std::int64_t K);

}  // namespace dcomp
