#include "dcomp/gibbs.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "dcomp/dispatch.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/random.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 64;

// Adds up row(i, worker) over rows in fixed tasks, in order.
template <class RowFunction>
double sum_over_rows(std::int64_t n_rows, int n_threads, const RowFunction& row) {
  const std::int64_t tasks = (n_rows + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<double> part(static_cast<std::size_t>(tasks), 0.0);
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    double sum = 0;
    for (std::int64_t i = t * kRowsPerTask; i < std::min((t + 1) * kRowsPerTask, n_rows); ++i)
      sum += row(i, worker);
    part[static_cast<std::size_t>(t)] = sum;
  });
  double total = 0;
  for (double p : part) total += p;
  return total;
}

double log_gamma_of(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

// ln G(a + c) - ln G(a), looked up for small c.
class RisingFactorial {
 public:
  explicit RisingFactorial(double a) : a_(a), at_zero_(log_gamma_of(a)), table_(kSize) {
    for (int c = 0; c + 1 < kSize; ++c)
      table_[static_cast<std::size_t>(c) + 1] =
          table_[static_cast<std::size_t>(c)] + std::log(a + c);
  }
  double operator()(std::int32_t c) const {
    return c < kSize ? table_[static_cast<std::size_t>(c)] : log_gamma_of(a_ + c) - at_zero_;
  }

 private:
  static constexpr int kSize = 128;
  double a_, at_zero_;
  std::vector<double> table_;
};

}  // namespace

double sample_documents(const SamplePass& pass, int n_threads) {
  const std::int64_t padded = pass.Theta.stride;
  std::vector<float> rows(static_cast<std::size_t>(n_threads * 2 * padded));
  std::vector<double> logs(static_cast<std::size_t>(n_threads * padded));
  const auto kernel = instruction_set().sample_document;
  return sum_over_rows(pass.W.n_docs, n_threads, [&](std::int64_t i, int worker) {
    float* mine = rows.data() + worker * 2 * padded;
    return kernel(pass, i, {mine, mine + padded, logs.data() + worker * padded});
  });
}

void draw_loadings(const Rows<const std::int32_t>& n, const double* gamma,
                   const std::int32_t* block, std::int64_t n_blocks, std::uint64_t seed,
                   std::uint32_t sweep, const Rows<float>& Theta, double* log_scale,
                   int n_threads) {
  const std::int64_t K = n.width;
  // First the logs of the gammas, then each block's log-sum per component, then the rows.
  sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
    Stream rng(seed, Purpose::loadings, sweep, static_cast<std::uint64_t>(j));
    for (std::int64_t k = 0; k < K; ++k)
      Theta.row(j)[k] = static_cast<float>(draw_log_gamma(rng, gamma[j] + n.row(j)[k]));
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
  for (std::size_t at = 0; at < total.size(); ++at) total[at] = top[at] + std::log(total[at]);
  sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
    float* theta = Theta.row(j);
    double largest = -HUGE_VAL;
    for (std::int64_t k = 0; k < K; ++k)
      largest = std::max(largest, theta[k] - total[static_cast<std::size_t>(block[j] * K + k)]);
    for (std::int64_t k = 0; k < K; ++k) {
      const double value = theta[k] - total[static_cast<std::size_t>(block[j] * K + k)] - largest;
      theta[k] = std::max(static_cast<float>(std::exp(value)), kWeightFloor<float>);
    }
    for (std::int64_t k = K; k < Theta.stride; ++k) theta[k] = 0;
    log_scale[j] = largest;
    return 0.0;
  });
}

double log_loading_moments(const Rows<const std::int32_t>& n, const double* gamma,
                           const std::int32_t* block, std::int64_t n_blocks, int n_threads) {
  const std::int64_t K = n.width;
  std::vector<double> gamma_total(static_cast<std::size_t>(n_blocks), 0.0);
  std::vector<std::int64_t> total(static_cast<std::size_t>(n_blocks * K), 0);
  for (std::int64_t j = 0; j < n.n_rows; ++j) {
    gamma_total[static_cast<std::size_t>(block[j])] += gamma[j];
    for (std::int64_t k = 0; k < K; ++k)
      total[static_cast<std::size_t>(block[j] * K + k)] += n.row(j)[k];
  }
  double value = 0;
  for (std::int64_t g = 0; g < n_blocks; ++g)
    for (std::int64_t k = 0; k < K; ++k) {
      const double prior = gamma_total[static_cast<std::size_t>(g)];
      const auto count = static_cast<double>(total[static_cast<std::size_t>(g * K + k)]);
      value += log_gamma_of(prior) - log_gamma_of(prior + count);
    }
  return value + sum_over_rows(n.n_rows, n_threads, [&](std::int64_t j, int) {
           const double log_gamma_j = std::log(gamma[j]), at_zero = log_gamma_of(gamma[j]);
           double sum = 0;
           for (std::int64_t k = 0; k < K; ++k) {
             const std::int32_t count = n.row(j)[k];
             if (count == 1)  // most counts are 0 or 1
               sum += log_gamma_j;
             else if (count > 1)
               sum += log_gamma_of(gamma[j] + count) - at_zero;
           }
           return sum;
         });
}

double log_score_moments(const Rows<const std::int32_t>& c, const double* alpha, const double* beta,
                         const double* rho, const double* exposure, int n_threads) {
  const std::int64_t K = c.width;
  std::vector<RisingFactorial> rising;
  double sum_alpha = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    rising.emplace_back(alpha[k]);
    sum_alpha += alpha[k];
  }
  return sum_over_rows(c.n_rows, n_threads, [&](std::int64_t i, int) {
    const double e = exposure == nullptr ? 1.0 : exposure[i];
    double value = 0;
    std::int64_t length = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      const std::int32_t count = c.row(i)[k];
      length += count;
      double term = rising[static_cast<std::size_t>(k)](count);
      if (beta != nullptr)
        term -= alpha[k] * std::log1p(e / beta[k]) + count * std::log(beta[k] + e);
      if (rho != nullptr)
        term = count > 0 ? term + std::log1p(-rho[k])
                         : std::log((1 - rho[k]) * std::exp(term) + rho[k]);
      value += term;
    }
    if (beta == nullptr)
      value += log_gamma_of(sum_alpha) - log_gamma_of(sum_alpha + static_cast<double>(length));
    return value;
  });
}

}  // namespace dcomp
