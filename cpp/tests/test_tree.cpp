// Trees: the token sampler's bookkeeping follows the assignment, in registers and through memory.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "dcomp/collapsed_gibbs.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/tree_layout.hpp"
#include "random_counts.hpp"

namespace dcomp::test {
namespace {

// Node k hangs below (k - 1) / branching.
Tree complete_tree(std::int32_t K, std::int32_t branching) {
  const auto size = static_cast<std::size_t>(K);
  std::vector<std::int32_t> parent(size);
  std::vector<double> a1(size), a2(size), b(size);
  for (std::int32_t k = 0; k < K; ++k) {
    const auto at = static_cast<std::size_t>(k);
    parent[at] = k == 0 ? -1 : (k - 1) / branching;
    a1[at] = 0.5 + 0.01 * k;
    a2[at] = 2 - 0.001 * k;
    b[at] = 0.2 + 0.02 * k;
  }
  return Tree(parent.data(), a1.data(), a2.data(), b.data(), K);
}

struct TreeRun {
  std::vector<std::uint16_t> z;
  double log_words = 0;
  bool follows = false;
};

TreeRun run_tree(const OwnedCounts& W, const Tree& tree, int n_parts, int n_threads) {
  const TokenCells cells(W.view(), n_parts);
  const std::vector<std::int32_t> block(static_cast<std::size_t>(W.n_features), 0);
  TreeLayout layout(tree, W.view().n_docs), recount(tree, W.view().n_docs);
  CollapsedCounts counts(cells, block.data(), 1, layout.n_places(), false);
  TreeRun run;
  run.z.resize(static_cast<std::size_t>(cells.n_tokens()));
  start_assignment(3, tree.view().K, cells.n_tokens(), run.z.data());
  for (std::uint16_t& k : run.z) k = static_cast<std::uint16_t>(layout.place()[k]);
  counts.count(run.z.data());
  layout.count(counts.c().view());
  const std::vector<double> gamma(static_cast<std::size_t>(W.n_features), 0.1);
  const TreeWeights weights = layout.weights(tree);
  for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
    const CollapseInput input{gamma.data(), {}, 7, sweep, &weights};
    run.log_words = collapse_sweep(input, counts, run.z.data(), n_threads);
  }
  recount.count(counts.c().view());
  const std::int32_t *S = weights.S, *again = recount.weights(tree).S;
  run.follows = std::equal(S, S + W.view().n_docs * weights.padded, again) &&
                std::all_of(run.z.begin(), run.z.end(), [&](std::uint16_t k) {
                  return k < layout.n_places() && layout.node()[k] >= 0;
                });
  return run;
}

}  // namespace

TEST(tree_totals_follow_the_assignment) {
  const OwnedCounts W = random_counts(150, 30, 10, 3);
  for (const std::int32_t K : {1, 2, 5, 33, 40, 80, 120, 300})
    for (const int parts : {1, 4}) {
      const TreeRun run = run_tree(W, complete_tree(K, 2), parts, 2);
      CHECK(run.follows);
      CHECK(std::isfinite(run.log_words));
    }
}

TEST(trees_do_not_depend_on_threads) {
  const OwnedCounts W = random_counts(200, 40, 12, 5);
  const Tree tree = complete_tree(57, 7);
  const TreeRun one = run_tree(W, tree, 8, 1);
  for (const int threads : {2, 7}) {
    const TreeRun other = run_tree(W, tree, 8, threads);
    CHECK(one.z == other.z);
    CHECK(one.log_words == other.log_words);
  }
}

TEST(draws_and_means_of_a_tree_are_shares) {
  const Tree tree = complete_tree(40, 3);
  std::vector<std::int32_t> c(40, 0);
  for (std::size_t k = 0; k < c.size(); k += 3) c[k] = static_cast<std::int32_t>(k);
  std::vector<double> out(40), room(40);
  Stream rng(1, Purpose::scores, 0, 0);
  draw_log_tree(tree.view(), c.data(), rng, out.data(), room.data());
  double sum = 0;
  for (const double x : out) sum += std::exp(x);
  CHECK_CLOSE(sum, 1.0, 1e-12);
  std::vector<float> mean(40, 0);
  add_tree_means({1, 40, c.data(), 40, nullptr, {}}, tree.view(), nullptr, mean.data(), 2);
  CHECK_CLOSE(std::accumulate(mean.begin(), mean.end(), 0.0), 1.0, 1e-6);
}

TEST(what_is_no_tree_is_told) {
  const std::int32_t circle[] = {-1, 2, 1}, no_root[] = {0, 0}, outside[] = {-1, 5};
  CHECK(*check_tree(circle, 3) != '\0');
  CHECK(*check_tree(no_root, 2) != '\0');
  CHECK(*check_tree(outside, 2) != '\0');
  const std::int32_t good[] = {-1, 2, 0};
  CHECK(*check_tree(good, 3) == '\0');
}

}  // namespace dcomp::test
