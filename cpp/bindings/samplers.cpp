// The Python face of the samplers: direct and collapsed Gibbs.
#include "samplers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dcomp/collapsed_gibbs.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/lines.hpp"
#include "dcomp/score_weights.hpp"
#include "score_prior.hpp"
#include "tokens.hpp"

namespace dcomp::bindings {

namespace {

// The prior of counts c (n_docs, K).
ScorePrior prior_of(const Prior& prior, const Matrix<const std::int32_t>& c) {
  return prior.view(static_cast<std::int64_t>(c.shape(1)), static_cast<std::int64_t>(c.shape(0)));
}

double sample(Corpus& corpus, Matrix<const float> Theta, Numbers log_scale, const Prior& prior,
              Matrix<const std::int32_t> c_in, Matrix<std::int32_t> c_out,
              std::optional<Matrix<std::int32_t>> n, std::optional<Matrix<float>> scores,
              std::uint64_t seed, std::uint32_t sweep, int n_threads,
              std::optional<Vector<const std::int64_t>> number) {
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(c_in.shape(1));
  require(!number || static_cast<std::int64_t>(number->shape(0)) == W.n_docs,
          "number must hold I numbers");
  const ScorePrior view = prior.view(K, W.n_docs);
  prior.require_mode("sample");
  require(static_cast<std::int64_t>(c_in.shape(0)) == W.n_docs && c_in.shape(0) == c_out.shape(0) &&
              c_in.shape(1) == c_out.shape(1),
          "c must be (n_docs, K) on both sides");
  require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(Theta.shape(1)) == padded_width<float>(K) &&
              static_cast<std::int64_t>(log_scale.shape(0)) == W.n_features,
          "Theta must be (J, padded K) and log_scale (J,)");
  require(!n || (static_cast<std::int64_t>(n->shape(0)) == W.n_features &&
                 static_cast<std::int64_t>(n->shape(1)) == K),
          "n must be (n_features, K)");
  require(!scores || (static_cast<std::int64_t>(scores->shape(0)) == W.n_docs &&
                      static_cast<std::int64_t>(scores->shape(1)) == K),
          "scores must be (n_docs, K)");
  const SamplePass pass{
      W,
      padded_rows(Theta, K),
      log_scale.data(),
      {view, rows(c_in), scores ? scores->data() : nullptr, seed, sweep,
       n ? Purpose::allocation : Purpose::transform, W.first, number ? number->data() : nullptr},
      rows(c_out),
      n ? n->data() : nullptr};
  nb::gil_scoped_release release;
  return sample_documents(pass, std::max(n_threads, 1));
}

// Long documents along lines; `number` names them in the whole corpus, c is null for their modes.
void lines(Corpus& corpus, Vector<const std::int64_t> number, Matrix<const float> Theta,
           Numbers alpha, Matrix<const double> rate, std::optional<Numbers> log_zero,
           std::optional<Matrix<const double>> zero, bool normalised,
           std::optional<Matrix<const std::int32_t>> c, Cube<std::int32_t> c_out,
           Cube<float> scores_out, std::uint64_t seed, std::uint32_t sweep, std::int64_t skip,
           std::int64_t every, int n_threads) {
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(alpha.shape(0));
  const auto is = [&](const auto& m) {
    return static_cast<std::int64_t>(m.shape(0)) == W.n_docs &&
           static_cast<std::int64_t>(m.shape(1)) == K;
  };
  const auto is_cube = [&](const auto& m) {
    return m.shape(0) == c_out.shape(0) && static_cast<std::int64_t>(m.shape(1)) == W.n_docs &&
           static_cast<std::int64_t>(m.shape(2)) == K;
  };
  require(K >= 1 && static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
              static_cast<std::int64_t>(Theta.shape(1)) >= K,
          "Theta must be (J, K or more)");
  require(is(rate) && (!zero || is(*zero)) && (!c || is(*c)), "rate, zero and c must be (I, K)");
  require(log_zero.has_value() == zero.has_value() &&
              (!log_zero || static_cast<std::int64_t>(log_zero->shape(0)) == K),
          "log_zero must hold K numbers, and come with zero");
  require(static_cast<std::int64_t>(number.shape(0)) == W.n_docs, "number must hold I numbers");
  require(is_cube(c_out) && is_cube(scores_out), "c_out and scores_out must be (kept, I, K)");
  require(skip >= 0 && every >= 1, "skip must be at least 0 and every at least 1");
  const LineInput input{W,
                        number.data(),
                        padded_rows(Theta, K),
                        alpha.data(),
                        rows(rate),
                        log_zero ? log_zero->data() : nullptr,
                        zero ? rows(*zero) : Rows<const double>{},
                        normalised,
                        seed,
                        sweep,
                        skip,
                        static_cast<std::int64_t>(c_out.shape(0)),
                        every};
  nb::gil_scoped_release release;
  sample_lines(input, c ? c->data() : nullptr, c_out.data(), scores_out.data(),
               std::max(n_threads, 1));
}

void scores_draw(Matrix<const std::int32_t> c, const Prior& prior, Matrix<float> out,
                 std::uint64_t seed, std::uint32_t sweep, int n_threads, std::int64_t first) {
  const ScorePrior view = prior_of(prior, c);
  prior.require_mode("sample");
  require_first(first, static_cast<std::int64_t>(c.shape(0)));
  require(out.shape(0) == c.shape(0) && out.shape(1) == c.shape(1), "out must be (n_docs, K)");
  nb::gil_scoped_release release;
  draw_scores({view, rows(c), out.data(), seed, sweep, Purpose::kept_scores, first},
              std::max(n_threads, 1));
}

// `kept`: with random numbers of its own, apart from those of a chain.
auto loadings_draw(Matrix<const std::int32_t> n, Numbers gamma, Vector<const std::int32_t> block,
                   std::int64_t n_blocks, std::uint64_t seed, std::uint32_t sweep,
                   Vector<double> log_scale, int n_threads, bool kept) {
  const auto J = static_cast<std::int64_t>(n.shape(0)), K = static_cast<std::int64_t>(n.shape(1));
  require_blocks(block, J, n_blocks);
  require(static_cast<std::int64_t>(gamma.shape(0)) == J &&
              static_cast<std::int64_t>(log_scale.shape(0)) == J,
          "gamma and log_scale must hold J numbers each");
  auto Theta = new_matrix<float>(J, padded_width<float>(K));
  const Rows<float> out{Theta.data(), J, K, padded_width<float>(K)};
  {
    nb::gil_scoped_release release;
    draw_loadings(rows(n), gamma.data(), block.data(), n_blocks, seed, sweep,
                  kept ? Purpose::kept_loadings : Purpose::loadings, out, log_scale.data(),
                  std::max(n_threads, 1));
  }
  return Theta;
}

CountView dense_view(const Matrix<const std::int32_t>& counts) {
  const auto K = static_cast<std::int64_t>(counts.shape(1));
  return {static_cast<std::int64_t>(counts.shape(0)), K, counts.data(), K, {}};
}

double loading_moments(Matrix<const std::int32_t> n, Numbers gamma,
                       Vector<const std::int32_t> block, std::int64_t n_blocks, int n_threads) {
  require_blocks(block, static_cast<std::int64_t>(n.shape(0)), n_blocks);
  require(gamma.shape(0) == n.shape(0), "gamma must hold J numbers");
  nb::gil_scoped_release release;
  return log_loading_moments(dense_view(n), gamma.data(), block.data(), n_blocks,
                             std::max(n_threads, 1));
}

double score_moments(Matrix<const std::int32_t> c, const Prior& prior, int n_threads) {
  const ScorePrior view = prior_of(prior, c);
  nb::gil_scoped_release release;
  return log_score_moments(dense_view(c), view, nullptr, std::max(n_threads, 1));
}

void require_means(const Prior& prior, const ScorePrior& view) {
  require(has_score_means(view),
          "E[scores | c] must not be linear in c to be added up here; under "
          "model " +
              prior.key() + " it follows from the mean of c");
}

// Adds E[m | c] to out.
void tree_means(Matrix<const std::int32_t> c, const Prior& prior, Matrix<float> out,
                int n_threads) {
  const ScorePrior view = prior_of(prior, c);
  require_means(prior, view);
  require(out.shape(0) == c.shape(0) && out.shape(1) == c.shape(1), "out must be (n_docs, K)");
  nb::gil_scoped_release release;
  add_score_means(dense_view(c), view, nullptr, out.data(), std::max(n_threads, 1));
}

// The tokens of a corpus with the counts of an assignment. The counts follow the assignment that
// was last counted or swept; Python keeps track of which one that is.
class CollapsedSampler : public TokenSampler {
 public:
  CollapsedSampler(nb::object corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
                   const Prior& prior, int n_parts, bool sparse,
                   std::optional<Vector<const std::int64_t>> feature_totals)
      : TokenSampler(corpus, block, n_blocks) {
    prior.require_mode("collapse");
    const ScorePrior view = prior.view(prior.n_components(), W().n_docs);
    require(view.tree == nullptr || !sparse, "the counts of a tree must be dense");
    // A tree's nodes lie in whole vectors: it has more places than nodes.
    require(view.n_components + (view.tree == nullptr ? 0 : padded_width<float>(1)) < 65536,
            "K must be below 65536 for collapsed sampling, less a vector for a tree; got " +
                std::to_string(view.n_components));
    require(
        !feature_totals || static_cast<std::int64_t>(feature_totals->shape(0)) == W().n_features,
        "feature_totals must hold J numbers");
    cut(n_parts);
    K_ = view.n_components;
    feature_totals_ = cells_->tokens_of_features();
    if (feature_totals) take_totals(*feature_totals);
    counts_ = std::make_unique<CollapsedCounts>(*cells_, block.data(), n_blocks, view, sparse,
                                                feature_totals_.data());
  }

