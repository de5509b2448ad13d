// Few components on tables that are not mostly zeros: the same numbers as the plain passes, and for
// a document always the same bits, whatever it comes with.
#include <cmath>
#include <cstring>

#include "check.hpp"
#include "dense_counts.hpp"
#include "plain_mean_field.hpp"

namespace dcomp::test {

namespace {

constexpr Kind kKinds[] = {kDirichlet, kGamma};

template <class T>
constexpr double kTolerance = sizeof(T) == 4 ? 2e-5 : 2e-12;

double words(const OwnedCounts& W, std::int64_t i) {
  double total = 0;
  for (auto p = W.indptr[static_cast<std::size_t>(i)];
       p < W.indptr[static_cast<std::size_t>(i) + 1]; ++p)
    total += W.data[static_cast<std::size_t>(p)];
  return total;
}

template <class T>
struct Problem {
  OwnedCounts W;
  Model model;
  Loadings<T> theta;
  Matrix<double> n, c;
};

// Counts up to 2 are logs of powers, up to 255 fit a table of bytes, and above they do not.
template <class T>
Problem<T> problem(const Kind& kind, std::int64_t K, std::int32_t largest,
                   std::int64_t n_docs = 150) {
  Problem<T> out;
  out.W = dense_counts(n_docs, 77, largest, 60 + static_cast<std::uint64_t>(K));
  out.model = make_model(kind, K, out.W.n_features);
  if (kind.mode == ScoreMode::maximise)
    for (double& alpha : out.model.alpha) alpha += 1;
  out.n = random_matrix(out.W.n_features, K, 0, 20, 61);
  for (std::size_t at = 0; at < out.n.values.size(); at += 7) out.n.values[at] = 0;
  out.c = random_matrix(n_docs, K, 0, 4, 62);
  out.theta = loadings<T>(out.model, out.n.template as<T>());
  return out;
}

template <class T>
void check_against_plain(const Kind& kind, std::int64_t K, std::int32_t largest, int max_inner) {
  const Problem<T> at = problem<T>(kind, K, largest);
  const Schedule schedule{max_inner, 0, 2};
  const PlainPass plain =
      plain_pass(at.model, at.W, plain_loadings(at.model, at.n).log_weight, at.c, schedule);
  const Pass<T> pass = expect_pass<T>(at.model, at.W, at.theta, at.c.template as<T>(), schedule);
  const Pass<T> folded = fold_in_pass<T>(at.model, at.W, at.theta, at.c.template as<T>(), schedule);
  CHECK(pass.sums.inner == plain.inner);
  double bound = 0, size = 0;
  for (std::int64_t i = 0; i < at.W.n_docs(); ++i) {
    const double b = plain.bound[static_cast<std::size_t>(i)], all = words(at.W, i);
    bound += b;
    size += std::abs(b) + all + 1;
    CHECK_CLOSE(folded.bound[static_cast<std::size_t>(i)], b,
                kTolerance<T> * (std::abs(b) + 10 * all + 10));
    for (std::int64_t k = 0; k < K; ++k) {
      CHECK_CLOSE(pass.c(i, k), plain.c(i, k), kTolerance<T> * all);
      CHECK(pass.c(i, k) == folded.c(i, k));  // from a table, or from entries
    }
  }
  CHECK_CLOSE(pass.sums.bound, bound, kTolerance<T> * size);
  for (std::int64_t j = 0; j < at.W.n_features; ++j) {
    double all = 0;
    for (std::int64_t k = 0; k < K; ++k) all += plain.n(j, k);
    for (std::int64_t k = 0; k < K; ++k)
      CHECK_CLOSE(pass.n(j, k), plain.n(j, k), kTolerance<T> * all);
  }
}

template <class T>
bool same_row(const Matrix<T>& a, std::int64_t i, const Matrix<T>& b, std::int64_t j) {
  const auto row = [](const Matrix<T>& m, std::int64_t at) {
    return m.values.data() + at * m.stride;
  };
  return std::memcmp(row(a, i), row(b, j), static_cast<std::size_t>(a.width) * sizeof(T)) == 0;
}

// Documents on their own, and a pass over them all.
template <class T>
void check_alone(const Kind& kind, std::int64_t K, std::int32_t largest, int max_inner) {
  const Problem<T> at = problem<T>(kind, K, largest, 40);
  const Schedule schedule{max_inner, 1e-3, 3};
  const Matrix<T> c = at.c.template as<T>();
  const Pass<T> pass = expect_pass<T>(at.model, at.W, at.theta, c, schedule);
  for (std::int64_t i = 0; i < at.W.n_docs(); ++i) {
    const OwnedCounts one = part_of(at.W, i, i + 1);
    Matrix<T> own(1, K);
    for (std::int64_t k = 0; k < K; ++k) own(0, k) = c(i, k);
    CHECK(same_row(pass.c, i, expect_pass<T>(at.model, one, at.theta, own, schedule).c, 0));
    CHECK(same_row(pass.c, i, fold_in_pass<T>(at.model, one, at.theta, own, schedule).c, 0));
  }
}

}  // namespace

TEST(few_components_equal_plain_mean_field_on_dense_tables) {
  for (const Kind& kind : kKinds)
    for (std::int64_t K = 1; K <= 9; ++K)
      for (const std::int32_t largest : {1, 2, 9, 255, 300})
        for (const int max_inner : {1, 3}) {
          check_against_plain<double>(kind, K, largest, max_inner);
          check_against_plain<float>(kind, K, largest, max_inner);
        }
}

TEST(a_document_has_the_same_bits_alone) {
  for (const Kind& kind : {kDirichlet, kGamma, kDirichletMode, kGammaMode})
    for (const std::int64_t K : {1, 3, 8})
      for (const std::int32_t largest : {2, 300}) {
        check_alone<float>(kind, K, largest, 3);
        check_alone<double>(kind, K, largest, 3);
        check_alone<float>(kind, K, largest, 60);  // starts cold
      }
}

TEST(few_components_do_not_depend_on_threads) {
  for (const std::int32_t largest : {2, 300}) {
    const Problem<float> at = problem<float>(kDirichlet, 3, largest, 700);
    const Matrix<float> c = at.c.as<float>();
    const Pass<float> one = expect_pass<float>(at.model, at.W, at.theta, c, {3, 1e-3, 1});
    for (const int n_threads : {2, 7}) {
      const Pass<float> many =
          expect_pass<float>(at.model, at.W, at.theta, c, {3, 1e-3, n_threads});
      CHECK(one.c.values == many.c.values && one.n.values == many.n.values);
      CHECK(one.sums.bound == many.sums.bound && one.sums.log == many.sums.log);
    }
  }
}

// A document that every component all but denies: the largest weight stands against the floor.
TEST(powers_of_the_floor_are_no_zeros) {
  OwnedCounts W;
  W.n_features = 40;
  for (int i = 0; i < 3; ++i) {
    for (std::int32_t j = 0; j < 40; ++j) W.add(j, 2);
    W.end_document();
  }
  for (const std::int64_t K : {2, 8}) {
    Model model = make_model(kDirichletMode, K, W.n_features);
    model.alpha.assign(static_cast<std::size_t>(K), 1.0);
    model.gamma.assign(40, 1.0);
    model.treatment = Treatment::map;
    Matrix<float> n(W.n_features, K), c(3, K);
    for (std::int64_t j = 0; j < 40; ++j) n(j, 0) = 1;
    for (std::int64_t i = 0; i < 3; ++i) c(i, 1) = 80;  // all of it where no feature is
    const Pass<float> pass = expect_pass<float>(model, W, loadings<float>(model, n), c, {1, 0, 1});
    CHECK(std::isfinite(pass.sums.bound));
    for (const float value : pass.c.values) CHECK(std::isfinite(value));
    for (std::int64_t i = 0; i < 3; ++i) {
      double total = 0;
      for (std::int64_t k = 0; k < K; ++k) total += static_cast<double>(pass.c(i, k));
      CHECK_CLOSE(total, 80, 1e-3);
    }
  }
}

TEST(a_table_of_bytes_holds_the_counts_or_is_empty) {
  const OwnedCounts W = dense_counts(30, 70, 255, 63);
  const CorpusIndex index(W.view());
  const auto table = index.table(W.view());
  CHECK(table.data != nullptr && table.n_rows == 30 && table.stride % 64 == 0);
  double total = 0, listed = 0;
  for (std::int64_t i = 0; i < 30; ++i)
    for (std::int64_t j = 0; j < table.stride; ++j) {
      CHECK(j < 70 || table.row(i)[j] == 0);
      total += table.row(i)[j];
    }
  for (std::size_t p = 0; p < W.data.size(); ++p) listed += W.data[p];
  CHECK(total == listed);
  for (std::int64_t i = 0; i < 30; ++i)
    for (auto p = W.indptr[static_cast<std::size_t>(i)];
         p < W.indptr[static_cast<std::size_t>(i) + 1]; ++p)
      CHECK(table.row(i)[W.indices[static_cast<std::size_t>(p)]] ==
            W.data[static_cast<std::size_t>(p)]);
  const OwnedCounts large = dense_counts(30, 70, 256, 64);
  OwnedCounts above = large;
  above.data[5] = 256;
  CHECK(CorpusIndex(above.view()).table(above.view()).data == nullptr);
  const OwnedCounts sparse = random_counts(50, 400, 20, 65);
  CHECK(CorpusIndex(sparse.view()).table(sparse.view()).data == nullptr);
  const OwnedCounts fractional = as_weights(W);
  CHECK(CorpusIndex(fractional.view()).table(fractional.view()).data == nullptr);
}

}  // namespace dcomp::test
