// Left to right and tempered sweeps: nothing depends on threads or on where sweeps are cut, all
// under sanitizers.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/left_to_right.hpp"
#include "dcomp/tempered.hpp"
#include "own_prior.hpp"
#include "random_counts.hpp"

namespace dcomp::test {
namespace {

std::vector<double> run_left_to_right(const OwnedCounts& W, std::int64_t K, int particles,
                                      int moves, int n_threads) {
  const std::int64_t padded = padded_width<float>(K), I = W.n_docs();
  Random random(3);
  std::vector<float> Theta(static_cast<std::size_t>(W.n_features * padded), 0.0F);
  for (std::int64_t j = 0; j < W.n_features; ++j)
    for (std::int64_t k = 0; k < K; ++k)
      Theta[static_cast<std::size_t>(j * padded + k)] =
          static_cast<float>(0.01 + 0.99 * random.uniform());
  const std::vector<double> log_scale(static_cast<std::size_t>(W.n_features), -2.0);
  // A row of weights for each document, because exposures differ.
  OwnPrior prior{"CGP", {even(K, 0.3), even(K, 0.5), even(K, 0.6)}};
  for (std::int64_t i = 0; i < I; ++i)
    prior.exposure.push_back(0.5 + 0.01 * static_cast<double>(W.first + i));
  const LeftToRightInput input{W.view(),
                               {Theta.data(), W.n_features, K, padded},
                               log_scale.data(),
                               prior.view(),
                               particles,
                               moves,
                               7,
                               0};
  std::vector<double> out(static_cast<std::size_t>(I), 1.0);
  left_to_right(input, out.data(), n_threads);
  return out;
}

struct Tempered {
  std::vector<std::uint16_t> z;
  std::vector<double> log_scores, log_words;
};

Tempered run_tempered(const OwnedCounts& W, std::int64_t K, int n_threads, int cut,
                      std::int64_t first_chain = 0, std::int64_t chains = 5) {
  const std::int64_t sweeps = 6;
  const CsrView view = W.view();
  const auto tokens = std::accumulate(view.data, view.data + view.indptr[view.n_docs], 0LL);
  std::vector<std::int32_t> block(static_cast<std::size_t>(W.n_features));
  for (std::size_t j = 0; j < block.size(); ++j) block[j] = j % 3 == 2;
  const std::vector<double> gamma(block.size(), 0.1);
  OwnPrior prior{"CGP", {even(K, 0.2), even(K, 0.5), even(K, 0.3)}};
  const TemperedInput input{view, block.data(), 2, gamma.data(), prior.view(), 11};
  Tempered run;
  run.z.resize(static_cast<std::size_t>(chains * tokens));
  for (int first = 0; first < sweeps; first += cut) {
    const int n = std::min<int>(cut, sweeps - first);
    std::vector<double> t(static_cast<std::size_t>(n)), s(static_cast<std::size_t>(chains * n)),
        w(s.size());
    for (int q = 0; q < n; ++q) t[static_cast<std::size_t>(q)] = 0.2 * (first + q);
    tempered_sweeps(input, chains, t.data(), n, static_cast<std::uint32_t>(first), run.z.data(),
                    s.data(), w.data(), n_threads, first_chain);
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      run.log_scores.push_back(s[static_cast<std::size_t>((chain + 1) * n - 1)]);
      run.log_words.push_back(w[static_cast<std::size_t>((chain + 1) * n - 1)]);
    }
  }
  run.log_scores.erase(run.log_scores.begin(), run.log_scores.end() - chains);
  run.log_words.erase(run.log_words.begin(), run.log_words.end() - chains);
  return run;
}

}  // namespace

TEST(left_to_right_does_not_depend_on_threads) {
  const OwnedCounts W = random_counts(120, 40, 12, 3);
  for (const std::int64_t K : {1, 2, 17, 40})
    for (const int moves : {0, 3, 1000}) {
      const std::vector<double> one = run_left_to_right(W, K, 5, moves, 1);
      CHECK(std::all_of(one.begin(), one.end(), [](double x) { return std::isfinite(x); }));
      CHECK(one[3] == 0);  // an empty document
      for (const int threads : {2, 7}) CHECK(run_left_to_right(W, K, 5, moves, threads) == one);
    }
}

TEST(left_to_right_does_not_depend_on_where_the_corpus_is_cut) {
  const OwnedCounts W = random_counts(60, 40, 12, 3);
  for (const int moves : {0, 3}) {
    const std::vector<double> whole = run_left_to_right(W, 5, 4, moves, 1);
    std::vector<double> in_parts;
    for (const auto& [begin, end] : {std::pair{0, 23}, {23, 24}, {24, 60}})
      for (const double value : run_left_to_right(part_of(W, begin, end), 5, 4, moves, 2))
        in_parts.push_back(value);
    CHECK(whole == in_parts);
  }
}

TEST(tempered_chains_do_not_depend_on_how_many_run_in_a_call) {
  const OwnedCounts W = random_counts(60, 30, 10, 4);
  const Tempered all = run_tempered(W, 3, 1, 6);
  Tempered in_calls;
  for (const auto& [first, chains] : {std::pair{0, 1}, {1, 3}, {4, 1}}) {
    const Tempered some = run_tempered(W, 3, 2, 4, first, chains);
    in_calls.z.insert(in_calls.z.end(), some.z.begin(), some.z.end());
    in_calls.log_scores.insert(in_calls.log_scores.end(), some.log_scores.begin(),
                               some.log_scores.end());
    in_calls.log_words.insert(in_calls.log_words.end(), some.log_words.begin(),
                              some.log_words.end());
  }
  CHECK(all.z == in_calls.z);
  CHECK(all.log_scores == in_calls.log_scores);
  CHECK(all.log_words == in_calls.log_words);
}

TEST(tempered_sweeps_do_not_depend_on_threads_or_cuts) {
  const OwnedCounts W = random_counts(60, 30, 10, 4);
  for (const std::int64_t K : {1, 3, 17}) {
    const Tempered one = run_tempered(W, K, 1, 6);
    CHECK(*std::max_element(one.z.begin(), one.z.end()) < K);
    CHECK(std::all_of(one.log_words.begin(), one.log_words.end(),
                      [](double x) { return std::isfinite(x) && x < 0; }));
    for (const int threads : {2, 7})
      for (const int cut : {1, 4}) {
        const Tempered other = run_tempered(W, K, threads, cut);
        CHECK(one.z == other.z);
        CHECK(one.log_scores == other.log_scores);
        CHECK(one.log_words == other.log_words);
      }
  }
}

}  // namespace dcomp::test