  void start(std::uint64_t seed, Vector<std::uint16_t> z) {
    require_tokens(z.shape(0));
    start_assignment(seed, W(), *cells_, K_, z.data());
  }

  void start_from(std::uint64_t seed, Matrix<const float> scores, Matrix<const float> Theta,
                  Vector<std::uint16_t> z, int n_threads) {
    const std::int64_t K = K_;
    require_tokens(z.shape(0));
    require(static_cast<std::int64_t>(scores.shape(0)) == cells_->n_docs() &&
                static_cast<std::int64_t>(scores.shape(1)) == K,
            "scores must be (n_docs, K)");
    require(static_cast<std::int64_t>(Theta.shape(0)) == cells_->n_features() &&
                static_cast<std::int64_t>(Theta.shape(1)) >= K,
            "Theta must be (n_features, K or more)");
    const CsrView& counts = W();
    nb::gil_scoped_release release;
    start_assignment_from(seed, counts, *cells_, rows(scores), padded_rows(Theta, K), z.data(),
                          std::max(n_threads, 1));
  }

  void count(Vector<const std::uint16_t> z) {
    require_tokens(z.shape(0));
    for (std::int64_t t = 0; t < n_tokens(); ++t) require(z.data()[t] < K_, "z must lie in [0, K)");
    nb::gil_scoped_release release;
    counts_->count(z.data());
  }

