// The Laplace kernel under sanitizers: modes are modes, and threads change nothing.
// That it equals the plain version is tested from Python.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "dcomp/laplace.hpp"
#include "fitting.hpp"
#include "random_counts.hpp"

namespace dcomp::test {
namespace {

struct LaplaceFit {
  Matrix<double> eta, c, n;
  LaplaceTotals totals;
};

// A precision with off-diagonal terms and rows that sum to 1, as the model gives it.
Matrix<double> precision(std::int64_t K) {
  Matrix<double> P(K, K);
  for (std::int64_t k = 0; k < K; ++k)
    for (std::int64_t l = 0; l < K; ++l)
      P(k, l) = (k == l ? 1.0 : 0.0) + 0.3 * ((k == l ? 1.0 : 0.0) - 1.0 / static_cast<double>(K));
  return P;
}

template <class T>
LaplaceFit run(const OwnedCounts& W, std::int64_t K, int max_inner, int n_threads) {
  const std::int64_t J = W.n_features, I = W.n_docs();
  Matrix<T> Theta(J, K, padded_width<T>(K)), c(I, K), n(J, K);
  Random random(7);
  for (std::int64_t j = 0; j < J; ++j)
    for (std::int64_t k = 0; k < K; ++k) Theta(j, k) = static_cast<T>(0.01 + random.uniform());
  const std::vector<double> log_scale(static_cast<std::size_t>(J), -1.0),
      mu0(static_cast<std::size_t>(K), 0.0);
  const Matrix<double> P = precision(K);
  const Matrix<double> eta_in(I, K);
  Matrix<double> eta(I, K);
  const LaplaceInput<T> input{W.view(), Theta.view(), log_scale.data(), mu0.data(),
                              P.view(), 0.0,          max_inner,        1e-12};
  const CorpusIndex index(W.view());
  LaplaceFit fit;
  fit.totals = laplace<T>(input, index, eta_in.view(), eta.rows(), c.rows(), n.rows(), n_threads);
  fit.eta = eta;
  fit.c = c.template as<double>();
  fit.n = n.template as<double>();
  return fit;
}

// c - L m - P eta, which is 0 at a mode.
double steepest(const LaplaceFit& fit, std::int64_t K, std::int64_t i) {
  const Matrix<double> P = precision(K);
  double length = 0, total = 0, worst = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    length += fit.c(i, k);
    total += std::exp(fit.eta(i, k));
  }
  for (std::int64_t k = 0; k < K; ++k) {
    double slope = fit.c(i, k) - length * std::exp(fit.eta(i, k)) / total;
    for (std::int64_t l = 0; l < K; ++l) slope -= P(k, l) * fit.eta(i, l);
    worst = std::max(worst, std::abs(slope) / (length + 1));
  }
  return worst;
}

}  // namespace

TEST(laplace_reaches_modes) {
  const OwnedCounts W = random_counts(60, 40, 25, 3);
  for (const std::int64_t K : {1, 2, 3, 7, 8, 9, 17, 40}) {
    // Where f is not concave the steps are those of EM, and a few documents take a hundred.
    const LaplaceFit fit = run<double>(W, K, 300, 2);
    double words = 0, counted = 0;
    for (std::int64_t i = 0; i < W.n_docs(); ++i) CHECK_CLOSE(steepest(fit, K, i), 0, 1e-6);
    for (const std::int32_t w : W.data) words += w;
    for (const double value : fit.n.values) counted += value;
    CHECK_CLOSE(counted, words, 1e-6 * words);
    CHECK(fit.totals.unsettled == 0);
    for (std::int64_t k = 0; k < K; ++k)
      for (std::int64_t l = 0; l < K; ++l)
        CHECK(fit.totals.S[static_cast<std::size_t>(k * K + l)] ==
              fit.totals.S[static_cast<std::size_t>(l * K + k)]);
  }
}

TEST(laplace_is_the_same_on_any_number_of_threads) {
  const OwnedCounts W = random_counts(200, 50, 20, 5);
  const LaplaceFit one = run<float>(W, 11, 1, 1);
  for (const int n_threads : {2, 7}) {
    const LaplaceFit other = run<float>(W, 11, 1, n_threads);
    CHECK(one.eta.values == other.eta.values);
    CHECK(one.n.values == other.n.values);
    CHECK(one.totals.S == other.totals.S);
    CHECK(one.totals.value == other.totals.value);
    CHECK(one.totals.squares == other.totals.squares);
  }
}

}  // namespace dcomp::test
