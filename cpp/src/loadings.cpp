#include <algorithm>
#include <cmath>
#include <vector>

#include "dcomp/dispatch.hpp"
#include "dcomp/mean_field.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 256, kBlocksPerTask = 1024;

// (G, padded) totals sum_j (n_jk + gamma_jk) per block, gamma - 1 for map; padding stays 0.
// Long tables are cut into a fixed number of pieces that are added in order; with many blocks the
// pieces would outgrow the table itself, and one suffices.
template <class T>
std::vector<double> block_totals(const Rows<const T>& n, const GammaView& gamma, double less,
                                 const std::int32_t* block, std::int64_t n_blocks,
                                 std::int64_t padded, int n_threads) {
  const std::int64_t pieces = std::clamp<std::int64_t>(n.n_rows / (16 * n_blocks), 1, 8);
  const std::int64_t size = n_blocks * padded, rows = (n.n_rows + pieces - 1) / pieces;
  std::vector<double> part(static_cast<std::size_t>(pieces * size), 0.0);
  parallel_for(n_threads, pieces, [&](std::int64_t piece, int) {
    for (std::int64_t j = piece * rows; j < std::min((piece + 1) * rows, n.n_rows); ++j) {
      double* total = part.data() + piece * size + block[j] * padded;
      const T* row = n.row(j);
      for (std::int64_t k = 0; k < n.width; ++k)
        total[k] += static_cast<double>(row[k]) + (gamma(j, k) - less);
    }
  });
  for (std::int64_t piece = 1; piece < pieces; ++piece)
    for (std::int64_t k = 0; k < size; ++k) part[k] += part[piece * size + k];
  part.resize(static_cast<std::size_t>(size));
  return part;
}

double digamma_of(double x) {
  double value[16];
  std::fill_n(value, 16, x);
  kernels<double>().special[2](value, value, 16);
  return value[0];
}

// The constant of the prior term of component k: per block, ln Gamma of the total and of each
// gamma.
double prior_constant(Treatment treatment, const GammaView& gamma, const std::int32_t* block,
                      std::int64_t n_blocks, std::int64_t n_features, std::int64_t k) {
  const double more = treatment == Treatment::mean ? 1 : 0;
  std::vector<double> total(static_cast<std::size_t>(n_blocks), 0.0);
  double constant = 0, last_gamma = -1, last_value = 0;
  for (std::int64_t j = 0; j < n_features; ++j) {
    const double gamma_j = gamma(j, k);
    total[block[j]] += gamma_j + more;
    if (gamma_j != last_gamma) last_value = std::lgamma((last_gamma = gamma_j) + more);
    constant -= last_value;
  }
  double last_total = -1;
  for (double t : total) {
    if (t <= 0) continue;  // an empty block has no prior
    if (t != last_total) last_value = std::lgamma(last_total = t);
    constant += last_value;
  }
  return constant;
}

// Whether the mode is that of a flat prior: maximum likelihood.
bool is_flat(Treatment treatment, const GammaView& gamma, std::int64_t n_features) {
  if (treatment != Treatment::map || gamma.is_own()) return false;
  for (std::int64_t j = 0; j < n_features; ++j)
    if (gamma(j, 0) != 1) return false;
  return true;
}

// Rows [first, last) at a flat prior: shares of the blocks' totals, of which `per_word` has the
// reciprocals; nobody asks for their logarithms. Words that are not there are as good as none, and
// no number that a processor may flush to 0.
template <class T>
void flat_rows(const LoadingPass<T>& pass, const Rows<const double>& per_word, std::int64_t first,
               std::int64_t last, double* share) {
  const std::int64_t K = pass.n.width;
  for (std::int64_t j = first; j < last; ++j) {
    const T* n = pass.n.row(j);
    const double* each = per_word.row(pass.block[j]);
    double largest = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      const double scale = each[k] > 0 ? each[k] : 1;  // a block without words has no total
      share[k] = std::max(static_cast<double>(n[k]), 1e-280) * scale;
      largest = std::max(largest, share[k]);
    }
    T* theta = pass.Theta.row(j);
    for (std::int64_t k = 0; k < K; ++k)
      theta[k] = std::max(static_cast<T>(share[k] / largest), kWeightFloor<T>);
    for (std::int64_t k = K; k < pass.Theta.stride; ++k) theta[k] = 0;
    pass.log_scale[j] = std::log(largest);
  }
}

}  // namespace