  // The features' counts of the whole corpus in place of those of this part, until z is counted or
  // others are loaded. They must be of this part's assignment and those of all others.
  void load(Matrix<const std::int32_t> n) {
    require_whole(n, K_, counts_->block(), counts_->n_blocks(),
                  counts_->sparse() ? &feature_totals_ : nullptr);
    nb::gil_scoped_release release;
    counts_->load(n.data());
  }

  // Gives back the memory of the features' counts, until they are loaded or z is counted.
  void unload() { counts_->unload(); }

  double sweep(Vector<std::uint16_t> z, Numbers gamma, const Prior& prior, std::uint64_t seed,
               std::uint32_t number, int n_threads) {
    require_loaded(counts_->loaded(), "a sweep");
    require_tokens(z.shape(0));
    require_gamma(gamma);
    const ScorePrior view = fitting(prior);
    require(!counts_->sparse() || shares_weights(view, cells_->n_docs()),
            "sparse counts need weights that documents share");
    const CollapseInput input{gamma.data(), view, seed, number};
    nb::gil_scoped_release release;
    return collapse_sweep(input, *counts_, z.data(), std::max(n_threads, 1));
  }

  // Adds E[scores | c] to out (n_docs, K).
  void add_means(const Prior& prior, Matrix<float> out, int n_threads) {
    const ScorePrior view = fitting(prior);
    require_means(prior, view);
    require(static_cast<std::int64_t>(out.shape(0)) == cells_->n_docs() &&
                static_cast<std::int64_t>(out.shape(1)) == K_,
            "out must be (n_docs, K)");
    nb::gil_scoped_release release;
    add_score_means(counts_->c().view(), view, counts_->component(), out.data(),
                    std::max(n_threads, 1));
  }

