#include "dcomp/tree.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "dcomp/parallel.hpp"
#include "dcomp/random.hpp"
#include "dcomp/rising_factorial.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 64;

double log_add(double x, double y) {
  const double top = std::max(x, y);
  return top + std::log1p(std::exp(std::min(x, y) - top));
}

// One table per parameter that differs: a tree has few of them.
class RisingFactorials {
 public:
  explicit RisingFactorials(std::size_t size) : of_(size) {}
  void set(std::size_t place, double a) {
    const auto found = by_value_.try_emplace(a, a).first;
    of_[place] = &found->second;
  }
  double operator()(std::int64_t place, std::int32_t c) const {
    return (*of_[static_cast<std::size_t>(place)])(c);
  }

 private:
  std::map<double, RisingFactorial> by_value_;
  std::vector<const RisingFactorial*> of_;
};

}  // namespace

const char* check_tree(const std::int32_t* parent, std::int64_t K) {
  if (K < 1 || parent[0] != -1) return "node 0 must be the root of the tree, with parent -1";
  for (std::int64_t k = 1; k < K; ++k) {
    std::int64_t node = k;
    for (std::int64_t steps = 0; node != 0; ++steps) {
      node = parent[node];
      if (node < 0 || node >= K || steps > K) return "every node of the tree must lie below node 0";
    }
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

void draw_log_tree(const TreeView& tree, const std::int32_t* c, Stream& rng, double* out,
                   double* room) {
  double* S = room;
  for (std::int64_t k = 0; k < tree.K; ++k) S[k] = c[k];
  for (std::int64_t at = tree.K - 1; at > 0; --at)
    S[tree.parent[tree.order[at]]] += S[tree.order[at]];
  out[0] = 0;
  for (std::int64_t h = 0; h < tree.H; ++h) {
    const std::int32_t node = tree.inner[h];
    const double reach = out[node];
    const double stays = draw_log_gamma(rng, tree.a1[node] + c[node]);
    const double goes = draw_log_gamma(rng, tree.a2[node] + S[node] - c[node]);
    const double both = log_add(stays, goes);
    out[node] = reach + stays - both;
    double top = -HUGE_VAL, sum = 0;
    for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at) {
      const std::int32_t child = tree.order[at];
      out[child] = draw_log_gamma(rng, tree.b[child] + S[child]);
      top = std::max(top, out[child]);
    }
    for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
      sum += std::exp(out[tree.order[at]] - top);
    // In this order, because next to a top of -1e38 the log of a sum is nothing.
    for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
      out[tree.order[at]] = reach + (goes - both) + (out[tree.order[at]] - top - std::log(sum));
  }
}

double log_tree_moments(const CountView& c, const TreeView& tree, const std::int32_t* node_of,
                        int n_threads) {
  const auto K = static_cast<std::size_t>(tree.K), H = static_cast<std::size_t>(tree.H);
  RisingFactorials stop(H), go(H), both(H), total(H), branch(K);
  for (std::size_t h = 0; h < H; ++h) {
    const std::int32_t node = tree.inner[h];
    stop.set(h, tree.a1[node]);
    go.set(h, tree.a2[node]);
    both.set(h, tree.a1[node] + tree.a2[node]);
    total.set(h, tree.b_total[h]);
  }
  for (std::size_t k = 0; k < K; ++k) branch.set(k, tree.b[k]);
  const std::int64_t tasks = (c.n_rows + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<double> part(static_cast<std::size_t>(tasks), 0.0);
  parallel_for(n_threads, tasks, [&](std::int64_t task, int) {
    std::vector<std::int32_t> own(K), S(K);
    double sum = 0;
    for (std::int64_t i = task * kRowsPerTask; i < std::min((task + 1) * kRowsPerTask, c.n_rows);
         ++i) {
      std::fill(own.begin(), own.end(), 0);
      c.visit(i, [&](std::int64_t k, std::int32_t count) {
        own[node_of == nullptr ? k : node_of[k]] = count;
      });
      S = own;
      for (std::int64_t at = tree.K - 1; at > 0; --at) {
        const std::int32_t node = tree.order[at];
        if (S[node] == 0) continue;
        S[tree.parent[node]] += S[node];
        sum += branch(node, S[node]);
      }
      for (std::int64_t h = 0; h < tree.H; ++h) {
        const std::int32_t node = tree.inner[h], D = S[node] - own[node];
        if (S[node] == 0) continue;
        sum += stop(h, own[node]) + go(h, D) - both(h, S[node]) - total(h, D);
      }
    }
    part[static_cast<std::size_t>(task)] = sum;
  });
  double value = 0;
  for (const double p : part) value += p;
  return value;
}

void add_tree_means(const CountView& c, const TreeView& tree, const std::int32_t* node_of,
                    float* out, int n_threads) {
  const auto K = static_cast<std::size_t>(tree.K);
  const std::int64_t tasks = (c.n_rows + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(n_threads, tasks, [&](std::int64_t task, int) {
    std::vector<double> own(K), S(K), reach(K);
    for (std::int64_t i = task * kRowsPerTask; i < std::min((task + 1) * kRowsPerTask, c.n_rows);
         ++i) {
      std::fill(own.begin(), own.end(), 0.0);
      c.visit(i, [&](std::int64_t k, std::int32_t count) {
        own[node_of == nullptr ? k : node_of[k]] = count;
      });
      S = own;
      for (std::int64_t at = tree.K - 1; at > 0; --at)
        S[tree.parent[tree.order[at]]] += S[tree.order[at]];
      reach[0] = 1;
      for (std::int64_t h = 0; h < tree.H; ++h) {
        const std::int32_t node = tree.inner[h];
        const double D = S[node] - own[node], all = tree.a1[node] + tree.a2[node] + S[node];
        const double go = reach[node] * (tree.a2[node] + D) / (all * (tree.b_total[h] + D));
        for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
          reach[tree.order[at]] = go * (tree.b[tree.order[at]] + S[tree.order[at]]);
        reach[node] *= (tree.a1[node] + own[node]) / all;
      }
      float* row = out + i * tree.K;
      for (std::size_t k = 0; k < K; ++k) row[k] += static_cast<float>(reach[k]);
    }
  });
}

}  // namespace dcomp
