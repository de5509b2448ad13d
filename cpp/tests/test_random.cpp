// Random numbers: known answers of Philox, and the moments of the draws.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "dcomp/random.hpp"
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
  } cases[] = {{1, 0.3}, {20, 0.1}, {50, 0.9}, {1000, 0.03}, {100000, 0.5}, {2000000000, 1e-8}};
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
