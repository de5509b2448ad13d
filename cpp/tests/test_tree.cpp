// Trees: the token sampler's bookkeeping follows the assignment, in registers and through memory.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "dcomp/collapsed_gibbs.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/tree_layout.hpp"
#include "own_prior.hpp"
#include "random_counts.hpp"

namespace dcomp::test {
namespace {

// Node k hangs below (k - 1) / branching.
OwnPrior complete_tree(std::int32_t K, std::int32_t branching) {
  OwnPrior tree{"TM", {even(K, 0.5), even(K, 2), even(K, 0.2)}};
  for (std::int32_t k = 0; k < K; ++k) {
    const auto at = static_cast<std::size_t>(k);
    tree.parent.push_back(k == 0 ? -1 : (k - 1) / branching);
    tree.parameters[0][at] += 0.01 * k;
    tree.parameters[1][at] -= 0.001 * k;
    tree.parameters[2][at] += 0.02 * k;
  }
  return tree;
}

struct TreeRun {
  std::vector<std::uint16_t> z;
  double log_words = 0;
  bool follows = false;
};

// Whether documents have the same subtree totals, in either form.
bool same_totals(CollapsedCounts& a, CollapsedCounts& b, const ScorePrior& prior) {
  const TreeWeights x = a.layout()->weights(*prior.tree), y = b.layout()->weights(*prior.tree);
  const std::int64_t n_docs = a.cells().n_docs();
  if (!a.sparse()) return std::equal(x.S, x.S + n_docs * x.padded, y.S);
  for (std::int64_t i = 0; i < n_docs; ++i) {
    const TreeEntry *own = x.lists.entry + x.lists.start[i], *end = own + x.lists.size[i];
    const auto same = [](const TreeEntry& p, const TreeEntry& q) {
      return p.place == q.place && p.S == q.S && p.D == q.D;
    };
    if (x.lists.size[i] != y.lists.size[i] ||
        !std::equal(own, end, y.lists.entry + y.lists.start[i], same))
      return false;
  }
  return true;
}

TreeRun run_tree(const OwnedCounts& W, const ScorePrior& prior, int n_parts, int n_threads,
                 bool sparse) {
  const TokenCells cells(W.view(), n_parts);
  const std::vector<std::int32_t> block(static_cast<std::size_t>(W.n_features), 0);
  CollapsedCounts counts(cells, block.data(), 1, prior, sparse),
      recount(cells, block.data(), 1, prior, sparse);
  TreeRun run;
  run.z.resize(static_cast<std::size_t>(cells.n_tokens()));
  start_assignment(3, W.view(), cells, prior.n_components, run.z.data());
  counts.count(run.z.data());
  const std::vector<double> gamma(static_cast<std::size_t>(W.n_features), 0.1);
  for (std::uint32_t sweep = 1; sweep <= 3; ++sweep)
    run.log_words =
        collapse_sweep({gamma.data(), prior, 7, sweep}, counts, run.z.data(), n_threads);
  recount.count(run.z.data());
  run.follows = same_totals(counts, recount, prior) &&
                std::equal(counts.total(), counts.total() + counts.padded(), recount.total()) &&
                std::all_of(run.z.begin(), run.z.end(),
                            [&](std::uint16_t k) { return k < prior.n_components; });
  return run;
}

}  // namespace

TEST(tree_totals_follow_the_assignment) {
  const OwnedCounts W = random_counts(150, 30, 10, 3);
  for (const std::int32_t K : {1, 2, 5, 33, 40, 80, 120, 300})
    for (const int parts : {1, 4})
      for (const bool sparse : {false, true}) {
        OwnPrior tree = complete_tree(K, 2);
        const TreeRun run = run_tree(W, tree.view(), parts, 2, sparse);
        CHECK(run.follows);
        CHECK(std::isfinite(run.log_words));
      }
}

TEST(trees_do_not_depend_on_threads) {
  const OwnedCounts W = random_counts(200, 40, 12, 5);
  OwnPrior own = complete_tree(57, 7);
  const ScorePrior tree = own.view();
  for (const bool sparse : {false, true}) {
    const TreeRun one = run_tree(W, tree, 8, 1, sparse);
    for (const int threads : {2, 7}) {
      const TreeRun other = run_tree(W, tree, 8, threads, sparse);
      CHECK(one.z == other.z);
      CHECK(one.log_words == other.log_words);
    }
  }
}

TEST(draws_and_means_of_a_tree_are_shares) {
  OwnPrior own = complete_tree(40, 3);
  const ScorePrior tree = own.view();
  std::vector<std::int32_t> c(40, 0);
  for (std::size_t k = 0; k < c.size(); k += 3) c[k] = static_cast<std::int32_t>(k);
  std::vector<float> out(40);
  draw_scores({tree, {c.data(), 1, 40, 40}, out.data(), 1, 0, Purpose::scores}, 1);
  CHECK_CLOSE(std::accumulate(out.begin(), out.end(), 0.0), 1.0, 1e-6);
  std::vector<float> mean(40, 0);
  add_score_means({1, 40, c.data(), 40, nullptr, {}}, tree, nullptr, mean.data(), 2);
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
