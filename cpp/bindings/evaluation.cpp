// The Python face of what judges a fit: likelihood from left to right, sweeps for the evidence.
#include "evaluation.hpp"

#include <cstdint>
#include <numeric>

#include "dcomp/dispatch.hpp"
#include "dcomp/left_to_right.hpp"
#include "dcomp/tempered.hpp"
#include "dcomp/two_sided.hpp"
#include "score_prior.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

namespace {

using Numbers = Vector<const double>;
using FloatRows = Matrix<const float>;

// Of one document at a time: more would be told apart by 24 bits of a weight no longer.
constexpr int kMostParticles = 1 << 24;

void left_to_right_pass(Corpus& corpus, FloatRows Theta, Numbers log_scale, const Prior& prior,
                        int n_particles, int n_moves, std::uint64_t seed, std::uint32_t run,
                        Vector<double> out, int n_threads) {
  const Call call("left_to_right");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.W();
  const std::int64_t K = prior.n_components();
  call.components(K);
  prior.require_mode("collapse");
  const ScorePrior view = prior.view(K, W.n_docs);
  call.shape("Theta", Theta, {W.n_features, padded_width<float>(K)},
             "features, K padded to vectors");
  call.shape("log_scale", log_scale, {W.n_features}, "features");
  call.require(n_particles >= 1 && n_particles <= kMostParticles,
               "n_particles must lie in [1, 2^24]", n_particles);
  call.require(n_moves >= 0, "n_moves must be at least 0", n_moves);
  call.shape("out", out, {W.n_docs}, "documents");
  call.logs("log_scale", log_scale);
  call.not_negative("Theta", Theta);
  call.apart({span("out", out), span("Theta", Theta), span("log_scale", log_scale)});
  const LeftToRightInput input{
      W, padded_rows(Theta, K), log_scale.data(), view, n_particles, n_moves, seed, run};
  const Released release;
  left_to_right(input, out.data(), threads);
}

void tempered(Corpus& corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
              Numbers gamma, const Prior& prior, Numbers temperatures, std::uint64_t seed,
              std::uint32_t first, Matrix<std::uint16_t> z, Matrix<double> log_scores,
              Matrix<double> log_words, int n_threads, std::int64_t first_chain) {
  const Call call("tempered_sweeps");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.W();
  const std::int64_t K = prior.n_components();
  call.components(K);
  const ScorePrior view = prior.linear(K, W.n_docs);
  const auto n = static_cast<std::int64_t>(temperatures.shape(0));
  const auto chains = static_cast<std::int64_t>(z.shape(0));
  call.blocks(block, W.n_features, n_blocks);
  call.shape("gamma", gamma, {W.n_features}, "features");
  call.positive("gamma", gamma);
  call.within("temperatures", temperatures, 0, 1, "in [0, 1]");
  call.require(n < std::int64_t{UINT32_MAX} - first,
               "first must be the number of the first sweep, and the last below 2^32 - 1", first);
  const auto n_tokens = std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
  call.shape("z", z, {chains, n_tokens}, "chains, tokens");
  if (first > 0) call.within("z", z, 0, static_cast<std::uint16_t>(K - 1), "in [0, K)");
  call.shape("log_scores", log_scores, {chains, n}, "chains, temperatures");
  call.shape("log_words", log_words, {chains, n}, "chains, temperatures");
  call.require(first_chain >= 0 && first_chain < kMostDocuments - chains,
               "first_chain must be the number of the first chain, from 0 on", first_chain);
  call.apart({span("z", z), span("log_scores", log_scores), span("log_words", log_words),
              span("gamma", gamma), span("temperatures", temperatures), span("block", block)});
  const TemperedInput input{W, block.data(), n_blocks, gamma.data(), view, seed};
  const Released release;
  tempered_sweeps(input, chains, temperatures.data(), n, first, z.data(), log_scores.data(),
                  log_words.data(), threads, first_chain);
}

void two_sided(Corpus& corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
               Numbers gamma, const Prior& prior, Matrix<const double> log_scores,
               Matrix<const double> log_Theta, Numbers temperatures, bool backward,
               std::uint64_t seed, std::int64_t run, std::uint32_t first, Vector<std::uint16_t> z,
               Matrix<double> out) {
  const Call call("two_sided_sweeps");
  const CsrView& W = corpus.W();
  const std::int64_t K = prior.n_components();
  call.components(K);
  prior.require_mode("collapse");
  const ScorePrior view = prior.view(K, W.n_docs);
  const auto n = static_cast<std::int64_t>(temperatures.shape(0));
  call.blocks(block, W.n_features, n_blocks);
  call.shape("gamma", gamma, {W.n_features}, "features");
  call.positive("gamma", gamma);
  call.shape("log_scores", log_scores, {W.n_docs, K}, "documents, components");
  call.shape("log_Theta", log_Theta, {W.n_features, K}, "features, components");
  call.within("log_scores", log_scores, -700, 700, "in [-700, 700]");
  call.within("log_Theta", log_Theta, -700, 700, "in [-700, 700]");
  call.within("temperatures", temperatures, 0, 1, "in [0, 1]");
  call.require(n < std::int64_t{UINT32_MAX} - first,
               "first must be the number of the first sweep, and the last below 2^32 - 1", first);
  const std::int64_t n_tokens =
      std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
  call.shape("z", z, {n_tokens}, "tokens");
  call.within("z", z, 0, static_cast<std::uint16_t>(K - 1), "in [0, K)");
  call.shape("out", out, {2, n}, "scores and words, temperatures");
  call.require(run >= 0 && run < kMostDocuments, "run must be its number, from 0 on", run);
  call.apart({span("z", z), span("out", out), span("gamma", gamma), span("log_scores", log_scores),
              span("log_Theta", log_Theta), span("temperatures", temperatures),
              span("block", block)});
  const TwoSidedInput input{W,
                            block.data(),
                            n_blocks,
                            gamma.data(),
                            view,
                            log_scores.data(),
                            log_Theta.data(),
                            seed,
                            static_cast<std::uint64_t>(run),
                            backward};
  const Released release;
  two_sided_sweeps(input, temperatures.data(), n, first, z.data(), out.data(), out.data() + n);
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
  m.def("two_sided_sweeps", &two_sided, nb::arg("corpus"), nb::arg("block").noconvert(),
        nb::arg("n_blocks"), nb::arg("gamma").noconvert(), nb::arg("prior"),
        nb::arg("log_scores").noconvert(), nb::arg("log_Theta").noconvert(),
        nb::arg("temperatures").noconvert(), nb::arg("backward"), nb::arg("seed"), nb::arg("run"),
        nb::arg("first"), nb::arg("z").noconvert(), nb::arg("out").noconvert());
}

}  // namespace dcomp::bindings
