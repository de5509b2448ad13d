#include "dcomp/tree_layout.hpp"

#include <algorithm>
#include <utility>

#include "dcomp/dispatch.hpp"

namespace dcomp {

namespace {

// Lists start and end on whole cache lines, so that no two documents share one.
constexpr std::int64_t kListStep = 16;
static_assert(kListStep * sizeof(TreeEntry) % kCacheLine == 0);

}  // namespace

TreeLayout::TreeLayout(const TreeView& view, const std::vector<std::int64_t>& lengths, bool lists)
    : H_(view.H),
      padded_(padded_width<float>(std::max<std::int64_t>(H_, 1))),
      lists_(lists),
      parent_(view.parent, view.parent + view.K) {
  place_nodes(view);
  if (!lists) path_.assign(static_cast<std::size_t>(n_places() * padded_), 0);
  for (std::int32_t k = 0; k < n_places(); ++k) {
    if (node_[k] < 0) continue;
    std::int64_t steps = 0;
    for (std::int32_t node = node_[k]; node >= 0; node = parent_[node], ++steps)
      if (!lists && view.slot[node] >= 0) path_[k * padded_ + view.slot[node]] = 1;
    if (k < H_) levels_ = std::max(levels_, steps - 1);
  }
  place_children();
  make_room(lengths);
}

void TreeLayout::place_nodes(const TreeView& view) {
  node_.assign(view.inner, view.inner + H_);
  if (H_ > 0) node_.resize(static_cast<std::size_t>(padded_), -1);
  for (std::int64_t at = 0; at < view.K; ++at)
    if (view.slot[view.order[at]] < 0) node_.push_back(view.order[at]);
  place_.resize(static_cast<std::size_t>(view.K));
  for (std::size_t k = 0; k < node_.size(); ++k)
    if (node_[k] >= 0) place_[static_cast<std::size_t>(node_[k])] = static_cast<std::int32_t>(k);
}

void TreeLayout::place_children() {
  above_.assign(static_cast<std::size_t>(padded_width<float>(n_places())), 0);
  children_.resize(static_cast<std::size_t>(H_));
  for (std::int32_t k = 0; k < n_places(); ++k) {
    if (node_[k] <= 0) continue;  // no node, or the root
    above_[k] = place_[parent_[node_[k]]];
    std::vector<TreeRun>& runs = k < H_ ? runs_ : leaf_runs_;
    if (runs.empty() || runs.back().parent != above_[k]) runs.push_back({above_[k], k, k});
    runs.back().last = k + 1;
  }
  factor_ = above_;
  for (std::int32_t h = 0; h < H_; ++h) factor_[h] = static_cast<std::int32_t>(padded_) + h;
  for (const TreeRun& run : runs_)
    children_[run.parent].inner = run.first, children_[run.parent].inner_end = run.last;
  for (const TreeRun& run : leaf_runs_)
    children_[run.parent].leaf = run.first, children_[run.parent].leaf_end = run.last;
}

void TreeLayout::make_room(const std::vector<std::int64_t>& lengths) {
  if (!lists_) {
    S_.assign(lengths.size() * static_cast<std::size_t>(padded_), 0);
    return;
  }
  std::int64_t room = 0;
  for (const std::int64_t length : lengths) {
    list_start_.push_back(room);
    // A path has one internal node for each level; and one more path while a token moves.
    const std::int64_t most = std::min(H_, (length + 1) * (levels_ + 1));
    room += (most + kListStep - 1) / kListStep * kListStep;
  }
  list_size_.assign(lengths.size(), 0);
  entries_.resize(static_cast<std::size_t>(room));
}

void TreeLayout::count(const CountView& c) {
  if (lists_) return count_lists(c);
  std::fill(S_.begin(), S_.end(), 0);
  for (std::int64_t i = 0; i < c.n_rows; ++i)
    c.visit(i, [&](std::int64_t k, std::int32_t count) {
      for (std::int32_t node = node_[k]; node >= 0; node = parent_[node])
        if (place_[node] < H_) S_[i * padded_ + place_[node]] += count;
    });
}

void TreeLayout::count_lists(const CountView& c) {
  std::vector<std::int32_t> S(static_cast<std::size_t>(H_), 0), D(S);
  std::vector<std::uint16_t> reached;
  for (std::int64_t i = 0; i < c.n_rows; ++i) {
    reached.clear();
    c.visit(i, [&](std::int64_t k, std::int32_t count) {
      for (std::int32_t node = node_[k]; node >= 0; node = parent_[node]) {
        const std::int32_t h = place_[node];
        if (h >= H_) continue;
        if (S[h] == 0) reached.push_back(static_cast<std::uint16_t>(h));
        S[h] += count;
        if (h != k) D[h] += count;
      }
    });
    std::sort(reached.begin(), reached.end());
    std::int64_t at = list_start_[i];
    list_size_[i] = static_cast<std::int32_t>(reached.size());
    for (const std::uint16_t h : reached)
      entries_[at++] = {std::exchange(S[h], 0), std::exchange(D[h], 0), h};
  }
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
          lists_ ? nullptr : S_.data(),
          runs_.data(),
          runs_.data() + runs_.size(),
          leaf_runs_.data(),
          leaf_runs_.data() + leaf_runs_.size(),
          {list_start_.data(), list_size_.data(), entries_.data()},
          children_.data(),
          factor_.data()};
}

}  // namespace dcomp
