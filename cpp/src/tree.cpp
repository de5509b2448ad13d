#include "dcomp/tree.hpp"

namespace dcomp {

const char* check_tree(const std::int32_t* parent, std::int64_t K) {
  if (K < 1 || parent[0] != -1) return "node 0 must be the root of the tree, with parent -1";
  // The way up from each node to one that is known to lie below node 0.
  std::vector<bool> is_below(static_cast<std::size_t>(K), false);
  is_below[0] = true;
  for (std::int64_t k = 1; k < K; ++k) {
    std::int64_t node = k;
    for (std::int64_t steps = 0; !is_below[static_cast<std::size_t>(node)]; ++steps) {
      node = parent[node];
      if (node < 0 || node >= K || steps > K) return "every node of the tree must lie below node 0";
    }
    for (node = k; !is_below[static_cast<std::size_t>(node)]; node = parent[node])
      is_below[static_cast<std::size_t>(node)] = true;
  }
  return "";
}

Tree::Tree(const std::int32_t* parent, const double* a1, const double* a2, const double* b,
           std::int64_t K)
    : parent_(parent, parent + K),
      slot_(static_cast<std::size_t>(K), -1),
      a1_(a1, a1 + K),
      a2_(a2, a2 + K),
      b_(b, b + K) {
  std::vector<std::vector<std::int32_t>> children(static_cast<std::size_t>(K));
  for (std::int64_t k = 1; k < K; ++k)
    children[static_cast<std::size_t>(parent_[k])].push_back(static_cast<std::int32_t>(k));
  order_.push_back(0);
  below_.push_back(1);
  for (std::size_t at = 0; at < order_.size(); ++at) {
    const std::int32_t node = order_[at];
    const auto& own = children[static_cast<std::size_t>(node)];
    if (own.empty()) continue;
    slot_[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(inner_.size());
    inner_.push_back(node);
    double total = 0;
    for (const std::int32_t child : own) total += b_[static_cast<std::size_t>(child)];
    b_total_.push_back(total);
    order_.insert(order_.end(), own.begin(), own.end());
    below_.push_back(static_cast<std::int32_t>(order_.size()));
  }
}

TreeView Tree::view() const {
  return {static_cast<std::int64_t>(parent_.size()),
          static_cast<std::int64_t>(inner_.size()),
          parent_.data(),
          order_.data(),
          inner_.data(),
          slot_.data(),
          below_.data(),
          a1_.data(),
          a2_.data(),
          b_.data(),
          b_total_.data()};
}

}  // namespace dcomp
