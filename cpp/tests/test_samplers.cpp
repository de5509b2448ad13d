// The samplers' bookkeeping: counts follow assignments, threads change nothing, all under
// sanitizers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "dcomp/collapsed_gibbs.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "own_prior.hpp"
#include "random_counts.hpp"

namespace dcomp::test {
namespace {

struct CollapsedRun {
  std::vector<std::uint16_t> z;
  std::vector<std::int32_t> c, n, total;
  double log_words = 0;
  bool follows = false;  // whether the counts are those of z
};

CollapsedRun run_collapsed(const OwnedCounts& W, std::int64_t K, int n_parts, int n_threads,
                           int n_sweeps, bool sparse = false, bool plain = false) {
  const std::int64_t J = W.n_features;
  std::vector<std::int32_t> block(static_cast<std::size_t>(J));
  for (std::int64_t j = 0; j < J; ++j) block[static_cast<std::size_t>(j)] = j % 3 == 2;
  const TokenCells cells(W.view(), n_parts);
  // Plain weights need one rate for all and no zeros.
  OwnPrior own{plain ? "GP" : "CGP", {even(K, 0.1), even(K, 0.25)}};
  for (std::size_t k = 0; k < static_cast<std::size_t>(K); ++k)
    own.parameters[0][k] += 0.01 * static_cast<double>(k);
  if (!plain) own.parameters.push_back(even(K, 0.4));
  const ScorePrior prior = own.view();
  CollapsedCounts counts(cells, block.data(), 2, prior, sparse),
      recount(cells, block.data(), 2, prior, false);
  CollapsedRun run;
  run.z.resize(static_cast<std::size_t>(cells.n_tokens()));
  start_assignment(4, W.view(), cells, K, run.z.data());
  counts.count(run.z.data());
  const std::vector<double> gamma(static_cast<std::size_t>(J), 0.05);
  for (int sweep = 1; sweep <= n_sweeps; ++sweep) {
    const CollapseInput input{gamma.data(), prior, 11, static_cast<std::uint32_t>(sweep)};
    run.log_words = collapse_sweep(input, counts, run.z.data(), n_threads);
  }
  recount.count(run.z.data());
  const auto copy = [K](const CountView& counts) {
    std::vector<std::int32_t> out(static_cast<std::size_t>(counts.n_rows * K), 0);
    for (std::int64_t row = 0; row < counts.n_rows; ++row)
      counts.visit(row, [&](std::int64_t k, std::int32_t count) {
        out[static_cast<std::size_t>(row * K + k)] = count;
      });
    return out;
  };
  run.c = copy(counts.c().view());
  run.n = copy(counts.n().view());
  run.total.assign(counts.total(), counts.total() + 2 * counts.padded());
  run.follows = run.c == copy(recount.c().view()) && run.n == copy(recount.n().view()) &&
                std::equal(run.total.begin(), run.total.end(), recount.total());
  return run;
}

}  // namespace

TEST(collapsed_counts_follow_the_assignment) {
  const OwnedCounts W = random_counts(200, 40, 12, 3);
  for (const std::int64_t K : {1, 2, 16, 17, 40})
    for (const int parts : {1, 3, 8}) {
      for (const bool sparse : {false, true})
        for (const bool plain : {false, true}) {
          const CollapsedRun run = run_collapsed(W, K, parts, 2, 3, sparse, plain);
          CHECK(run.follows);
          CHECK(std::isfinite(run.log_words));
          CHECK(*std::max_element(run.z.begin(), run.z.end()) < K);
          CHECK(*std::min_element(run.n.begin(), run.n.end()) == 0);
        }
    }
}

TEST(collapsed_sampling_does_not_depend_on_threads) {
  const OwnedCounts W = random_counts(300, 60, 12, 5);
  for (const bool sparse : {false, true}) {
    const CollapsedRun one = run_collapsed(W, 20, 8, 1, 4, sparse);
    for (const int threads : {2, 7}) {
      const CollapsedRun other = run_collapsed(W, 20, 8, threads, 4, sparse);
      CHECK(one.z == other.z);
      CHECK(one.log_words == other.log_words);
    }
  }
}

TEST(long_documents_have_wide_counts) {
  OwnedCounts W = random_counts(20, 10, 5, 6);
  W.data[0] = 70000;  // more than uint16 holds
  const CollapsedRun run = run_collapsed(W, 3, 1, 1, 1);
  CHECK(run.follows);
  const std::vector<std::int64_t> totals = {5, 70000};
  CHECK(CountTable(totals, 3, 16, CountForm::narrow).form() == CountForm::wide);
  CHECK(CountTable({5, 6}, 3, 16, CountForm::narrow).form() == CountForm::narrow);
}

TEST(every_token_belongs_to_one_entry) {
  const OwnedCounts W = random_counts(100, 30, 10, 8);
  for (const int parts : {1, 4, 200}) {
    const TokenCells cells(W.view(), parts);
    std::vector<std::int64_t> entry(static_cast<std::size_t>(cells.n_tokens()));
    cells.entries(W.view(), entry.data());
    std::vector<std::int32_t> seen(W.data.size(), 0);
    for (const std::int64_t e : entry) ++seen[static_cast<std::size_t>(e)];
    CHECK(seen == W.data);
    for (const TokenCells::Run& run : cells.runs())
      for (std::int64_t t = run.begin; t < run.end; ++t)
        CHECK(W.indices[static_cast<std::size_t>(entry[static_cast<std::size_t>(t)])] ==
              run.feature);
  }
}

TEST(assignments_come_out_in_entry_order) {
  const OwnedCounts W = random_counts(100, 30, 10, 8);
  for (const int parts : {1, 4, 200}) {
    const TokenCells cells(W.view(), parts);
    const auto size = static_cast<std::size_t>(cells.n_tokens());
    std::vector<std::int64_t> entry(size);
    cells.entries(W.view(), entry.data());
    std::vector<std::uint16_t> z(size), out(size);
    for (std::size_t t = 0; t < size; ++t) z[t] = static_cast<std::uint16_t>(entry[t]);
    cells.in_entry_order(W.view(), z.data(), out.data());
    std::size_t place = 0;
    for (std::size_t e = 0; e < W.data.size(); ++e)
      for (std::int32_t copy = 0; copy < W.data[e]; ++copy)
        CHECK(out[place++] == static_cast<std::uint16_t>(e));
  }
}

TEST(drawn_scores_are_finite_and_zero_only_by_the_point_mass) {
  const std::int64_t I = 300, K = 5;
  const std::vector<std::int32_t> c(static_cast<std::size_t>(I * K), 0);
  OwnPrior priors[] = {{"DM", {even(K, 1e-3)}},
                       {"GP", {even(K, 1e-3), even(K, 0.3)}},
                       {"CGP", {even(K, 1e-3), even(K, 0.3), even(K, 0.4)}}};
  for (OwnPrior& prior : priors) {
    const bool has_zeros = prior.key == "CGP";
    std::vector<float> first;
    for (const int threads : {1, 2, 7}) {
      std::vector<float> out(static_cast<std::size_t>(I * K), -1.0F);
      draw_scores({prior.view(), {c.data(), I, K, K}, out.data(), 3, 9, Purpose::kept_scores},
                  threads);
      const auto zeros = std::count(out.begin(), out.end(), 0.0F);
      CHECK(
          std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x) && x >= 0; }));
      CHECK(has_zeros ? zeros > 0 && zeros < I * K : zeros == 0);
      if (first.empty()) first = out;
      CHECK(first == out);
    }
  }
}

