// The Python face of what judges a fit: likelihood from left to right, sweeps for the evidence.
#include "evaluation.hpp"

#include <nanobind/stl/optional.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "dcomp/dispatch.hpp"
#include "dcomp/left_to_right.hpp"
#include "dcomp/tempered.hpp"

namespace dcomp::bindings {

namespace {

using Numbers = Vector<const double>;
using FloatRows = Matrix<const float>;

void require_weights(const FloatRows& rows, std::int64_t n_docs, std::int64_t padded) {
  require(static_cast<std::int64_t>(rows.shape(1)) == padded &&
              (rows.shape(0) == 1 || static_cast<std::int64_t>(rows.shape(0)) == n_docs),
          "score weights must be (1 or n_docs, padded K)");
}

std::int64_t stride_of(const FloatRows& rows, std::int64_t padded) {
  return rows.shape(0) == 1 ? 0 : padded;
}

void left_to_right_pass(Corpus& corpus, FloatRows Theta, Numbers log_scale, std::int64_t K,
                        std::optional<FloatRows> a0, FloatRows a, FloatRows F, FloatRows first,
                        Numbers log_first, double sum_alpha, int n_particles, int n_moves,
                        std::uint64_t seed, std::uint32_t run, Vector<double> out, int n_threads) {
  const CsrView& W = corpus.W();
  const std::int64_t padded = padded_width<float>(K);
  require(K >= 1 && K < 65536, "K must lie in [1, 65535]");
  require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(Theta.shape(1)) == padded &&
              static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "Theta must be (J, padded K) and log_scale (J,)");
  require_weights(a, W.n_docs, padded);
  require(F.shape(0) == a.shape(0) && F.shape(1) == a.shape(1) &&
              (!a0 || (a0->shape(0) == a.shape(0) && a0->shape(1) == a.shape(1))),
          "score weights must have one shape");
  require(first.shape(0) == a.shape(0) && first.shape(1) == a.shape(1) &&
              log_first.shape(0) == a.shape(0),
          "first weights must have the shape of the others, with a log for each row");
  require(n_particles >= 1, "n_particles must be at least 1");
  require(static_cast<std::int64_t>(out.shape(0)) == W.n_docs, "out must hold I numbers");
  const LeftToRightPass pass{W,
                             K,
                             padded_rows(Theta, K),
                             log_scale.data(),
                             {a0 ? a0->data() : a.data(), a.data(), F.data(), stride_of(a, padded)},
                             first.data(),
                             log_first.data(),
                             sum_alpha,
                             n_particles,
                             n_moves,
                             seed,
                             run};
  nb::gil_scoped_release release;
  left_to_right(pass, out.data(), std::max(n_threads, 1));
}

const double* data_or_null(const std::optional<Numbers>& values, std::int64_t size,
                           const char* rule) {
  if (!values) return nullptr;
  require(static_cast<std::int64_t>(values->shape(0)) == size, rule);
  return values->data();
}

void tempered(Corpus& corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
              Numbers gamma, Numbers alpha, std::optional<Numbers> beta, std::optional<Numbers> rho,
              std::optional<Numbers> exposure, FloatRows log_F, FloatRows log_p0,
              Numbers temperatures, std::uint64_t seed, std::uint32_t first,
              Matrix<std::uint16_t> z, Matrix<double> log_scores, Matrix<double> log_words,
              int n_threads) {
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(alpha.shape(0));
  const auto n = static_cast<std::int64_t>(temperatures.shape(0));
  const std::int64_t padded = padded_width<float>(K);
  require(K >= 1 && K < 65536, "K must lie in [1, 65535]");
  require(static_cast<std::int64_t>(block.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(gamma.shape(0)) == W.n_features,
          "block and gamma must hold J numbers each");
  for (std::int64_t j = 0; j < W.n_features; ++j)
    require(block.data()[j] >= 0 && block.data()[j] < n_blocks, "block must lie in [0, n_blocks)");
  require_weights(log_F, W.n_docs, padded);
  require(log_p0.shape(0) == log_F.shape(0) && log_p0.shape(1) == log_F.shape(1),
          "score weights must have one shape");
  const auto n_tokens = std::accumulate(W.data, W.data + W.indptr[W.n_docs], std::int64_t{0});
  require(static_cast<std::int64_t>(z.shape(1)) == n_tokens, "z must have a column per token");
  if (first > 0)
    require(std::all_of(z.data(), z.data() + z.size(), [K](std::uint16_t k) { return k < K; }),
            "z must lie in [0, K)");
  for (const auto& out : {log_scores, log_words})
    require(out.shape(0) == z.shape(0) && static_cast<std::int64_t>(out.shape(1)) == n,
            "log_scores and log_words must be (chains, temperatures)");
  const TemperedInput input{
      W,
      K,
      block.data(),
      n_blocks,
      gamma.data(),
      alpha.data(),
      data_or_null(beta, K, "beta must hold K numbers"),
      data_or_null(rho, K, "rho must hold K numbers"),
      data_or_null(exposure, W.n_docs, "exposure must hold one number per document"),
      log_F.data(),
      log_p0.data(),
      stride_of(log_F, padded),
      seed};
  nb::gil_scoped_release release;
  tempered_sweeps(input, static_cast<std::int64_t>(z.shape(0)), temperatures.data(), n, first,
                  z.data(), log_scores.data(), log_words.data(), std::max(n_threads, 1));
}

}  // namespace

void define_evaluation(nb::module_& m) {
  m.def("left_to_right", &left_to_right_pass, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("K"), nb::arg("a0").noconvert().none(),
        nb::arg("a").noconvert(), nb::arg("F").noconvert(), nb::arg("first").noconvert(),
        nb::arg("log_first").noconvert(), nb::arg("sum_alpha"), nb::arg("n_particles"),
        nb::arg("n_moves"), nb::arg("seed"), nb::arg("run"), nb::arg("out").noconvert(),
        nb::arg("n_threads"));
  m.def("tempered_sweeps", &tempered, nb::arg("corpus"), nb::arg("block").noconvert(),
        nb::arg("n_blocks"), nb::arg("gamma").noconvert(), nb::arg("alpha").noconvert(),
        nb::arg("beta").noconvert().none(), nb::arg("rho").noconvert().none(),
        nb::arg("exposure").noconvert().none(), nb::arg("log_F").noconvert(),
        nb::arg("log_p0").noconvert(), nb::arg("temperatures").noconvert(), nb::arg("seed"),
        nb::arg("first"), nb::arg("z").noconvert(), nb::arg("log_scores").noconvert(),
        nb::arg("log_words").noconvert(), nb::arg("n_threads"));
}

}  // namespace dcomp::bindings
