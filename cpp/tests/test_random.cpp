// Random numbers: known answers of Philox, and the moments of the draws.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "dcomp/random.hpp"
#include "dcomp/split.hpp"
#include "dcomp/tokens.hpp"
#include "random_counts.hpp"

namespace {

struct Moments {
  double mean = 0, variance = 0;
};

template <class Draw>
Moments moments(int n, const Draw& draw) {
  double sum = 0, square = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draw(i);
    sum += x;
    square += x * x;
  }
  const double mean = sum / n;
  return {mean, square / n - mean * mean};
}

}  // namespace

TEST(streams_are_named_by_seed_purpose_sweep_and_unit) {
  dcomp::Stream a(1, dcomp::Purpose::tokens, 2, 3), again(1, dcomp::Purpose::tokens, 2, 3);
  dcomp::Stream others[] = {{2, dcomp::Purpose::tokens, 2, 3},
                            {1, dcomp::Purpose::scores, 2, 3},
                            {1, dcomp::Purpose::tokens, 1, 3},
                            {1, dcomp::Purpose::tokens, 2, 4},
                            {1, dcomp::Purpose::tokens, 2, (std::uint64_t{1} << 33) + 3}};
  int same[5] = {};
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t value = a.next32();
    CHECK(value == again.next32());
    for (int k = 0; k < 5; ++k) same[k] += value == others[k].next32();
  }
  for (int k : same) CHECK(k == 0);
}

TEST(uniform_numbers_are_uniform_and_inside) {
  dcomp::Stream rng(5, dcomp::Purpose::start, 0, 0);
  const Moments m = moments(200000, [&](int) {
    const double u = rng.uniform();
    CHECK(u > 0 && u < 1);
    return u;
  });
  CHECK_CLOSE(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / 200000));
  CHECK_CLOSE(m.variance, 1.0 / 12, 0.001);
}

TEST(log_gamma_draws_have_the_moments_of_a_gamma) {
  for (const double shape : {0.01, 0.3, 1.0, 2.5, 40.0}) {
    dcomp::Stream rng(7, dcomp::Purpose::scores, 0, 0);
    const int n = 200000;
    const Moments m = moments(n, [&](int) { return std::exp(dcomp::draw_log_gamma(rng, shape)); });
    // The variance of the sample variance of a gamma is (6 / shape + 2) shape^2 / n.
    CHECK_CLOSE(m.mean, shape, 5 * std::sqrt(shape / n));
    CHECK_CLOSE(m.variance, shape, 5 * shape * std::sqrt((6 / shape + 2) / n));
  }
}

TEST(tiny_shapes_stay_finite_in_logs) {
  dcomp::Stream rng(7, dcomp::Purpose::scores, 0, 0);
  for (int i = 0; i < 1000; ++i) CHECK(std::isfinite(dcomp::draw_log_gamma(rng, 1e-5)));
}

TEST(binomial_draws_have_the_moments_of_a_binomial) {
  const struct {
    std::int32_t n;
    double p;
  } cases[] = {{1, 0.3},      {20, 0.1},          {50, 0.9},        {1000, 0.03},
               {100000, 0.5}, {2000000000, 1e-8}, {INT32_MAX, 0.25}};
  for (const auto& c : cases) {
    dcomp::Stream rng(9, dcomp::Purpose::allocation, 0, 0);
    const int n = 50000;
    const Moments m = moments(n, [&](int) {
      const std::int32_t x = dcomp::draw_binomial(rng, c.n, c.p);
      CHECK(x >= 0 && x <= c.n);
      return static_cast<double>(x);
    });
    const double variance = c.n * c.p * (1 - c.p);
    CHECK_CLOSE(m.mean, c.n * c.p, 5 * std::sqrt(variance / n));
    CHECK_CLOSE(m.variance, variance, variance * 0.06);
  }
  dcomp::Stream rng(9, dcomp::Purpose::allocation, 0, 0);
  CHECK(dcomp::draw_binomial(rng, 0, 0.5) == 0);
  CHECK(dcomp::draw_binomial(rng, 7, 0.0) == 0);
  CHECK(dcomp::draw_binomial(rng, 7, 1.0) == 7);
}

TEST(a_document_is_split_by_its_key_alone_on_any_number_of_threads) {
  const auto W = dcomp::test::random_counts(700, 30, 8, 5);
  const dcomp::CsrView view = W.view();
  std::vector<std::uint64_t> key(static_cast<std::size_t>(view.n_docs)), again(key);
  dcomp::content_keys(view, key.data(), 1);
  dcomp::content_keys(view, again.data(), 4);
  CHECK(key == again);
  std::vector<std::int32_t> one(W.data.size()), four(W.data.size());
  dcomp::split_tokens(view, key.data(), 0.5, 7, one.data(), 1);
  dcomp::split_tokens(view, key.data(), 0.5, 7, four.data(), 4);
  CHECK(one == four);
  for (std::size_t e = 0; e < one.size(); ++e) CHECK(one[e] >= 0 && one[e] <= W.data[e]);
}

TEST(the_first_counts_hold_every_token_once) {
  const auto W = dcomp::test::random_counts(50, 20, 6, 5);
  const dcomp::CsrView view = W.view();
  const std::int64_t K = 3;
  std::vector<std::int32_t> c(static_cast<std::size_t>(view.n_docs * K), 0);
  std::vector<std::int32_t> n(static_cast<std::size_t>(view.n_features * K), 0);
  dcomp::start_counts(view, K, 4, c.data(), n.data());
  std::int64_t of_documents = 0, of_features = 0, tokens = 0;
  for (const std::int32_t x : c) of_documents += x;
  for (const std::int32_t x : n) of_features += x;
  for (const std::int32_t x : W.data) tokens += x;
  CHECK(of_documents == tokens);
  CHECK(of_features == tokens);
  for (std::int64_t i = 0; i < view.n_docs; ++i) {
    std::int64_t length = 0, given = 0;
    for (std::int64_t e = view.indptr[i]; e < view.indptr[i + 1]; ++e) length += view.data[e];
    for (std::int64_t k = 0; k < K; ++k) given += c[static_cast<std::size_t>(i * K + k)];
    CHECK(given == length);
  }
}
