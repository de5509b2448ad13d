#include "dcomp/tempered.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

std::int64_t count_tokens(const CsrView& W) {
  return std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
}

// z ~ r: each token follows alpha and the earlier tokens of its document.
void draw_urn(const TemperedInput& input, const std::vector<double>& alpha, Stream& rng,
              std::uint16_t* z) {
  const double sum_alpha = std::accumulate(alpha.begin(), alpha.end(), 0.0);
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
        std::size_t k = 0;
        while (k + 1 < alpha.size() && u >= alpha[k]) u -= alpha[k++];
        *z = static_cast<std::uint16_t>(k);
      }
  }
}

// What all chains share: the prior as weights of the sweep, and the urn that chains begin from.
struct Shared {
  const TemperedInput& input;
  std::int64_t padded;
  LogWeights weights;
  std::vector<double> alpha;

  explicit Shared(const TemperedInput& in)
      : input(in),
        padded(padded_width<float>(in.prior.n_components)),
        weights(in.prior, in.W.n_docs, padded),
        alpha(shapes(in.prior)) {}
};

// The counts of one chain, and its sweeps.
class Chain {
 public:
  Chain(const Shared& shared, std::uint16_t* z)
      : shared_(shared),
        input_(shared.input),
        padded_(shared.padded),
        c_(static_cast<std::size_t>(input_.W.n_docs * padded_)),
        n_(static_cast<std::size_t>(input_.W.n_features * padded_)),
        total_(static_cast<std::size_t>(input_.n_blocks * padded_)),
        alpha_(static_cast<std::size_t>(padded_)),
        gamma_(input_.gamma, input_.gamma + input_.W.n_features),
        gamma_total_(static_cast<std::size_t>(input_.n_blocks)),
        rows_(static_cast<std::size_t>(2 * padded_)),
        z_(z) {
    std::copy_n(shared.alpha.begin(), shared.alpha.size(), alpha_.begin());
    for (std::int64_t j = 0; j < input_.W.n_features; ++j)
      gamma_total_[static_cast<std::size_t>(input_.block[j])] +=
          gamma_[static_cast<std::size_t>(j)];
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
      return Rows<std::int32_t>{counts.data(), n_rows, input_.prior.n_components, padded_};
    };
    const TemperedPass pass{input_.W,
                            padded_,
                            alpha_.data(),
                            shared_.weights.F.data(),
                            shared_.weights.present.data(),
                            shared_.weights.stride,
                            gamma_.data(),
                            gamma_total_.data(),
                            input_.block,
                            z_,
                            rows(c_, input_.W.n_docs),
                            rows(n_, input_.W.n_features),
                            rows(total_, input_.n_blocks)};
    instruction_set().tempered_sweep(pass, t, rng, {rows_.data(), rows_.data() + padded_});
  }

  // log g(z) - log r(z), which for a normalised prior are the same.
  double log_scores() const {
    if (score_priors()[static_cast<std::size_t>(input_.prior.which)].normalised) return 0;
    const CountView c = view(c_, input_.W.n_docs);
    return log_score_moments(c, input_.prior, nullptr, 1) - log_urn_moments(c, shared_.alpha, 1);
  }
  double log_words() const {
    return log_loading_moments(view(n_, input_.W.n_features), input_.gamma, input_.block,
                               input_.n_blocks, 1);
  }

 private:
  CountView view(const AlignedVector<std::int32_t>& counts, std::int64_t n_rows) const {
    return {n_rows, input_.prior.n_components, counts.data(), padded_, nullptr, {}};
  }

  const Shared& shared_;
  const TemperedInput& input_;
  std::int64_t padded_;
  AlignedVector<std::int32_t> c_, n_, total_;
  AlignedVector<float> alpha_, gamma_, gamma_total_, rows_;
  std::uint16_t* z_;
};

}  // namespace

void tempered_sweeps(const TemperedInput& input, std::int64_t n_chains, const double* temperatures,
                     std::int64_t n, std::uint32_t first, std::uint16_t* z, double* log_scores,
                     double* log_words, int n_threads, std::int64_t first_chain) {
  const std::int64_t n_tokens = count_tokens(input.W);
  const Shared shared(input);
  parallel_for(n_threads, n_chains, [&](std::int64_t which, int) {
    const auto unit = static_cast<std::uint64_t>(first_chain + which);
    std::uint16_t* mine = z + which * n_tokens;
    if (first == 0) {
      Stream rng(input.seed, Purpose::annealing, UINT32_MAX, unit);  // a sweep that never comes
      draw_urn(input, shared.alpha, rng, mine);
    }
    Chain chain(shared, mine);
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
