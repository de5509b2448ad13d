#include "dcomp/tree_layout.hpp"

#include <algorithm>

#include "dcomp/dispatch.hpp"

namespace dcomp {

TreeLayout::TreeLayout(const TreeView& view, std::int64_t n_docs)
    : H_(view.H),
      padded_(padded_width<float>(std::max<std::int64_t>(H_, 1))),
      parent_(view.parent, view.parent + view.K) {
  node_.assign(view.inner, view.inner + H_);
  if (H_ > 0) node_.resize(static_cast<std::size_t>(padded_), -1);
  for (std::int64_t at = 0; at < view.K; ++at)
    if (view.slot[view.order[at]] < 0) node_.push_back(view.order[at]);
  place_.resize(static_cast<std::size_t>(view.K));
  for (std::size_t k = 0; k < node_.size(); ++k)
    if (node_[k] >= 0) place_[static_cast<std::size_t>(node_[k])] = static_cast<std::int32_t>(k);

  above_.assign(static_cast<std::size_t>(padded_width<float>(n_places())), 0);
  path_.assign(static_cast<std::size_t>(n_places() * padded_), 0);
  S_.assign(static_cast<std::size_t>(n_docs * padded_), 0);
  for (std::int32_t k = 0; k < n_places(); ++k) {
    if (node_[k] < 0) continue;
    std::int64_t steps = 0;
    for (std::int32_t node = node_[k]; node >= 0; node = parent_[node], ++steps)
      if (view.slot[node] >= 0) path_[k * padded_ + view.slot[node]] = 1;
    if (k < H_) levels_ = std::max(levels_, steps - 1);
    if (node_[k] == 0) continue;
    above_[k] = place_[parent_[node_[k]]];
    std::vector<TreeRun>& runs = k < H_ ? runs_ : leaf_runs_;
    if (runs.empty() || runs.back().parent != above_[k]) runs.push_back({above_[k], k, k});
    runs.back().last = k + 1;
  }
}

void TreeLayout::count(const CountView& c) {
  std::fill(S_.begin(), S_.end(), 0);
  for (std::int64_t i = 0; i < c.n_rows; ++i)
    c.visit(i, [&](std::int64_t k, std::int32_t count) {
      for (std::int32_t node = node_[k]; node >= 0; node = parent_[node])
        if (place_[node] < H_) S_[i * padded_ + place_[node]] += count;
    });
}

TreeWeights TreeLayout::weights(const TreeView& view) {
  const auto width = static_cast<std::int64_t>(above_.size());
  numbers_.assign(static_cast<std::size_t>(width + 5 * padded_), 1.0F);
  float* a = numbers_.data();
  float *a2 = a + width, *a12 = a2 + padded_, *b = a12 + padded_, *b_total = b + padded_,
        *root = b_total + padded_;
  std::fill_n(a, width, 0.0F);
  std::fill_n(root, padded_, 0.0F);
  root[0] = 1;
  for (std::int64_t k = 0; k < n_places(); ++k) {
    const std::int32_t node = node_[k];
    if (node < 0) continue;
    a[k] = static_cast<float>(k < H_ ? view.a1[node] : view.b[node]);
    if (k >= H_) continue;
    a2[k] = static_cast<float>(view.a2[node]);
    a12[k] = static_cast<float>(view.a1[node] + view.a2[node]);
    b[k] = static_cast<float>(view.b[node]);
    b_total[k] = static_cast<float>(view.b_total[k]);
  }
  return {H_,
          padded_,
          levels_,
          a,
          a2,
          a12,
          b,
          b_total,
          root,
          above_.data(),
          path_.data(),
          S_.data(),
          runs_.data(),
          runs_.data() + runs_.size(),
          leaf_runs_.data(),
          leaf_runs_.data() + leaf_runs_.size()};
}

}  // namespace dcomp
