// Non-negative factorisation: the kernel against plain loops, its promises, threads and extremes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/factor.hpp"
#include "random_counts.hpp"

namespace dcomp::test {

namespace {

// F with columns that sum to 1, padded with zeros, and a first x; a few of its numbers are zero.
template <class T>
struct Problem {
  OwnedCounts W;
  std::int64_t K, padded;
  AlignedVector<T> F;
  std::vector<T> x;

  Problem(OwnedCounts counts, std::int64_t n_components, std::uint64_t seed)
      : W(std::move(counts)),
        K(n_components),
        padded(padded_width<T>(n_components)),
        F(static_cast<std::size_t>(W.n_features * padded)),
        x(static_cast<std::size_t>(W.n_docs() * n_components)) {
    Random random(seed);
    for (std::int64_t k = 0; k < K; ++k) {
      double total = 0;
      for (std::int64_t j = 0; j < W.n_features; ++j)
        total += static_cast<double>(f(j, k) = static_cast<T>(0.01 + random.uniform()));
      for (std::int64_t j = 0; j < W.n_features; ++j)
        f(j, k) = static_cast<T>(static_cast<double>(f(j, k)) / total);
    }
    for (T& value : x) value = static_cast<T>(random.below(7) == 0 ? 0.0 : 9 * random.uniform());
    for (std::int64_t i = 0; i < W.n_docs(); ++i) x[static_cast<std::size_t>(i * K)] = T(2);
  }
  T& f(std::int64_t j, std::int64_t k) { return F[static_cast<std::size_t>(j * padded + k)]; }

  FactorSums solve(FactorUpdate update, int rounds, int threads, std::vector<T>& out) const {
    out.assign(x.size(), T(0));
    const FactorPass<T> pass{W.view(),
                             {F.data(), W.n_features, K, padded},
                             {x.data(), W.n_docs(), K, K},
                             {out.data(), W.n_docs(), K, K},
                             update,
                             rounds,
                             0.0};
    return factor<T>(pass, threads);
  }
  // sum_k x_k - sum_p w_p log y_p of one row.
  double loss(std::int64_t i, const std::vector<T>& at) {
    double value = 0;
    for (std::int64_t k = 0; k < K; ++k)
      value += static_cast<double>(at[static_cast<std::size_t>(i * K + k)]);
    for (std::int64_t p = W.indptr[static_cast<std::size_t>(i)];
         p < W.indptr[static_cast<std::size_t>(i + 1)]; ++p) {
      const auto e = static_cast<std::size_t>(p);
      double y = 0;
      for (std::int64_t k = 0; k < K; ++k)
        y += static_cast<double>(f(W.indices[e], k)) *
             static_cast<double>(at[static_cast<std::size_t>(i * K + k)]);
      value -= W.data[e] * std::log(y);
    }
    return value;
  }
};

template <class T>
void multiplicative_is_plain() {
  Problem<T> problem(random_counts(40, 30, 20, 1), 5, 2);
  std::vector<T> out;
  problem.solve(FactorUpdate::multiplicative, 1, 2, out);
  for (std::int64_t i = 0; i < problem.W.n_docs(); ++i)
    for (std::int64_t k = 0; k < problem.K; ++k) {
      double g = 0;
      for (std::int64_t p = problem.W.indptr[static_cast<std::size_t>(i)];
           p < problem.W.indptr[static_cast<std::size_t>(i + 1)]; ++p) {
        const auto e = static_cast<std::size_t>(p);
        double y = 0;
        for (std::int64_t h = 0; h < problem.K; ++h)
          y += static_cast<double>(problem.f(problem.W.indices[e], h)) *
               static_cast<double>(problem.x[static_cast<std::size_t>(i * problem.K + h)]);
        g += problem.W.data[e] * static_cast<double>(problem.f(problem.W.indices[e], k)) / y;
      }
      const auto at = static_cast<std::size_t>(i * problem.K + k);
      const double expected = g * static_cast<double>(problem.x[at]);
      CHECK_CLOSE(out[at], expected, (sizeof(T) == 4 ? 1e-4 : 1e-11) * (1 + expected));
    }
}

}  // namespace

TEST(factor_multiplicative_is_plain) {
  multiplicative_is_plain<float>();
  multiplicative_is_plain<double>();
}

TEST(factor_rounds_never_raise_the_loss) {
  Problem<double> problem(random_counts(60, 40, 25, 3), 7, 4);
  std::vector<double> before = problem.x, after;
  for (int rounds = 1; rounds <= 6; ++rounds) {
    const FactorSums sums = problem.solve(FactorUpdate::coordinates, rounds, 1, after);
    double total = 0, loss = 0;
    for (std::int64_t i = 0; i < problem.W.n_docs(); ++i) {
      CHECK(problem.loss(i, after) <= problem.loss(i, before) + 1e-10);
      loss += problem.loss(i, after);
    }
    for (const double value : after) {
      CHECK(value >= 0 && std::isfinite(value));
      total += value;
    }
    CHECK_CLOSE(total - sums.after, loss, 1e-8 * std::abs(loss));
    before = after;
  }
}

TEST(factor_any_number_of_threads) {
  Problem<float> problem(random_counts(500, 80, 30, 5), 9, 6);
  std::vector<float> one, many;
  for (const FactorUpdate update : {FactorUpdate::multiplicative, FactorUpdate::coordinates}) {
    const FactorSums a = problem.solve(update, 3, 1, one);
    const FactorSums b = problem.solve(update, 3, 7, many);
    CHECK(one == many);
    CHECK(a.before == b.before && a.after == b.after && a.residual == b.residual);
  }
}

TEST(factor_columns_in_groups) {
  // One row too long for its columns to be gathered at once, and a row of one entry beside it.
  OwnedCounts W;
  W.n_features = kColumnMemory / 3;
  for (std::int64_t j = 0; j < W.n_features; ++j) W.add(static_cast<std::int32_t>(j), 1);
  W.end_document();
  W.add(5, 7);
  W.end_document();
  Problem<double> problem(std::move(W), 8, 7);
  std::vector<double> out;
  problem.solve(FactorUpdate::coordinates, 3, 2, out);
  for (std::int64_t i = 0; i < 2; ++i)
    CHECK(problem.loss(i, out) < problem.loss(i, problem.x) + 1e-9);
}

TEST(factor_at_the_extremes) {
  OwnedCounts W;
  W.n_features = 3;
  W.add(0, std::numeric_limits<std::int32_t>::max());
  W.end_document();
  W.end_document();  // empty
  W.add(1, 1);
  W.add(2, 1);
  W.end_document();
  Problem<float> problem(std::move(W), 2, 8);
  std::fill(problem.x.begin(), problem.x.end(), 0.0F);  // nothing is expected anywhere
  std::vector<float> out;
  for (const FactorUpdate update : {FactorUpdate::multiplicative, FactorUpdate::coordinates}) {
    const FactorSums sums = problem.solve(update, 5, 1, out);
    CHECK(std::isfinite(sums.before) && std::isfinite(sums.after) && std::isfinite(sums.residual));
    for (const float value : out) CHECK(std::isfinite(value) && value >= 0);
  }
}

}  // namespace dcomp::test
