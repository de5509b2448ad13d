#include "dcomp/collapsed_gibbs.hpp"

#include <algorithm>
#include <cmath>

#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 256;

std::vector<double> gamma_totals(const CollapsedCounts& counts, const double* gamma) {
  std::vector<double> total(static_cast<std::size_t>(counts.n_blocks()), 0.0);
  for (std::int64_t j = 0; j < counts.cells().n_features(); ++j)
    total[counts.block()[j]] += gamma[j];
  return total;
}

// Applies row(j) to all features in fixed tasks and adds the results in order.
template <class RowFunction>
double sum_over_features(std::int64_t n_features, int n_threads, const RowFunction& row) {
  const std::int64_t tasks = (n_features + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<double> part(static_cast<std::size_t>(tasks), 0.0);
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    double sum = 0;
    for (std::int64_t j = t * kRowsPerTask; j < std::min((t + 1) * kRowsPerTask, n_features); ++j)
      sum += row(j);
    part[static_cast<std::size_t>(t)] = sum;
  });
  double total = 0;
  for (double p : part) total += p;
  return total;
}

}  // namespace

CollapsedCounts::CollapsedCounts(const TokenCells& cells, const std::int32_t* block,
                                 std::int64_t n_blocks, std::int64_t K, bool sparse)
    : cells_(cells),
      block_(block, block + cells.n_features()),
      n_blocks_(n_blocks),
      K_(K),
      padded_(padded_width<float>(K)),
      sparse_(sparse),
      c_(static_cast<std::size_t>(cells.n_docs() * padded_)),
      n_(static_cast<std::size_t>(cells.n_features() * padded_)),
      total_(static_cast<std::size_t>(n_blocks * padded_)) {
  if (!sparse_) return;
  // Room for as many components as a document has tokens, one more while a token moves.
  std::vector<std::int64_t> room(static_cast<std::size_t>(cells.n_docs()), 1);
  for (std::int64_t t = 0; t < cells.n_tokens(); ++t) ++room[cells.document()[t]];
  start_.resize(room.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < room.size(); ++i) {
    start_[i] = total;
    total += std::min(room[i], K + 1);
  }
  size_.resize(room.size());
  topic_.resize(static_cast<std::size_t>(total));
  count_.resize(static_cast<std::size_t>(total));
}

void CollapsedCounts::fill_lists() {
  if (!sparse_) return;
  for (std::int64_t i = 0; i < cells_.n_docs(); ++i) {
    size_[i] = 0;
    for (std::int64_t k = 0; k < K_; ++k) {
      const std::int32_t count = c_[i * padded_ + k];
      if (count == 0) continue;
      topic_[start_[i] + size_[i]] = static_cast<std::uint16_t>(k);
      count_[start_[i] + size_[i]++] = count;
    }
  }
}

void CollapsedCounts::read_lists(int n_threads) {
  if (!sparse_) return;
  const std::int64_t tasks = (cells_.n_docs() + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int) {
    const std::int64_t last = std::min((t + 1) * kRowsPerTask, cells_.n_docs());
    for (std::int64_t i = t * kRowsPerTask; i < last; ++i) {
      std::int32_t* row = c_.data() + i * padded_;
      std::fill_n(row, padded_, 0);
      for (std::int64_t q = start_[i]; q < start_[i] + size_[i]; ++q) row[topic_[q]] = count_[q];
    }
  });
}

void CollapsedCounts::count(const std::uint16_t* z) {
  std::fill(c_.begin(), c_.end(), 0);
  std::fill(n_.begin(), n_.end(), 0);
  std::fill(total_.begin(), total_.end(), 0);
  for (const TokenCells::Run& run : cells_.runs()) {
    std::int32_t* n = n_.data() + run.feature * padded_;
    std::int32_t* total = total_.data() + block_[run.feature] * padded_;
    for (std::int64_t t = run.begin; t < run.end; ++t) {
      ++n[z[t]], ++total[z[t]];
      ++c_[cells_.document()[t] * padded_ + z[t]];
    }
  }
  fill_lists();
}

