#include "dcomp/gibbs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dcomp/dispatch.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/random.hpp"
#include "dcomp/rising_factorial.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 64;

// Adds up row(i, worker) over rows in fixed tasks, in order.
template <class RowFunction>
double sum_over_rows(std::int64_t n_rows, int n_threads, const RowFunction& row) {
  return sum_over_tasks(n_rows, kRowsPerTask, n_threads,
                        [&](std::int64_t first, std::int64_t last, int worker) {
                          double sum = 0;
                          for (std::int64_t i = first; i < last; ++i) sum += row(i, worker);
                          return sum;
                        });
}

}  // namespace

double sample_documents(const SamplePass& pass, int n_threads) {
  const std::int64_t padded = pass.Theta.stride;
  std::vector<float> rows(static_cast<std::size_t>(n_threads * 2 * padded));
  const SamplerKernels& of = instruction_set().priors[pass.scores.prior.which];
  const std::int64_t room = of.room * pass.scores.c.width;
  std::vector<double> logs(static_cast<std::size_t>(n_threads * room));
  // Rows of whole vectors: eight numbers are the widest.
  std::int64_t longest = 0;
  for (std::int64_t i = 0; of.switches && i < pass.W.n_docs; ++i)
    longest = std::max(longest, (pass.W.size(i) + 7) / 8 * 8);
  std::vector<double> words(static_cast<std::size_t>(n_threads * 3 * longest));
  const auto kernel = of.sample_document;
  return sum_over_rows(pass.W.n_docs, n_threads, [&](std::int64_t i, int worker) {
    float* mine = rows.data() + worker * 2 * padded;
    return kernel(
        pass, i,
        {mine, mine + padded, logs.data() + worker * room, words.data() + worker * 3 * longest});
  });
}

void draw_scores(const ScorePass& pass, int n_threads) {
  const SamplerKernels& of = instruction_set().priors[pass.prior.which];
  const std::int64_t room = of.room * pass.c.width;
  std::vector<double> logs(static_cast<std::size_t>(n_threads * room));
  const auto kernel = of.draw_scores;
  sum_over_rows(pass.c.n_rows, n_threads, [&](std::int64_t i, int worker) {
    kernel(pass, i, logs.data() + worker * room);
    return 0.0;
  });
}

void draw_loadings(const Rows<const std::int32_t>& n, const GammaView& gamma,
                   const std::int32_t* block, std::int64_t n_blocks, std::uint64_t seed,
                   std::uint32_t sweep, Purpose purpose, const Rows<float>& Theta,
                   double* log_scale, int n_threads) {
  const std::int64_t K = n.width;
  // First the logs of the gammas, then each block's log-sum per component, then the rows.
  sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
    Stream rng(seed, purpose, sweep, static_cast<std::uint64_t>(j));
    for (std::int64_t k = 0; k < K; ++k)
      Theta.row(j)[k] = static_cast<float>(draw_log_gamma(rng, gamma(j, k) + n.row(j)[k]));
    return 0.0;
  });
  std::vector<float> top(static_cast<std::size_t>(n_blocks * K), -HUGE_VALF);
  std::vector<double> total(top.size(), 0.0);
  for (std::int64_t j = 0; j < n.n_rows; ++j)
    for (std::int64_t k = 0; k < K; ++k) {
      float& t = top[static_cast<std::size_t>(block[j] * K + k)];
      t = std::max(t, Theta.row(j)[k]);
    }
  // Components are cut among the threads; within one the order of the sum is that of the rows.
  parallel_for(n_threads, (K + 15) / 16, [&](std::int64_t t, int) {
    for (std::int64_t j = 0; j < n.n_rows; ++j)
      for (std::int64_t k = t * 16; k < std::min<std::int64_t>((t + 1) * 16, K); ++k) {
        const auto at = static_cast<std::size_t>(block[j] * K + k);
        total[at] += std::exp(static_cast<double>(Theta.row(j)[k] - top[at]));
      }
  });
  for (double& sum : total) sum = std::log(sum);
  // In this order, because next to a top of -1e38 the log of a sum is nothing.
  const auto log_theta = [&](std::int64_t j, std::int64_t k) {
    const auto at = static_cast<std::size_t>(block[j] * K + k);
    return static_cast<double>(Theta.row(j)[k]) - static_cast<double>(top[at]) - total[at];
  };
  sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
    float* theta = Theta.row(j);
    double largest = -HUGE_VAL;
    for (std::int64_t k = 0; k < K; ++k) largest = std::max(largest, log_theta(j, k));
    for (std::int64_t k = 0; k < K; ++k) {
      const double value = std::exp(log_theta(j, k) - largest);
      theta[k] = std::max(static_cast<float>(value), kWeightFloor<float>);
    }
    for (std::int64_t k = K; k < Theta.stride; ++k) theta[k] = 0;
    log_scale[j] = largest;
    return 0.0;
  });
}

namespace {

// A component whose loadings are given has a gamma of theta times 1e30, beside which no count is
// seen.
constexpr double kGivenFrom = 1e15;

// log G(gamma + n) / G(gamma): gamma^n where it is that strong, which a difference of two large
// numbers would not give.
double log_rise(double gamma, double n) {
  if (gamma >= kGivenFrom || n == 1) return n * std::log(gamma);
  return log_gamma_of(gamma + n) - log_gamma_of(gamma);
}

}  // namespace

double log_loading_moments(const CountView& n, const GammaView& gamma, const std::int32_t* block,
                           std::int64_t n_blocks, int n_threads, const std::int32_t* component) {
  const auto of = [component](std::int64_t k) { return component == nullptr ? k : component[k]; };
  const std::int64_t K = n.K, width = gamma.is_own() ? K : 1;
  std::vector<double> gamma_total(static_cast<std::size_t>(n_blocks * width), 0.0);
  std::vector<std::int64_t> total(static_cast<std::size_t>(n_blocks * K), 0);
  for (std::int64_t j = 0; j < n.n_rows; ++j) {
    for (std::int64_t k = 0; k < width; ++k)
      if (of(k) >= 0 || width == 1)
        gamma_total[static_cast<std::size_t>(block[j] * width + k)] +=
            gamma(j, width == 1 ? 0 : of(k));
    std::int64_t* of_block = total.data() + block[j] * K;
    n.visit(j, [&](std::int64_t k, std::int32_t count) { of_block[k] += count; });
  }
  double value = 0;
  for (std::int64_t g = 0; g < n_blocks; ++g)
    for (std::int64_t k = 0; k < K; ++k) {
      const double prior = gamma_total[static_cast<std::size_t>(g * width + k % width)];
      const auto count = total[static_cast<std::size_t>(g * K + k)];
      if (count > 0) value -= log_rise(prior, static_cast<double>(count));
    }
  return value + sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
           double sum = 0;
           if (gamma.is_own()) {
             n.visit(j, [&](std::int64_t k, std::int32_t count) {
               sum += log_rise(gamma(j, of(k)), count);
             });
             return sum;
           }
           const double gamma_j = gamma(j, 0);
           const double log_gamma_j = std::log(gamma_j), at_zero = log_gamma_of(gamma_j);
           n.visit(j, [&](std::int64_t, std::int32_t count) {  // most counts are 1
             sum += count == 1 ? log_gamma_j : log_gamma_of(gamma_j + count) - at_zero;
           });
           return sum;
         });
}

}  // namespace dcomp
