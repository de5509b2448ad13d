// The Python face of what judges a fit: likelihood from left to right, sweeps for the evidence.
#include "evaluation.hpp"

#include <algorithm>
#include <numeric>

#include "dcomp/dispatch.hpp"
#include "dcomp/left_to_right.hpp"
#include "dcomp/tempered.hpp"
#include "score_prior.hpp"

namespace dcomp::bindings {

namespace {

using Numbers = Vector<const double>;
using FloatRows = Matrix<const float>;

void left_to_right_pass(Corpus& corpus, FloatRows Theta, Numbers log_scale, const Prior& prior,
                        int n_particles, int n_moves, std::uint64_t seed, std::uint32_t run,
                        Vector<double> out, int n_threads) {
  const CsrView& W = corpus.W();
  const std::int64_t K = prior.n_components(), padded = padded_width<float>(K);
  const ScorePrior view = prior.linear(K, W.n_docs);
  require(K < 65536, "K must lie in [1, 65535]");
  require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(Theta.shape(1)) == padded &&
              static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "Theta must be (J, padded K) and log_scale (J,)");
  require(n_particles >= 1, "n_particles must be at least 1");
  require(static_cast<std::int64_t>(out.shape(0)) == W.n_docs, "out must hold I numbers");
  const LeftToRightInput input{
      W, padded_rows(Theta, K), log_scale.data(), view, n_particles, n_moves, seed, run};
  nb::gil_scoped_release release;
  left_to_right(input, out.data(), std::max(n_threads, 1));
}

void tempered(Corpus& corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
              Numbers gamma, const Prior& prior, Numbers temperatures, std::uint64_t seed,
              std::uint32_t first, Matrix<std::uint16_t> z, Matrix<double> log_scores,
              Matrix<double> log_words, int n_threads, std::int64_t first_chain) {
  const CsrView& W = corpus.W();
  const std::int64_t K = prior.n_components();
  const ScorePrior view = prior.linear(K, W.n_docs);
  const auto n = static_cast<std::int64_t>(temperatures.shape(0));
  require(K < 65536, "K must lie in [1, 65535]");
  require(static_cast<std::int64_t>(block.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(gamma.shape(0)) == W.n_features,
          "block and gamma must hold J numbers each");
  for (std::int64_t j = 0; j < W.n_features; ++j)
    require(block.data()[j] >= 0 && block.data()[j] < n_blocks, "block must lie in [0, n_blocks)");
  const auto n_tokens = std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
  require(static_cast<std::int64_t>(z.shape(1)) == n_tokens, "z must have a column per token");
  if (first > 0)
    require(std::all_of(z.data(), z.data() + z.size(), [K](std::uint16_t k) { return k < K; }),
            "z must lie in [0, K)");
  for (const auto& out : {log_scores, log_words})
    require(out.shape(0) == z.shape(0) && static_cast<std::int64_t>(out.shape(1)) == n,
            "log_scores and log_words must be (chains, temperatures)");
  require(first_chain >= 0 && first_chain < kMostDocuments - static_cast<std::int64_t>(z.shape(0)),
          "first_chain must be the number of the first chain, from 0 on; got " +
              std::to_string(first_chain));
  const TemperedInput input{W, block.data(), n_blocks, gamma.data(), view, seed};
  nb::gil_scoped_release release;
  tempered_sweeps(input, static_cast<std::int64_t>(z.shape(0)), temperatures.data(), n, first,
                  z.data(), log_scores.data(), log_words.data(), std::max(n_threads, 1),
                  first_chain);
}

}  // namespace

void define_evaluation(nb::module_& m) {
  m.def("left_to_right", &left_to_right_pass, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("prior"), nb::arg("n_particles"),
        nb::arg("n_moves"), nb::arg("seed"), nb::arg("run"), nb::arg("out").noconvert(),
        nb::arg("n_threads"));
  m.def("tempered_sweeps", &tempered, nb::arg("corpus"), nb::arg("block").noconvert(),
        nb::arg("n_blocks"), nb::arg("gamma").noconvert(), nb::arg("prior"),
        nb::arg("temperatures").noconvert(), nb::arg("seed"), nb::arg("first"),
        nb::arg("z").noconvert(), nb::arg("log_scores").noconvert(),
        nb::arg("log_words").noconvert(), nb::arg("n_threads"), nb::arg("first_chain") = 0);
}

}  // namespace dcomp::bindings