double collapse_sweep(const CollapseInput& input, CollapsedCounts& counts, std::uint16_t* z,
                      int n_threads) {
  const TokenCells& cells = counts.cells();
  const int P = cells.n_parts();
  const std::int64_t padded = counts.padded(), size = counts.n_blocks() * padded;
  const std::vector<double> gamma_total = gamma_totals(counts, input.gamma);
  // Each cell of a round has its own copy of the totals: stale by what the others do meanwhile.
  std::vector<std::int32_t> own(static_cast<std::size_t>(P * size));
  std::vector<float> scratch(static_cast<std::size_t>(P * 5 * padded));
  std::vector<double> log_words(static_cast<std::size_t>(P * P), 0.0);
  // A document's own weights (its exposure) leave nothing to share: then all components are
  // scanned.
  const bool sparse = counts.sparse() && input.scores.stride == 0;
  const auto kernel = instruction_set().collapse_cell[sparse ? 1 : 0];

  for (int round = 0; round < P; ++round) {
    parallel_for(n_threads, P, [&](std::int64_t p, int) {
      const auto cell = static_cast<int>(p * P + (p + round) % P);
      std::int32_t* total = P == 1 ? counts.total() : own.data() + p * size;
      if (P > 1) std::copy_n(counts.total(), size, total);
      const CollapsePass pass{counts.K(),
                              padded,
                              cells.document(),
                              z,
                              counts.c(),
                              counts.n(),
                              total,
                              input.gamma,
                              gamma_total.data(),
                              counts.block().data(),
                              input.scores,
                              counts.lists()};
      Stream rng(input.seed, Purpose::tokens, input.sweep, static_cast<std::uint64_t>(cell));
      float* mine = scratch.data() + p * 5 * padded;
      log_words[static_cast<std::size_t>(cell)] =
          kernel(pass, cells.runs().data() + cells.first_run(cell),
                 cells.runs().data() + cells.first_run(cell + 1), rng,
                 {mine, mine + padded, mine + 2 * padded, mine + 3 * padded, mine + 4 * padded});
    });
    if (P == 1) continue;
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int32_t before = counts.total()[k];
      for (int p = 0; p < P; ++p) counts.total()[k] += own[p * size + k] - before;
    }
  }
  if (sparse)
    counts.read_lists(n_threads);
  else
    counts.fill_lists();
  double total = 0;
  for (double value : log_words) total += value;
  return total;
}

void start_assignment(std::uint64_t seed, std::int64_t K, std::int64_t n_tokens, std::uint16_t* z) {
  Stream rng(seed, Purpose::start, 0, 0);
  for (std::int64_t t = 0; t < n_tokens; ++t)
    z[t] = static_cast<std::uint16_t>(std::uint64_t{rng.next32()} * static_cast<std::uint64_t>(K) >>
                                      32);
}

void add_mean_loadings(CollapsedCounts& counts, const double* gamma, float* out, int n_threads) {
  const std::vector<double> gamma_total = gamma_totals(counts, gamma);
  const std::int64_t K = counts.K(), padded = counts.padded();
  std::vector<double> inverse(static_cast<std::size_t>(counts.n_blocks() * padded));
  for (std::int64_t g = 0; g < counts.n_blocks(); ++g)
    for (std::int64_t k = 0; k < K; ++k)
      inverse[g * padded + k] = 1 / (gamma_total[g] + counts.total()[g * padded + k]);
  sum_over_features(counts.cells().n_features(), n_threads, [&](std::int64_t j) {
    const std::int32_t* n = counts.n() + j * padded;
    const double* scale = inverse.data() + counts.block()[j] * padded;
    for (std::int64_t k = 0; k < K; ++k)
      out[j * K + k] += static_cast<float>((n[k] + gamma[j]) * scale[k]);
    return 0.0;
  });
}

}  // namespace dcomp