  // What is asked for.
  void read(std::optional<Matrix<std::int32_t>> c, std::optional<Matrix<std::int32_t>> n) {
    require(is_or_none(c, cells_->n_docs(), K_) && is_or_none(n, cells_->n_features(), K_),
            "c must be (n_docs, K) and n (n_features, K)");
    require_loaded(counts_->loaded() || !n, "reading n");
    if (c) read_table(counts_->c().view(), c->data());
    if (n) read_table(counts_->n().view(), n->data());
  }

  // Adds E[Theta | z] to Theta if that is wanted, c to c_sum, and 1 to zeros where c is 0.
  void record(Numbers gamma, std::optional<Matrix<float>> Theta, Matrix<float> c_sum,
              std::optional<Matrix<float>> zeros, int n_threads) {
    const std::int64_t K = K_, I = cells_->n_docs();
    require_gamma(gamma);
    require(is_or_none(Theta, cells_->n_features(), K) &&
                static_cast<std::int64_t>(c_sum.shape(0)) == I &&
                static_cast<std::int64_t>(c_sum.shape(1)) == K,
            "Theta must be (n_features, K) and c_sum (n_docs, K)");
    require(is_or_none(zeros, I, K), "zeros must be (n_docs, K)");
    require_loaded(counts_->loaded() || !Theta, "recording Theta");
    nb::gil_scoped_release release;
    if (Theta) add_mean_loadings(*counts_, gamma.data(), rows(*Theta), std::max(n_threads, 1));
    const CountView c = counts_->c().view();
    if (zeros)
      for (std::int64_t at = 0; at < I * K; ++at) zeros->data()[at] += 1.0F;
    for (std::int64_t i = 0; i < I; ++i)
      c.visit(i, [&](std::int64_t k, std::int32_t count) {
        c_sum.data()[i * K + column(k)] += static_cast<float>(count);
        if (zeros) zeros->data()[i * K + column(k)] -= 1.0F;
      });
  }

  double log_moments(Numbers gamma, const Prior& prior, int n_threads) {
    require_loaded(counts_->loaded(), "log_moments");
    require_gamma(gamma);
    const ScorePrior view = fitting(prior);
    nb::gil_scoped_release release;
    const double loadings =
        log_loading_moments(counts_->n().view(), gamma.data(), counts_->block().data(),
                            counts_->n_blocks(), std::max(n_threads, 1));
    return loadings + dcomp::log_score_moments(counts_->c().view(), view, counts_->component(),
                                               std::max(n_threads, 1));
  }

  // The documents' part of it.
  double log_score_moments(const Prior& prior, int n_threads) {
    const ScorePrior view = fitting(prior);
    nb::gil_scoped_release release;
    return dcomp::log_score_moments(counts_->c().view(), view, counts_->component(),
                                    std::max(n_threads, 1));
  }

 private:
  void take_totals(const Vector<const std::int64_t>& given) {
    for (std::size_t j = 0; j < feature_totals_.size(); ++j) {
      const std::int64_t own = std::exchange(feature_totals_[j], given.data()[j]);
      if (feature_totals_[j] < own)
        throw std::invalid_argument(
            "feature_totals must hold the tokens of each feature in the whole corpus, and "
            "feature " +
            std::to_string(j) + " has " + std::to_string(own) + " in this part; got " +
            std::to_string(feature_totals_[j]));
    }
  }
  // The component of a column of the counts.
  std::int64_t column(std::int64_t k) const {
    return counts_->component() == nullptr ? k : counts_->component()[k];
  }
  ScorePrior fitting(const Prior& prior) const {
    const ScorePrior view = prior.view(K_, cells_->n_docs());
    require(
        counts_->fit(view),
        "the score prior must be like the one that the sampler was made for, its tree the same");
    return view;
  }
  void read_table(const CountView& counts, std::int32_t* out) const {
    std::fill_n(out, counts.n_rows * K_, 0);
    for (std::int64_t row = 0; row < counts.n_rows; ++row)
      counts.visit(row,
                   [&](std::int64_t k, std::int32_t count) { out[row * K_ + column(k)] = count; });
  }

  std::int64_t K_ = 0;
  std::vector<std::int64_t> feature_totals_;  // (J): of the whole corpus
  std::unique_ptr<CollapsedCounts> counts_;
};

}  // namespace

