// The mean-field passes against the plain ones, on any number of threads and at the extremes.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "check.hpp"
#include "instruction_sets.hpp"
#include "plain_mean_field.hpp"
#include "small_fit.hpp"

namespace dcomp::test {

namespace {

constexpr Kind kKinds[] = {kDirichlet, kGamma};
constexpr Treatment kTreatments[] = {Treatment::mean, Treatment::map, Treatment::vb};
constexpr std::int32_t kLargestCount = std::numeric_limits<std::int32_t>::max();

// What one pass may lose, relative to the size of the quantity: rounding of digamma and of sums.
template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 2e-12;

double length(const OwnedCounts& W, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  return std::accumulate(W.data.begin() + W.indptr[at], W.data.begin() + W.indptr[at + 1], 0.0);
}

double row_sum(const Matrix<double>& m, std::int64_t i) {
  double sum = 0;
  for (std::int64_t k = 0; k < m.width; ++k) sum += m(i, k);
  return sum;
}

template <class T>
void check_scores(const Matrix<T>& c, const PlainPass& plain, const OwnedCounts& W) {
  for (std::int64_t i = 0; i < c.n_rows; ++i)
    for (std::int64_t k = 0; k < c.width; ++k)
      CHECK_CLOSE(c(i, k), plain.c(i, k), kTolerance<T> * length(W, i));
}

template <class T>
void check_sums(const ExpectSums& sums, const PlainPass& plain, std::int64_t n_docs) {
  const double scale = static_cast<double>(n_docs);
  double bound = 0, size = 0;
  for (const double b : plain.bound) {
    bound += b;
    size += std::abs(b);
  }
  CHECK(sums.inner == plain.inner);
  CHECK_CLOSE(sums.bound, bound, kTolerance<T> * (size + scale));
  for (std::size_t k = 0; k < plain.log.size(); ++k) {
    CHECK_CLOSE(sums.log[k], plain.log[k], kTolerance<T> * (std::abs(plain.log[k]) + scale));
    CHECK_CLOSE(sums.mean[k], plain.mean[k], kTolerance<T> * (plain.mean[k] + scale));
  }
}

// expect and fold_in on the same loadings, from the same c.
template <class T>
void check_passes(const Model& model, const OwnedCounts& W, const Schedule& schedule) {
  const std::int64_t K = model.n_components();
  // Statistics as they are in a fit: large and small, some of them zero.
  Matrix<double> n = random_matrix(W.n_features, K, 0, 20, 11);
  for (std::size_t at = 0; at < n.values.size(); at += 7) n.values[at] = 0;
  const Matrix<double> c = random_matrix(W.n_docs(), K, 0, 4, 12);
  const Loadings<T> theta = loadings<T>(model, n.as<T>());
  const PlainPass plain = plain_pass(model, W, plain_loadings(model, n).log_weight, c, schedule);

  const Pass<T> expected = expect_pass<T>(model, W, theta, c.as<T>(), schedule);
  check_scores(expected.c, plain, W);
  check_sums<T>(expected.sums, plain, W.n_docs());
  for (std::int64_t j = 0; j < W.n_features; ++j)
    for (std::int64_t k = 0; k < K; ++k)
      CHECK_CLOSE(expected.n(j, k), plain.n(j, k), kTolerance<T> * row_sum(plain.n, j));

  const Pass<T> folded = fold_in_pass<T>(model, W, theta, c.as<T>(), schedule);
  check_scores(folded.c, plain, W);
  check_sums<T>(folded.sums, plain, W.n_docs());
  for (std::size_t i = 0; i < folded.bound.size(); ++i)
    CHECK_CLOSE(folded.bound[i], plain.bound[i],
                kTolerance<T> *
                    (10 + std::abs(plain.bound[i]) + 10 * length(W, static_cast<std::int64_t>(i))));
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
bool all_finite(const std::vector<T>& values) {
  for (const T value : values)
    if (!std::isfinite(value)) return false;
  return true;
}

bool finite(const ExpectSums& sums) {
  return std::isfinite(sums.bound) && all_finite(sums.log) && all_finite(sums.mean);
}

Model with_blocks(Model model, std::int64_t n_blocks) {
  model.n_blocks = n_blocks;
  for (std::size_t j = 0; j < model.block.size(); ++j) {
    model.block[j] = static_cast<std::int32_t>((j * 11) % static_cast<std::size_t>(n_blocks));
    model.gamma[j] = 1 + 0.25 * static_cast<double>(j % 3);  // at least 1, as map wants it
  }
  return model;
}

Model with_exposure(Model model, std::int64_t n_docs) {
  Random random(21);
  for (std::int64_t i = 0; i < n_docs; ++i)
    model.exposure.push_back(i % 9 == 0 ? 0 : 3 * random.uniform());
  return model;
}

template <class T>
void check_loadings(const Model& model, const Matrix<double>& n) {
  const Loadings<T> fast = loadings<T>(model, n.as<T>(), 3);
  const PlainLoadings plain = plain_loadings(model, n);
  for (std::int64_t j = 0; j < n.n_rows; ++j) {
    const double scale = fast.log_scale[static_cast<std::size_t>(j)];
    for (std::int64_t k = 0; k < n.width; ++k) {
      // Weights far below the largest of their row meet the floor.
      const double value = std::exp(plain.log_weight(j, k) - scale);
      CHECK_CLOSE(fast.Theta(j, k), value, kTolerance<T> * value + 2e-18);
    }
    for (std::int64_t k = n.width; k < fast.Theta.stride; ++k) CHECK(fast.Theta(j, k) == T(0));
  }
  CHECK_CLOSE(fast.objective, plain.objective, 1e-11 * (1 + std::abs(plain.objective)));
}

// A fit of a few passes; records bound + prior term before each update of the loadings.
template <class T>
struct Fitted {
  Pass<T> pass;
  std::vector<double> objective;
};
template <class T>
Fitted<T> fit(const Model& model, const OwnedCounts& W, int n_passes, const Schedule& schedule) {
  Fitted<T> out;
  Matrix<T> n = random_matrix(W.n_features, model.n_components(), 0.5, 4, 31).as<T>();
  out.pass.c = random_matrix(W.n_docs(), model.n_components(), 0, 2, 32).as<T>();
  for (int t = 0; t < n_passes; ++t) {
    const Loadings<T> theta = loadings<T>(model, n, schedule.n_threads);
    out.pass = expect_pass<T>(model, W, theta, out.pass.c, schedule);
    n = out.pass.n;
    out.objective.push_back(out.pass.sums.bound + theta.objective);
  }
  return out;
}

template <class T>
void append_small_fit(std::vector<double>& out) {
  const OwnedCounts W = random_counts(60, 45, 15, 41);
  for (const Kind& kind : kKinds) {
    Model model = with_blocks(make_model(kind, 6, W.n_features), 2);
    model.treatment = kind == kGamma ? Treatment::mean : Treatment::vb;
    const Fitted<T> fitted = fit<T>(model, W, 4, {2, 0, 2});
    out.push_back(fitted.objective.back());
    out.insert(out.end(), fitted.pass.c.values.begin(), fitted.pass.c.values.end());
    out.insert(out.end(), fitted.pass.n.values.begin(), fitted.pass.n.values.end());
  }
}

// Every quantity finite, and no count lost: sum_k c_ik = L_i, sum_k n_jk = sum_i w_ij.
template <class T>
void check_extreme(const Model& model, const OwnedCounts& W) {
  const std::int64_t K = model.n_components();
  Model with = model;
  for (const Treatment treatment : {Treatment::mean, Treatment::vb}) {
    with.treatment = treatment;
    Matrix<T> n(W.n_features, K), c(W.n_docs(), K);
    n(0, 0) = 1;  // the rest exact zeros
    for (int t = 0; t < 4; ++t) {
      const Loadings<T> theta = loadings<T>(with, n);
      CHECK(all_finite(theta.Theta.values) && all_finite(theta.log_scale));
      CHECK(std::isfinite(theta.objective));
      const Pass<T> pass = expect_pass<T>(with, W, theta, c, {3, 0, 2});
      CHECK(finite(pass.sums) && all_finite(pass.c.values) && all_finite(pass.n.values));
      const Pass<T> folded = fold_in_pass<T>(with, W, theta, c, {50, 1e-6, 2});
      CHECK(finite(folded.sums) && all_finite(folded.c.values) && all_finite(folded.bound));
      c = pass.c;
      n = pass.n;
      Matrix<T> scores = c;
      for (T& value : scores.values) value += static_cast<T>(model.alpha[0]);
      CHECK(all_finite(log_predictive_of<T>(W, theta, scores)));
    }
    std::vector<double> of_feature(static_cast<std::size_t>(W.n_features), 0.0);
    for (std::size_t p = 0; p < W.data.size(); ++p)
      of_feature[static_cast<std::size_t>(W.indices[p])] += W.data[p];
    const auto c_double = c.template as<double>(), n_double = n.template as<double>();
    for (std::int64_t i = 0; i < W.n_docs(); ++i)
      CHECK_CLOSE(row_sum(c_double, i), length(W, i), kTolerance<T> * length(W, i));
    for (std::int64_t j = 0; j < W.n_features; ++j) {
      const double total = of_feature[static_cast<std::size_t>(j)];
      CHECK_CLOSE(row_sum(n_double, j), total, kTolerance<T> * total);
    }
  }
}

void check_extremes(const Model& model, const OwnedCounts& W) {
  check_extreme<float>(model, W);
  check_extreme<double>(model, W);
}

OwnedCounts one_word_documents(std::int64_t n_docs, std::int64_t n_features, std::int32_t count) {
  OwnedCounts W;
  W.n_features = n_features;
  for (std::int64_t i = 0; i < n_docs; ++i) {
    W.add(static_cast<std::int32_t>(i % n_features), count);
    W.end_document();
  }
  return W;
}

// Whole numbers, once as they are and once as fractional ones. With few components these are two
// kernels that add in different orders: then only what has settled, or was updated once or a few
// times, is alike, and to rounding.
template <class T>
void check_weights(const Kind& kind, std::int64_t K, const Schedule& schedule) {
  const OwnedCounts W = random_counts(90, 50, 12, 31), same = as_weights(W);
  const Model model = make_model(kind, K, W.n_features);
  const Loadings<T> theta = loadings<T>(model, random_matrix(W.n_features, K, 0, 20, 32).as<T>());
  const Matrix<T> c = random_matrix(W.n_docs(), K, 0, 4, 33).as<T>();
  const Pass<T> whole = expect_pass<T>(model, W, theta, c, schedule);
  const Pass<T> parted = expect_pass<T>(model, same, theta, c, schedule);
  for (std::size_t at = 0; at < whole.c.values.size(); ++at)
    CHECK_CLOSE(parted.c.values[at], whole.c.values[at], kTolerance<T> * 50);
  for (std::size_t at = 0; at < whole.n.values.size(); ++at)
    CHECK_CLOSE(parted.n.values[at], whole.n.values[at], kTolerance<T> * 200);
  const double rounding = K <= kFewComponents ? kTolerance<T> : 1e-9;
  CHECK_CLOSE(parted.sums.bound, whole.sums.bound, rounding * std::abs(whole.sums.bound));
  const Pass<T> folded = fold_in_pass<T>(model, W, theta, c, schedule);
  const Pass<T> again = fold_in_pass<T>(model, same, theta, c, schedule);
  for (std::size_t i = 0; i < folded.bound.size(); ++i)
    CHECK_CLOSE(again.bound[i], folded.bound[i], kTolerance<T> * (1 + std::abs(folded.bound[i])));
}

}  // namespace

TEST(whole_numbers_as_fractional_ones) {
  for (const Kind& kind : kKinds)
    for (const std::int64_t K : {2, 5, 8, 17})
      for (const int max_inner : {1, 3, K <= kFewComponents ? 2000 : 40}) {  // 40: by columns
        check_weights<float>(kind, K, {max_inner, 0, 2});
        check_weights<double>(kind, K, {max_inner, 0, 2});
      }
}

std::vector<double> small_fit() {
  std::vector<double> out;
  append_small_fit<double>(out);
  append_small_fit<float>(out);
  return out;
}

TEST(passes_equal_plain_mean_field) {
  const OwnedCounts W = random_counts(70, 53, 20, 7);
  for (const Kind& kind : kKinds)
    for (const std::int64_t K : {1, 2, 7, 16, 33}) {
      const Model model = make_model(kind, K, W.n_features);
      for (const int max_inner : {1, 4}) {
        check_passes<double>(model, W, {max_inner, 0, 1});
        check_passes<float>(model, W, {max_inner, 0, 1});
      }
    }
}

TEST(passes_equal_plain_mean_field_with_exposure_blocks_and_treatments) {
  const OwnedCounts W = random_counts(64, 41, 12, 8);
  for (const Kind& kind : kKinds)
    for (const Treatment treatment : kTreatments) {
      Model model = with_blocks(make_model(kind, 5, W.n_features), 3);
      if (kind == kGamma) model = with_exposure(model, W.n_docs());
      model.treatment = treatment;
      // map at gamma = 1 has weights of exact zero, which logs of double cannot follow.
      if (treatment == Treatment::map)
        for (double& gamma : model.gamma) gamma += 0.5;
      check_passes<double>(model, W, {3, 0, 2});
      check_passes<float>(model, W, {3, 0, 2});
    }
}

TEST(passes_equal_plain_mean_field_over_several_slabs) {
  const OwnedCounts W = random_counts(2 * 8192 + 100, 30, 4, 9);
  for (const Kind& kind : kKinds)
    check_passes<double>(make_model(kind, 3, W.n_features), W, {1, 0, 2});
}

TEST(loadings_equal_plain_loadings) {
  const std::int64_t J = 700, K = 5;
  Matrix<double> n = random_matrix(J, K, 0, 50, 51);
  for (std::size_t at = 0; at < n.values.size(); at += 3) n.values[at] = 0;
  for (const Treatment treatment : kTreatments)
    for (const std::int64_t n_blocks : {1, 3, 350}) {
      Model model = with_blocks(make_model(kDirichlet, K, J), n_blocks);
      model.treatment = treatment;
      for (double& gamma : model.gamma)
        gamma = treatment == Treatment::map ? gamma + 0.25 : gamma * 0.125;
      check_loadings<double>(model, n);
      check_loadings<float>(model, n);
    }
}

TEST(map_at_gamma_one_keeps_exact_zeros_at_the_floor) {
  Model model = make_model(kDirichlet, 3, 4);
  model.treatment = Treatment::map;
  model.gamma.assign(4, 1.0);
  Matrix<double> n(4, 3);
  n(0, 0) = 3;
  n(1, 0) = 1;
  n(1, 1) = 2;
  n(2, 2) = 5;  // feature 3 has no statistics at all
  const Loadings<double> theta = loadings<double>(model, n);
  CHECK(all_finite(theta.Theta.values) && all_finite(theta.log_scale));
  CHECK_CLOSE(theta.Theta(0, 0) * std::exp(theta.log_scale[0]), 0.75, 1e-14);
  CHECK(theta.Theta(0, 1) > 0 && theta.Theta(0, 1) < 1e-100);
  CHECK_CLOSE(theta.objective, 3 * std::log(6.0), 1e-12);  // three uniform Dirichlets: K ln 3!
}

TEST(log_predictive_equals_the_plain_one) {
  const OwnedCounts W = random_counts(100, 47, 15, 10);
  for (const Treatment treatment : kTreatments)
    for (const std::int64_t K : {1, 5, 18}) {
      Model model = with_blocks(make_model(kDirichlet, K, W.n_features), 2);
      for (double& gamma : model.gamma) gamma += 0.25;
      model.treatment = treatment;
      const Matrix<double> n = random_matrix(W.n_features, K, 0, 30, 13);
      const Matrix<double> scores = random_matrix(W.n_docs(), K, 0.001, 3, 14);
      const auto plain = plain_log_predictive(W, plain_loadings(model, n).log_weight, scores);
      const auto f64 = log_predictive_of<double>(W, loadings<double>(model, n), scores, 2);
      const auto f32 =
          log_predictive_of<float>(W, loadings<float>(model, n.as<float>()), scores.as<float>(), 2);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        CHECK_CLOSE(f64[i], plain[i], kTolerance<double> * std::abs(plain[i]));
        CHECK_CLOSE(f32[i], plain[i], kTolerance<float> * std::abs(plain[i]));
      }
    }
}

// With one component nothing is approximated: the bound is the evidence itself.
TEST(bound_is_exact_for_one_component) {
  const OwnedCounts W = random_counts(40, 20, 8, 15);
  const Matrix<double> n = random_matrix(W.n_features, 1, 0, 9, 16);
  for (const Kind& kind : kKinds) {
    Model model = make_model(kind, 1, W.n_features);
    if (kind == kGamma) model = with_exposure(model, W.n_docs());
    const Loadings<double> theta = loadings<double>(model, n);
    const auto words = log_predictive_of<double>(W, theta, random_matrix(W.n_docs(), 1, 1, 2, 0));
    const Pass<double> pass =
        fold_in_pass<double>(model, W, theta, Matrix<double>(W.n_docs(), 1), {2, 0, 1});
    const double alpha = model.alpha[0], beta = model.beta[0];
    for (std::int64_t i = 0; i < W.n_docs(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      double evidence = words[at];
      if (kind == kGamma)
        evidence += std::lgamma(alpha + length(W, i)) - std::lgamma(alpha) +
                    alpha * std::log(beta) -
                    (alpha + length(W, i)) * std::log(beta + model.exposure[at]);
      CHECK_CLOSE(pass.bound[at], evidence, 1e-11 * (1 + std::abs(evidence)));
      CHECK_CLOSE(pass.c(i, 0), length(W, i), 1e-11 * length(W, i));
    }
  }
}

TEST(objective_never_falls) {
  const OwnedCounts W = random_counts(80, 50, 20, 17);
  for (const Kind& kind : kKinds)
    for (const Treatment treatment : kTreatments) {
      Model model = with_blocks(make_model(kind, 4, W.n_features), 2);
      if (kind == kGamma) model = with_exposure(model, W.n_docs());
      model.treatment = treatment;
      for (double& gamma : model.gamma) gamma += 0.25;
      const Fitted<double> fitted = fit<double>(model, W, 25, {1, 0, 1});
      for (std::size_t t = 1; t < fitted.objective.size(); ++t)
        CHECK(fitted.objective[t] >=
              fitted.objective[t - 1] - 1e-11 * std::abs(fitted.objective[t]));
      CHECK(fitted.objective.back() > fitted.objective.front());
    }
}

// Scores at their modes: shapes of 1 and more, documents without words, any number of threads.
template <class T>
void check_modes(const Kind& kind, Treatment treatment, double alpha) {
  OwnedCounts W = random_counts(80, 50, 20, 17);
  W.end_document();
  Model model = with_blocks(make_model(kind, 4, W.n_features), 2);
  if (model.has_beta()) model = with_exposure(model, W.n_docs());
  model.treatment = treatment;
  for (double& a : model.alpha) a = alpha;
  for (double& gamma : model.gamma) gamma = 1.25;
  const Fitted<T> fitted = fit<T>(model, W, 25, {3, 0, 1});
  for (std::size_t t = 1; t < fitted.objective.size(); ++t)
    CHECK(fitted.objective[t] >=
          fitted.objective[t - 1] - kTolerance<T> * std::abs(fitted.objective[t]));
  CHECK(fitted.objective.back() > fitted.objective.front());
  for (const T c : fitted.pass.c.values) CHECK(std::isfinite(c) && c >= 0);
  const Fitted<T> many = fit<T>(model, W, 25, {3, 0, 7});
  CHECK(same_bits(fitted.objective, many.objective));
  CHECK(same_bits(fitted.pass.n.values, many.pass.n.values));
}
TEST(log_posterior_never_falls) {
  for (const Kind& kind : {kDirichletMode, kGammaMode})
    for (const Treatment treatment : {Treatment::mean, Treatment::map})
      for (const double alpha : {1.0, 1.1, 3.0}) {
        check_modes<float>(kind, treatment, alpha);
        check_modes<double>(kind, treatment, alpha);
      }
}

TEST(inner_loop_stops_at_its_tolerance) {
  const OwnedCounts W = random_counts(50, 30, 10, 18);
  for (const Kind& kind : kKinds) {
    const Model model = make_model(kind, 4, W.n_features);
    const Matrix<double> n = random_matrix(W.n_features, 4, 0, 30, 19);
    const Loadings<double> theta = loadings<double>(model, n);
    const Matrix<double> start(W.n_docs(), 4);
    const Pass<double> pass = fold_in_pass<double>(model, W, theta, start, {5000, 1e-9, 2});
    CHECK(pass.sums.inner > W.n_docs() && pass.sums.inner < 5000 * W.n_docs());
    const Pass<double> again = fold_in_pass<double>(model, W, theta, pass.c, {1, 0, 2});
    for (std::int64_t i = 0; i < W.n_docs(); ++i) {
      double change = 0;
      for (std::int64_t k = 0; k < 4; ++k) change += std::abs(again.c(i, k) - pass.c(i, k));
      CHECK(change <= 1e-9 * length(W, i));
    }
  }
}

template <class T>
static void check_threads() {
  const OwnedCounts W = random_counts(8192 + 700, 400, 5, 22);
  for (const Kind& kind : kKinds) {
    const Model model = with_blocks(make_model(kind, 5, W.n_features), 2);
    const Fitted<T> one = fit<T>(model, W, 2, {2, 0, 1});
    const Loadings<T> theta = loadings<T>(model, one.pass.n, 1);
    const Pass<T> folded = fold_in_pass<T>(model, W, theta, one.pass.c, {2, 0, 1});
    const auto predicted = log_predictive_of<T>(W, theta, one.pass.c, 1);
    CHECK(same_bits(folded.c.values,
                    expect_pass<T>(model, W, theta, one.pass.c, {2, 0, 1}).c.values));
    for (const int n_threads : {2, 7}) {
      const Fitted<T> many = fit<T>(model, W, 2, {2, 0, n_threads});
      CHECK(same_bits(one.objective, many.objective));
      CHECK(same_bits(one.pass.c.values, many.pass.c.values));
      CHECK(same_bits(one.pass.n.values, many.pass.n.values));
      CHECK(same_bits(one.pass.sums.log, many.pass.sums.log));
      CHECK(same_bits(one.pass.sums.mean, many.pass.sums.mean));
      CHECK(one.pass.sums.inner == many.pass.sums.inner);
      const Pass<T> again = fold_in_pass<T>(model, W, theta, one.pass.c, {2, 0, n_threads});
      CHECK(same_bits(folded.c.values, again.c.values));
      CHECK(same_bits(folded.bound, again.bound));
      CHECK(same_bits(predicted, log_predictive_of<T>(W, theta, one.pass.c, n_threads)));
    }
  }
}
TEST(any_number_of_threads_gives_the_same_bits) {
  check_threads<float>();
  check_threads<double>();
}

TEST(extremes_of_counts_are_finite) {
  for (const Kind& kind : kKinds) {
    OwnedCounts W = random_counts(20, 12, 6, 23);
    for (std::int32_t& w : W.data) w = kLargestCount;
    check_extremes(make_model(kind, 3, W.n_features), W);
    check_extremes(make_model(kind, 3, 4), one_word_documents(12, 4, 1));
    check_extremes(make_model(kind, 3, 4), one_word_documents(12, 4, kLargestCount));
    check_extremes(make_model(kind, 1, 1), one_word_documents(1, 1, 1));
    check_extremes(make_model(kind, 2, 3), random_counts(4, 3, 1, 24));  // one document empty
  }
}

TEST(extremes_of_components_and_priors_are_finite) {
  const OwnedCounts W = random_counts(20, 9, 6, 25);
  for (const Kind& kind : kKinds) {
    check_extremes(make_model(kind, 100, W.n_features), W);  // K > J
    for (const double tiny : {1e-4, 1e-8}) {
      Model model = make_model(kind, 12, W.n_features);
      model.alpha.assign(12, tiny);
      model.gamma.assign(model.gamma.size(), tiny);
      check_extremes(model, W);
      check_extremes(model, one_word_documents(10, 9, kLargestCount));
    }
    Model wide = make_model(kind, 4, W.n_features);
    wide.alpha = {1e-4, 1e8, 1, 1e-4};
    wide.beta = {1e-6, 1e6, 1, 1e-6};
    check_extremes(wide, W);
    for (std::int64_t i = 0; kind == kGamma && i < W.n_docs(); ++i)
      wide.exposure.push_back(i % 2 == 0 ? 0 : 1e9);
    check_extremes(wide, W);
  }
}

// A word known to one component only, in a document that so far belongs to another: both weights
// vanish in any floating-point format, and the floor has to decide.
template <class T>
static void check_disjoint(const Model& model) {
  OwnedCounts W;
  W.n_features = 2;
  W.add(0, 1000);
  W.add(1, 1);
  W.end_document();
  Matrix<T> n(2, 2), c(1, 2);
  n(0, 0) = n(1, 1) = T(1e6);
  c(0, 1) = 5;
  const Pass<T> pass = expect_pass<T>(model, W, loadings<T>(model, n), c, {1, 0, 1});
  CHECK(finite(pass.sums) && all_finite(pass.c.values) && all_finite(pass.n.values));
  CHECK_CLOSE(pass.c(0, 0) + pass.c(0, 1), 1001, 1e-2);
  CHECK_CLOSE(pass.n(0, 0) + pass.n(0, 1), 1000, 1e-2);
}
TEST(words_without_a_common_component_are_allocated) {
  for (const Kind& kind : kKinds) {
    Model model = make_model(kind, 2, 2);
    model.treatment = Treatment::vb;
    model.alpha.assign(2, 1e-4);
    model.gamma.assign(2, 1e-4);
    check_disjoint<float>(model);
    check_disjoint<double>(model);
  }
}

// An empty document keeps the right posterior: the prior for DM, Gamma(alpha, beta + e) for GP.
TEST(empty_documents_have_their_posterior) {
  OwnedCounts W;
  W.n_features = 3;
  W.end_document();
  for (const Kind& kind : kKinds) {
    Model model = make_model(kind, 3, 3);
    if (kind == kGamma) model.exposure = {2.5};
    const Pass<double> pass =
        fold_in_pass<double>(model, W, loadings<double>(model, random_matrix(3, 3, 1, 2, 26)),
                             random_matrix(1, 3, 1, 2, 27), {10, 0, 1});
    double log_of_nothing = 0, alpha_total = 0;
    for (const double alpha : model.alpha) alpha_total += alpha;
    for (std::size_t k = 0; k < 3; ++k) {
      const double b = model.beta[k] + 2.5;
      CHECK(pass.c.values[k] == 0);
      CHECK_CLOSE(pass.sums.mean[k], model.alpha[k] / (kind == kGamma ? b : alpha_total), 1e-13);
      if (kind == kGamma) log_of_nothing += model.alpha[k] * std::log(model.beta[k] / b);
    }
    CHECK_CLOSE(pass.bound[0], log_of_nothing, 1e-12);
  }
}

// The choice of kernels is made once per process, so each set has one of its own.
TEST(instruction_sets_agree) {
  const std::vector<double> mine = small_fit();
  for (const InstructionSet* set : available_sets()) {
    if (set == &instruction_set()) continue;
    const std::string command =
        "DCOMP_SIMD=" + std::string(set->name) + " '" + program() + "' --small-fit";
    std::FILE* pipe = popen(command.c_str(), "r");
    CHECK(pipe != nullptr);
    if (pipe == nullptr) continue;
    std::vector<double> other;
    char line[64];
    while (std::fgets(line, sizeof line, pipe) != nullptr) other.push_back(std::atof(line));
    CHECK(pclose(pipe) == 0);
    CHECK(other.size() == mine.size());
    if (other.size() != mine.size()) continue;
    for (std::size_t at = 0; at < mine.size(); ++at) {
      const double tolerance = at < mine.size() / 2 ? 1e-11 : 1e-4;  // double, then float
      CHECK_CLOSE(other[at], mine[at], tolerance * (1 + std::abs(mine[at])));
    }
  }
}

}  // namespace dcomp::test