TEST(direct_sampling_does_not_depend_on_threads) {
  const OwnedCounts W = random_counts(300, 50, 12, 6);
  const std::int64_t K = 18, J = W.n_features, I = W.n_docs();
  const std::vector<std::int32_t> block(static_cast<std::size_t>(J), 0);
  const std::vector<double> gamma(static_cast<std::size_t>(J), 0.02);
  OwnPrior prior{"CGP", {even(K, 1e-3), even(K, 0.3), even(K, 0.4)}};
  std::vector<std::int32_t> first;
  for (const int threads : {1, 2, 7}) {
    std::vector<std::int32_t> c(static_cast<std::size_t>(I * K), 0),
        c_new = c, n(static_cast<std::size_t>(J * K), 0);
    double log_words = 0;
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      const std::int64_t padded = padded_width<float>(K);
      std::vector<float> Theta(static_cast<std::size_t>(J * padded));
      std::vector<double> log_scale(static_cast<std::size_t>(J));
      draw_loadings({n.data(), J, K, K}, gamma.data(), block.data(), 1, 21, sweep,
                    Purpose::loadings, {Theta.data(), J, K, padded}, log_scale.data(), threads);
      std::fill(n.begin(), n.end(), 0);
      const SamplePass pass{
          W.view(),
          {Theta.data(), J, K, padded},
          log_scale.data(),
          {prior.view(), {c.data(), I, K, K}, nullptr, 21, sweep, Purpose::allocation},
          {c_new.data(), I, K, K},
          n.data()};
      log_words = sample_documents(pass, threads);
      std::swap(c, c_new);
    }
    CHECK(std::isfinite(log_words));
    std::int64_t total_n = 0, total_c = 0, total = 0;
    for (const std::int32_t x : n) total_n += x;
    for (const std::int32_t x : c) total_c += x;
    for (const std::int32_t x : W.data) total += x;
    CHECK(total_n == total);
    CHECK(total_c == total);
    if (first.empty()) first = n;
    CHECK(first == n);
  }
}

}  // namespace dcomp::test