void define_samplers(nb::module_& m) {
  m.def("sample", &sample, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("prior"), nb::arg("c_in").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("n").noconvert().none(),
        nb::arg("scores").noconvert().none(), nb::arg("seed"), nb::arg("sweep"),
        nb::arg("n_threads"), nb::arg("number").none() = nb::none());
  m.def("draw_loadings", &loadings_draw, nb::arg("n").noconvert(), nb::arg("gamma").noconvert(),
        nb::arg("block").noconvert(), nb::arg("n_blocks"), nb::arg("seed"), nb::arg("sweep"),
        nb::arg("log_scale").noconvert(), nb::arg("n_threads"), nb::arg("kept") = false);
  m.def("sample_lines", &lines, nb::arg("corpus"), nb::arg("number").noconvert(),
        nb::arg("Theta").noconvert(), nb::arg("alpha").noconvert(), nb::arg("rate").noconvert(),
        nb::arg("log_zero").none(), nb::arg("zero").none(), nb::arg("normalised"),
        nb::arg("c").none(), nb::arg("c_out").noconvert(), nb::arg("scores_out").noconvert(),
        nb::arg("seed"), nb::arg("sweep"), nb::arg("skip"), nb::arg("every"), nb::arg("n_threads"));
  m.def("draw_scores", &scores_draw, nb::arg("c").noconvert(), nb::arg("prior"),
        nb::arg("out").noconvert(), nb::arg("seed"), nb::arg("sweep"), nb::arg("n_threads"),
        nb::arg("first") = 0);
  m.def("log_loading_moments", &loading_moments, nb::arg("n").noconvert(),
        nb::arg("gamma").noconvert(), nb::arg("block").noconvert(), nb::arg("n_blocks"),
        nb::arg("n_threads"));
  m.def("log_score_moments", &score_moments, nb::arg("c").noconvert(), nb::arg("prior"),
        nb::arg("n_threads"));
  m.def("tree_means", &tree_means, nb::arg("c").noconvert(), nb::arg("prior"),
        nb::arg("out").noconvert(), nb::arg("n_threads"));
  nb::class_<CollapsedSampler> sampler(m, "CollapsedSampler");
  sampler
      .def(nb::init<nb::object, Vector<const std::int32_t>, std::int64_t, const Prior&, int, bool,
                    std::optional<Vector<const std::int64_t>>>(),
           nb::arg("corpus"), nb::arg("block").noconvert(), nb::arg("n_blocks"), nb::arg("prior"),
           nb::arg("n_parts"), nb::arg("sparse"),
           nb::arg("feature_totals").noconvert().none() = nb::none())
      .def("start", &CollapsedSampler::start, nb::arg("seed"), nb::arg("z").noconvert())
      .def("start_from", &CollapsedSampler::start_from, nb::arg("seed"),
           nb::arg("scores").noconvert(), nb::arg("Theta").noconvert(), nb::arg("z").noconvert(),
           nb::arg("n_threads"))
      .def("count", &CollapsedSampler::count, nb::arg("z").noconvert())
      .def("load", &CollapsedSampler::load, nb::arg("n").noconvert())
      .def("unload", &CollapsedSampler::unload)
      .def("sweep", &CollapsedSampler::sweep, nb::arg("z").noconvert(),
           nb::arg("gamma").noconvert(), nb::arg("prior"), nb::arg("seed"), nb::arg("sweep"),
           nb::arg("n_threads"))
      .def("add_means", &CollapsedSampler::add_means, nb::arg("prior"), nb::arg("out").noconvert(),
           nb::arg("n_threads"))
      .def("read", &CollapsedSampler::read, nb::arg("c").noconvert().none(),
           nb::arg("n").noconvert().none())
      .def("record", &CollapsedSampler::record, nb::arg("gamma").noconvert(),
           nb::arg("Theta").noconvert().none(), nb::arg("c_sum").noconvert(),
           nb::arg("zeros").noconvert().none(), nb::arg("n_threads"))
      .def("log_moments", &CollapsedSampler::log_moments, nb::arg("gamma").noconvert(),
           nb::arg("prior"), nb::arg("n_threads"))
      .def("log_score_moments", &CollapsedSampler::log_score_moments, nb::arg("prior"),
           nb::arg("n_threads"));
  define_tokens(sampler);
}

}  // namespace dcomp::bindings
