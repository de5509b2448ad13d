// Structured components: the sampler's counts follow the assignment, whatever its kind and shape.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/structured.hpp"
#include "own_prior.hpp"
#include "random_counts.hpp"
#include "structure_shapes.hpp"

namespace dcomp::test {
namespace {

struct StructuredRun {
  std::vector<std::uint16_t> z;
  double log_words = 0;
  bool follows = false;
};

StructuredRun run_structured(const OwnedCounts& W, const Shape& shape, RowKind kind, int n_parts,
                             int n_threads, bool given = false) {
  const TokenCells cells(W.view(), n_parts);
  const std::vector<std::int32_t> block(static_cast<std::size_t>(W.n_features), 0);
  const auto P = static_cast<std::int64_t>(shape.leaf.size());
  const StructureLayout layout(kind, shape.leaf.data(), shape.node.data(), P, shape.K, shape.H,
                               shape.parent.data());
  StructuredCounts counts(cells, block.data(), 1, layout), recount(cells, block.data(), 1, layout);
  StructuredRun run;
  for (std::int64_t t = 0; t < cells.n_tokens(); ++t)
    run.z.push_back(static_cast<std::uint16_t>((t * 7919) % P));
  counts.count(run.z.data());
  const std::vector<double> gamma(static_cast<std::size_t>(W.n_features), 0.1);
  const std::vector<double> pair(static_cast<std::size_t>(P), 0.3),
      side(static_cast<std::size_t>(shape.H), 0.7);
  OwnPrior leaves{"CGP", {even(shape.K, 0.2), even(shape.K, 0.5), even(shape.K, 0.4)}};
  for (std::size_t c = 0; c < leaves.parameters[1].size(); ++c)
    leaves.parameters[1][c] += 0.1 * static_cast<double>(c % 3);
  leaves.parameters[2][0] = 1;  // leaf 0 can only lose words
  const std::vector<float> Theta(
      static_cast<std::size_t>(W.n_features * padded_width<float>(shape.H)), 0.25F);
  for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
    const StructuredInput input{gamma.data(), leaves.view(),
                                pair.data(),  side.data(),
                                side.data(),  7,
                                sweep,        given ? Theta.data() : nullptr};
    run.log_words = structured_sweep(input, counts, n_threads);
  }
  counts.read(run.z.data());
  recount.count(run.z.data());
  const auto same = [](const std::int32_t* x, const std::int32_t* y, std::int64_t n) {
    return std::equal(x, x + n, y);
  };
  const StructureView& at = layout.view();
  run.follows = same(counts.C(), recount.C(), cells.n_docs() * at.padded_leaves) &&
                (kind == RowKind::fixed ||
                 same(counts.S(), recount.S(), counts.n_rows() * counts.row_width())) &&
                (given || (same(counts.n(), recount.n(), cells.n_features() * at.padded_nodes) &&
                           same(counts.total(), recount.total(), at.padded_nodes)));
  return run;
}

}  // namespace

TEST(structured_counts_follow_the_assignment) {
  const OwnedCounts W = random_counts(120, 30, 10, 3);
  for (const auto& [K, group] : {std::pair{1, 2}, {2, 2}, {5, 3}, {17, 2}, {40, 4}, {70, 2}}) {
    const Shape shape = tree_shape(K, group);
    for (const RowKind kind : kEvery)
      for (const int parts : {1, 4}) {
        const StructuredRun run = run_structured(W, shape, kind, parts, 2);
        CHECK(run.follows);
        CHECK(std::isfinite(run.log_words) && run.log_words < 0);
      }
  }
  for (const RowKind kind : {RowKind::shared, RowKind::document})
    CHECK(run_structured(W, full_shape(9, 21), kind, 4, 2).follows);
}

TEST(structured_sweeps_do_not_know_the_threads) {
  const OwnedCounts W = random_counts(120, 30, 10, 3);
  const Shape shape = tree_shape(12, 3);
  for (const RowKind kind : kEvery) {
    const StructuredRun one = run_structured(W, shape, kind, 4, 1);
    const StructuredRun three = run_structured(W, shape, kind, 4, 3);
    CHECK(one.z == three.z);
    CHECK(one.log_words == three.log_words);
  }
}

TEST(given_loadings_leave_the_features_counts) {
  const OwnedCounts W = random_counts(60, 20, 8, 3);
  for (const RowKind kind : {RowKind::fixed, RowKind::document, RowKind::document_phi})
    CHECK(run_structured(W, tree_shape(12, 3), kind, 2, 2, true).follows);
}

TEST(what_is_no_structure_is_told) {
  const Shape good = tree_shape(4, 2);
  const auto P = static_cast<std::int64_t>(good.leaf.size());
  const auto check = [&](const Shape& shape) {
    return *check_structure(shape.leaf.data(), shape.node.data(), P, shape.K, shape.H,
                            shape.parent.data()) == '\0';
  };
  CHECK(check(good));
  for (int what = 0; what < 4; ++what) {
    Shape bad = good;
    if (what == 0) bad.node[1] = 99;
    if (what == 1) bad.leaf[0] = 3;
    if (what == 2) bad.parent[4] = 4;
    if (what == 3) bad.parent[0] = 5;
    CHECK(!check(bad));
  }
}

}  // namespace dcomp::test
