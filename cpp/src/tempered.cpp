#include "dcomp/tempered.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

std::int64_t count_tokens(const CsrView& W) {
  return std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
}

// z ~ r: each token follows alpha and the earlier tokens of its document.
void draw_urn(const TemperedInput& input, Stream& rng, std::uint16_t* z) {
  const double sum_alpha = std::accumulate(input.alpha, input.alpha + input.K, 0.0);
  for (std::int64_t i = 0; i < input.W.n_docs; ++i) {
    const std::uint16_t* first = z;
    for (std::int64_t p = input.W.indptr[i]; p < input.W.indptr[i + 1]; ++p)
      for (std::int32_t copy = 0; copy < input.W.data[p]; ++copy, ++z) {
        const auto seen = static_cast<double>(z - first);
        // As if from an urn: one of the earlier tokens, or a new draw from alpha.
        double u = rng.uniform() * (sum_alpha + seen);
        if (u < seen) {
          *z = first[static_cast<std::int64_t>(u)];
          continue;
        }
        u -= seen;
        std::int64_t k = 0;
        while (k + 1 < input.K && u >= input.alpha[k]) u -= input.alpha[k++];
        *z = static_cast<std::uint16_t>(k);
      }
  }
}

// The counts of one chain, and its sweeps.
class Chain {
 public:
  Chain(const TemperedInput& input, std::int64_t padded, std::uint16_t* z)
      : input_(input),
        padded_(padded),
        c_(static_cast<std::size_t>(input.W.n_docs * padded)),
        n_(static_cast<std::size_t>(input.W.n_features * padded)),
        total_(static_cast<std::size_t>(input.n_blocks * padded)),
        alpha_(static_cast<std::size_t>(padded)),
        gamma_(input.gamma, input.gamma + input.W.n_features),
        gamma_total_(static_cast<std::size_t>(input.n_blocks)),
        rows_(static_cast<std::size_t>(2 * padded)),
        z_(z) {
    std::copy_n(input.alpha, input.K, alpha_.begin());
    for (std::int64_t j = 0; j < input.W.n_features; ++j)
      gamma_total_[static_cast<std::size_t>(input.block[j])] += gamma_[static_cast<std::size_t>(j)];
  }

  void count() {
    const std::uint16_t* z = z_;
    for (std::int64_t i = 0; i < input_.W.n_docs; ++i)
      for (std::int64_t p = input_.W.indptr[i]; p < input_.W.indptr[i + 1]; ++p)
        for (std::int32_t copy = 0; copy < input_.W.data[p]; ++copy, ++z) {
          const std::int32_t j = input_.W.indices[p];
          ++c_[static_cast<std::size_t>(i * padded_ + *z)];
          ++n_[static_cast<std::size_t>(j * padded_ + *z)];
          ++total_[static_cast<std::size_t>(input_.block[j] * padded_ + *z)];
        }
  }

  void sweep(double t, Stream& rng) {
    const auto rows = [&](AlignedVector<std::int32_t>& counts, std::int64_t n_rows) {
      return Rows<std::int32_t>{counts.data(), n_rows, input_.K, padded_};
    };
    const TemperedPass pass{input_.W,
                            padded_,
                            alpha_.data(),
                            input_.log_F,
                            input_.log_p0,
                            input_.stride,
                            gamma_.data(),
                            gamma_total_.data(),
                            input_.block,
                            z_,
                            rows(c_, input_.W.n_docs),
                            rows(n_, input_.W.n_features),
                            rows(total_, input_.n_blocks)};
    instruction_set().tempered_sweep(pass, t, rng, {rows_.data(), rows_.data() + padded_});
  }

  // log g(z) - log r(z), which for DM are the same.
  double log_scores() const {
    if (input_.beta == nullptr) return 0;
    const CountView c = view(c_, input_.W.n_docs);
    return log_score_moments(c, input_.alpha, input_.beta, input_.rho, input_.exposure, 1) -
           log_score_moments(c, input_.alpha, nullptr, nullptr, nullptr, 1);
  }
  double log_words() const {
    return log_loading_moments(view(n_, input_.W.n_features), input_.gamma, input_.block,
                               input_.n_blocks, 1);
  }

 private:
  CountView view(const AlignedVector<std::int32_t>& counts, std::int64_t n_rows) const {
    return {n_rows, input_.K, counts.data(), padded_, nullptr, {}};
  }

  const TemperedInput& input_;
  std::int64_t padded_;
  AlignedVector<std::int32_t> c_, n_, total_;
  AlignedVector<float> alpha_, gamma_, gamma_total_, rows_;
  std::uint16_t* z_;
};

}  // namespace

void tempered_sweeps(const TemperedInput& input, std::int64_t n_chains, const double* temperatures,
                     std::int64_t n, std::uint32_t first, std::uint16_t* z, double* log_scores,
                     double* log_words, int n_threads) {
  const std::int64_t n_tokens = count_tokens(input.W), padded = padded_width<float>(input.K);
  parallel_for(n_threads, n_chains, [&](std::int64_t which, int) {
    const auto unit = static_cast<std::uint64_t>(which);
    std::uint16_t* mine = z + which * n_tokens;
    if (first == 0) {
      Stream rng(input.seed, Purpose::annealing, UINT32_MAX, unit);  // a sweep that never comes
      draw_urn(input, rng, mine);
    }
    Chain chain(input, padded, mine);
    chain.count();
    for (std::int64_t s = 0; s < n; ++s) {
      Stream rng(input.seed, Purpose::annealing, first + static_cast<std::uint32_t>(s), unit);
      chain.sweep(temperatures[s], rng);
      log_scores[which * n + s] = chain.log_scores();
      log_words[which * n + s] = chain.log_words();
    }
  });
}

}  // namespace dcomp