template <class T>
double update_loadings(Treatment treatment, const Rows<const T>& n, const GammaView& gamma,
                       const std::int32_t* block, std::int64_t n_blocks, const Rows<T>& Theta,
                       double* log_scale, int n_threads) {
  const double less = treatment == Treatment::map ? 1 : 0;
  std::vector<double> total =
      block_totals(n, gamma, less, block, n_blocks, Theta.stride, n_threads);
  const auto constant = [&](std::int64_t k) {
    return prior_constant(treatment, gamma, block, n_blocks, n.n_rows, k);
  };
  double objective = 0;
  if (!gamma.is_own()) objective = constant(0) * static_cast<double>(n.width);
  for (std::int64_t k = 0; gamma.is_own() && k < n.width; ++k) objective += constant(k);
  const auto each_total = [&](std::int64_t first, std::int64_t last, const auto& change) {
    for (std::int64_t g = first; g < last; ++g)
      for (std::int64_t k = 0; k < n.width; ++k) {
        double& t = total[static_cast<std::size_t>(g * Theta.stride + k)];
        if (t > 0) change(t);  // not an empty block, nor nothing but zeros under map
      }
  };
  const bool flat = is_flat(treatment, gamma, n.n_rows);
  if (treatment == Treatment::vb)
    each_total(0, n_blocks, [&](double& t) {
      objective -= std::lgamma(t);
      t = digamma_of(t);
    });
  else
    parallel_for(n_threads, (n_blocks + kBlocksPerTask - 1) / kBlocksPerTask,
                 [&](std::int64_t task, int) {
                   const std::int64_t last = std::min((task + 1) * kBlocksPerTask, n_blocks);
                   each_total(task * kBlocksPerTask, last,
                              [&](double& t) { t = flat ? 1 / t : std::log(t); });
                 });

  LoadingPass<T> pass;
  pass.treatment = treatment;
  pass.n = n;
  pass.gamma = gamma;
  pass.block = block;
  pass.log_total = {total.data(), n_blocks, n.width, Theta.stride};
  std::vector<double> is_real(static_cast<std::size_t>(Theta.stride), 0.0);
  std::fill_n(is_real.begin(), n.width, 1.0);
  pass.is_real = is_real.data();
  pass.Theta = Theta;
  pass.log_scale = log_scale;
  const std::int64_t tasks = (n.n_rows + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<double> part(static_cast<std::size_t>(tasks), 0.0);
  std::vector<double> scratch(static_cast<std::size_t>(n_threads * 2 * Theta.stride));
  const auto kernel = kernels<T>().loading_row;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    const std::int64_t first = t * kRowsPerTask, last = std::min(first + kRowsPerTask, n.n_rows);
    double* own = scratch.data() + worker * 2 * Theta.stride;
    if (flat) return flat_rows(pass, pass.log_total, first, last, own);
    double sum = 0;
    for (std::int64_t j = first; j < last; ++j) sum += kernel(pass, j, own);
    part[static_cast<std::size_t>(t)] = sum;
  });
  for (double p : part) objective += p;
  return objective;
}

template double update_loadings<float>(Treatment, const Rows<const float>&, const GammaView&,
                                       const std::int32_t*, std::int64_t, const Rows<float>&,
                                       double*, int);
template double update_loadings<double>(Treatment, const Rows<const double>&, const GammaView&,
                                        const std::int32_t*, std::int64_t, const Rows<double>&,
                                        double*, int);

}  // namespace dcomp
