// Score priors: what was compiled of them is what the tables hold, and every one of them, whatever
// its parameters are called, agrees with itself from mode to mode.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "check.hpp"
#include "dcomp/compiled.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/score_weights.hpp"
#include "fitting.hpp"
#include "instruction_sets.hpp"
#include "own_prior.hpp"

namespace dcomp::test {
namespace {

std::string key_of(int p) { return score_priors()[static_cast<std::size_t>(p)].key; }

// log E[prod score^c] of one document.
double log_moment(const ScorePrior& prior, const std::vector<std::int32_t>& c) {
  const auto K = static_cast<std::int64_t>(c.size());
  return log_score_moments({1, K, c.data(), K, nullptr, {}}, prior, nullptr, 1);
}

}  // namespace

TEST(the_cells_are_those_of_the_registry) {
  std::vector<Cell> expected = {
      {"DM", "expect"},   {"GP", "expect"},    {"TM", "expect"},    {"DM", "maximise"},
      {"GP", "maximise"}, {"DM", "temper"},    {"GP", "factorise"}, {"DM", "sample"},
      {"GP", "sample"},   {"CGP", "sample"},   {"TM", "sample"},    {"DM", "collapse"},
      {"GP", "collapse"}, {"CGP", "collapse"}, {"TM", "collapse"},  {"ST", "collapse"},
      {"LN", "laplace"},
  };
  if (prior_named("EX") >= 0)
    for (const char* mode : {"expect", "sample", "collapse"}) expected.push_back({"EX", mode});
  const std::vector<Cell>& cells = compiled();
  CHECK(cells.size() == expected.size());
  for (const Cell& cell : expected)
    CHECK(std::find(cells.begin(), cells.end(), cell) != cells.end());
}

TEST(what_is_compiled_is_what_the_tables_of_every_set_hold) {
  for (const InstructionSet* set : available_sets()) {
    CHECK(set->n_priors == static_cast<int>(score_priors().size()));
    for (int p = 0; p < set->n_priors; ++p) {
      const auto agrees = [&](const char* mode, bool is_there) {
        CHECK(is_compiled(key_of(p), mode) == is_there);
      };
      agrees("expect", set->f32.priors[p].expect != nullptr);
      agrees("expect", set->f64.priors[p].expect != nullptr);
      agrees("maximise", set->f32.priors[p].maximise != nullptr);
      agrees("maximise", set->f64.priors[p].maximise != nullptr);
      agrees("temper", set->f32.priors[p].temper != nullptr);
      agrees("temper", set->f64.priors[p].temper != nullptr);
      agrees("sample", set->priors[p].sample_document != nullptr);
      agrees("sample", set->priors[p].draw_scores != nullptr && set->priors[p].room > 0);
      agrees("collapse", set->priors[p].collapse[0][0] != nullptr);
      agrees("collapse", set->priors[p].collapse[0][1] != nullptr);
    }
    for (const auto& [key, mode] :
         {std::pair{set->f64.factor_rows.key, set->f64.factor_rows.mode},
          {set->f64.laplace_documents.key, set->f64.laplace_documents.mode},
          {set->collapse_structured.key, set->collapse_structured.mode}})
      CHECK(is_compiled(key, mode));
  }
}

TEST(priors_have_names_of_their_own) {
  std::set<std::string> keys;
  for (const PriorDescription& about : score_priors()) {
    CHECK(keys.insert(about.key).second);
    CHECK(prior_named(about.key) == static_cast<int>(keys.size()) - 1);
    const std::set<std::string> names(about.parameters.begin(), about.parameters.end());
    CHECK(!names.empty() && names.size() == about.parameters.size());
  }
  CHECK(prior_named("XX") == -1);
}

// E[score_k | c] is g(c + 1_k) / g(c): the predictive and the moments of a prior are one and the
// same thing, which a wrong line in either would break.
TEST(predictives_are_ratios_of_moments) {
  for (const PriorDescription& about : score_priors())
    for (const double e : {1.0, 0.3, 40.0}) {
      OwnPrior own = any_prior(about, 5);
      if (!about.normalised && e != 1) own.exposure = {e};
      const ScorePrior prior = own.view();
      if (!predicts_linearly(prior)) continue;
      const PreparedWeights weights(prior, 1, 5);
      const LogWeights logs(prior, 1, 5);
      const ScoreWeights at = weights.view();
      for (const std::vector<std::int32_t>& c :
           {std::vector<std::int32_t>{0, 0, 0, 0, 0}, {3, 0, 1, 200, 0}}) {
        double total = 0;
        std::vector<double> ratio;
        for (std::size_t k = 0; k < 5; ++k) {
          std::vector<std::int32_t> more = c;
          ++more[k];
          ratio.push_back(std::exp(log_moment(prior, more) - log_moment(prior, c)));
          total += about.normalised ? static_cast<double>(at.a[k]) + c[k] : 0.0;
        }
        for (std::size_t k = 0; k < 5; ++k) {
          const double a0 = static_cast<double>(at.a0[k]), a = static_cast<double>(at.a[k]),
                       F = static_cast<double>(at.F[k]);
          const double weight = F * (c[k] > 0 ? a + c[k] : a0);
          CHECK_CLOSE(weight / (about.normalised ? total : 1.0), ratio[k], 1e-5 * ratio[k]);
          CHECK_CLOSE(std::exp(static_cast<double>(logs.F[k])), F, 1e-6 * F);
          CHECK_CLOSE(std::exp(static_cast<double>(logs.present[k])) * a, a0, 1e-5 * a);
        }
      }
    }
}

// The mean of many draws given c is the same ratio of moments.
TEST(draws_have_the_mean_of_the_moments) {
  constexpr std::int64_t I = 40000, K = 3;
  for (const PriorDescription& about : score_priors()) {
    if (!is_compiled(about.key, "sample")) continue;
    OwnPrior own = any_prior(about, K);
    if (!about.normalised) own.exposure = {0.7};
    const std::vector<std::int32_t> c = {4, 0, 1};
    std::vector<double> expected;
    for (std::size_t k = 0; k < K; ++k) {
      std::vector<std::int32_t> more = c;
      ++more[k];
      const ScorePrior prior = own.view();
      expected.push_back(std::exp(log_moment(prior, more) - log_moment(prior, c)));
    }
    if (!about.normalised) own.exposure.assign(I, 0.7);
    std::vector<std::int32_t> rows;
    for (std::int64_t i = 0; i < I; ++i) rows.insert(rows.end(), c.begin(), c.end());
    std::vector<float> out(static_cast<std::size_t>(I * K));
    draw_scores({own.view(), {rows.data(), I, K, K}, out.data(), 5, 1, Purpose::kept_scores}, 2);
    for (std::size_t k = 0; k < K; ++k) {
      double sum = 0, square = 0;
      for (std::size_t at = k; at < out.size(); at += K) {
        const auto score = static_cast<double>(out[at]);
        sum += score;
        square += score * score;
      }
      const double mean = sum / I, error = std::sqrt((square / I - mean * mean) / I);
      CHECK_CLOSE(mean, expected[k], 4.5 * error);
    }
  }
}

// With one component nothing is approximated: the bound of mean field is the document's moment and
// its words, and the mean of the score is the predictive.
TEST(bounds_are_moments_where_one_component_has_all) {
  const OwnedCounts W = random_counts(40, 20, 8, 15);
  const std::int64_t I = W.n_docs();
  const Loadings<double> theta = loadings<double>(make_model(kDirichlet, 1, W.n_features),
                                                  random_matrix(W.n_features, 1, 0, 9, 16));
  const std::vector<double> words =
      log_predictive_of<double>(W, theta, random_matrix(I, 1, 1, 2, 0));
  for (const PriorDescription& about : score_priors()) {
    if (!is_compiled(about.key, "expect")) continue;
    OwnPrior own = any_prior(about, 1);
    for (std::int64_t i = 0; !about.normalised && i < I; ++i)
      own.exposure.push_back(0.2 + 0.1 * static_cast<double>(i));
    const ExpectInput<double> input{
        W.view(), theta.Theta.view(), theta.log_scale.data(), own.view(), 3, 0};
    const Matrix<double> start(I, 1);
    Matrix<double> c(I, 1);
    std::vector<double> bound(static_cast<std::size_t>(I));
    const ExpectSums sums = fold_in<double>(input, start.view(), c.rows(), bound.data(), 2);
    double mean = 0;
    for (std::int64_t i = 0; i < I; ++i) {
      const auto at = static_cast<std::size_t>(i);
      OwnPrior one = any_prior(about, 1);
      if (!about.normalised) one.exposure = {own.exposure[at]};
      std::int32_t length = 0;
      for (auto p = W.indptr[at]; p < W.indptr[at + 1]; ++p)
        length += W.data[static_cast<std::size_t>(p)];
      const double evidence = log_moment(one.view(), {length});
      CHECK_CLOSE(bound[at], evidence + words[at], 1e-11 * (1 + std::abs(evidence + words[at])));
      mean += std::exp(log_moment(one.view(), {length + 1}) - evidence);
    }
    CHECK_CLOSE(sums.mean[0], mean, 1e-10 * mean);
  }
}

// Without words about it the mean field of two components is that of each alone: a prior must not
// take one component's parameters for another's.
TEST(components_keep_their_own_parameters) {
  constexpr std::int64_t K = 19;
  OwnedCounts W;
  W.n_features = 1;
  W.end_document();  // one document, empty
  const Loadings<float> theta = loadings<float>(make_model(kDirichlet, K, 1), Matrix<float>(1, K));
  for (const PriorDescription& about : score_priors()) {
    if (about.normalised || !is_compiled(about.key, "expect")) continue;
    OwnPrior own = any_prior(about, K);
    const ExpectInput<float> input{
        W.view(), theta.Theta.view(), theta.log_scale.data(), own.view(), 1, 0};
    const Matrix<float> start(1, K);
    Matrix<float> c(1, K);
    double bound = 0;
    const ExpectSums sums = fold_in<float>(input, start.view(), c.rows(), &bound, 1);
    for (std::size_t k = 0; k < K; ++k) {
      std::vector<std::int32_t> none(K, 0), one(K, 0);
      one[k] = 1;
      const double mean = std::exp(log_moment(own.view(), one) - log_moment(own.view(), none));
      CHECK_CLOSE(sums.mean[k], mean, 1e-6 * mean);
    }
  }
}

}  // namespace dcomp::test
