// The Python face of the samplers: direct and collapsed Gibbs.
#include "samplers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
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
              std::optional<Vector<const std::int64_t>> number, std::int64_t switch_from) {
  const Call call("sample");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(c_in.shape(1));
  call.components(K);
  const ScorePrior view = prior.view(K, W.n_docs);
  prior.require_mode("sample");
  call.shape("c_in", c_in, {W.n_docs, K}, "documents, K");
  call.shape("c_out", c_out, {W.n_docs, K}, "documents, K");
  call.shape("Theta", Theta, {W.n_features, padded_width<float>(K)},
             "features, K padded to vectors");
  call.shape("log_scale", log_scale, {W.n_features}, "features");
  call.shape("n", n, {W.n_features, K}, "features, K");
  call.shape("scores", scores, {W.n_docs, K}, "documents, K");
  if (number) call.documents("number", *number, W.n_docs);
  call.logs("log_scale", log_scale);
  call.not_negative("Theta", Theta);
  call.not_negative("c_in", c_in);
  call.apart({span("c_out", c_out), span("n", n), span("scores", scores), span("c_in", c_in),
              span("Theta", Theta), span("log_scale", log_scale), span("number", number)});
  const SamplePass pass{
      W,
      padded_rows(Theta, K),
      log_scale.data(),
      {view, rows(c_in), scores ? scores->data() : nullptr, seed, sweep,
       n ? Purpose::allocation : Purpose::transform, W.first, number ? number->data() : nullptr},
      rows(c_out),
      n ? n->data() : nullptr,
      switch_from};
  const Released release;
  return sample_documents(pass, threads);
}

// What sample_lines is given of the scores' prior and where they begin.
struct LinePrior {
  const Numbers& alpha;
  const Matrix<const double>& rate;
  const std::optional<Numbers>& log_zero;
  const std::optional<Matrix<const double>>& zero;
  const std::optional<Matrix<const std::int32_t>>& c;
};

void require_lines(const Call& call, std::int64_t I, std::int64_t K, const LinePrior& of) {
  call.components(K);
  call.shape("rate", of.rate, {I, K}, "documents, K");
  call.shape("zero", of.zero, {I, K}, "documents, K");
  call.shape("c", of.c, {I, K}, "documents, K");
  call.shape("log_zero", of.log_zero, {K}, "K");
  call.require(of.log_zero.has_value() == of.zero.has_value(), "log_zero must come with zero");
  call.positive("alpha", of.alpha);
  call.positive("rate", of.rate);
  if (of.log_zero) call.logs("log_zero", *of.log_zero);  // -infinity: never 0
  if (of.zero) call.within("zero", *of.zero, 0, 1, "in [0, 1]");
  if (of.c) call.not_negative("c", *of.c);
}

// Long documents along lines; `number` names them in the whole corpus, c is null for their modes.
void lines(Corpus& corpus, Vector<const std::int64_t> number, Matrix<const float> Theta,
           Numbers alpha, Matrix<const double> rate, std::optional<Numbers> log_zero,
           std::optional<Matrix<const double>> zero, bool normalised,
           std::optional<Matrix<const std::int32_t>> c, Cube<std::int32_t> c_out,
           Cube<float> scores_out, std::uint64_t seed, std::uint32_t sweep, std::int64_t skip,
           std::int64_t every, int n_threads) {
  const Call call("sample_lines");
  const int threads = call.threads(n_threads);
  const CsrView& W = corpus.W();
  const auto K = static_cast<std::int64_t>(alpha.shape(0));
  const auto kept = static_cast<std::int64_t>(c_out.shape(0));
  require_lines(call, W.n_docs, K, {alpha, rate, log_zero, zero, c});
  call.require(static_cast<std::int64_t>(Theta.shape(0)) == W.n_features &&
                   static_cast<std::int64_t>(Theta.shape(1)) >= K,
               "Theta must have a row for each feature, of K numbers or more");
  call.not_negative("Theta", Theta);
  call.documents("number", number, W.n_docs);
  call.shape("c_out", c_out, {kept, W.n_docs, K}, "kept, documents, K");
  call.shape("scores_out", scores_out, {kept, W.n_docs, K}, "kept, documents, K");
  call.require(skip >= 0, "skip must be at least 0", skip);
  call.require(every >= 1, "every must be at least 1", every);
  call.require(every <= std::int64_t{UINT32_MAX} && skip + 1 < std::int64_t{UINT32_MAX} - sweep &&
                   kept * every < std::int64_t{UINT32_MAX} - sweep - skip,
               "all sweeps must have numbers below 2^32", skip);
  call.apart({span("c_out", c_out), span("scores_out", scores_out), span("c", c),
              span("Theta", Theta), span("alpha", alpha), span("rate", rate), span("zero", zero),
              span("log_zero", log_zero), span("number", number)});
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
                        kept,
                        every};
  const Released release;
  sample_lines(input, c ? c->data() : nullptr, c_out.data(), scores_out.data(), threads);
}

// Counts (rows, K) that are to be read.
void require_counts(const Call& call, const char* name, const Matrix<const std::int32_t>& counts) {
  call.components(static_cast<std::int64_t>(counts.shape(1)));
  call.not_negative(name, counts);
}

// Of documents: kernels add up a document's words in 32 bits.
void require_document_counts(const Call& call, const Matrix<const std::int32_t>& c) {
  require_counts(call, "c", c);
  const Rows<const std::int32_t> view = rows(c);
  for (std::int64_t i = 0; i < view.n_rows; ++i) {
    std::int64_t total = 0;
    for (std::int64_t k = 0; k < view.width; ++k) total += view.row(i)[k];
    call.require(total <= std::numeric_limits<std::int32_t>::max(),
                 "rows of c must sum to less than 2^31", total);
  }
}

void scores_draw(Matrix<const std::int32_t> c, const Prior& prior, Matrix<float> out,
                 std::uint64_t seed, std::uint32_t sweep, int n_threads, std::int64_t first) {
  const Call call("draw_scores");
  const int threads = call.threads(n_threads);
  const ScorePrior view = prior_of(prior, c);
  prior.require_mode("sample");
  require_document_counts(call, c);
  require_first(first, rows(c).n_rows);
  call.shape("out", out, {rows(c).n_rows, rows(c).width}, "documents, K");
  call.apart({span("out", out), span("c", c)});
  const Released release;
  draw_scores({view, rows(c), out.data(), seed, sweep, Purpose::kept_scores, first}, threads);
}

// n (J, K) with the prior and the blocks of its features.
GammaView require_loading_counts(const Call& call, const Matrix<const std::int32_t>& n,
                                 const GammaArray& gamma, const Vector<const std::int32_t>& block,
                                 std::int64_t n_blocks) {
  require_counts(call, "n", n);
  call.blocks(block, rows(n).n_rows, n_blocks);
  return call.gamma(gamma, rows(n).n_rows, rows(n).width);
}

// `kept`: with random numbers of its own, apart from those of a chain.
auto loadings_draw(Matrix<const std::int32_t> n, GammaArray gamma, Vector<const std::int32_t> block,
                   std::int64_t n_blocks, std::uint64_t seed, std::uint32_t sweep,
                   Vector<double> log_scale, int n_threads, bool kept) {
  const Call call("draw_loadings");
  const int threads = call.threads(n_threads);
  const std::int64_t J = rows(n).n_rows, K = rows(n).width;
  const GammaView prior = require_loading_counts(call, n, gamma, block, n_blocks);
  call.shape("log_scale", log_scale, {J}, "features");
  call.apart(
      {span("log_scale", log_scale), span("n", n), span("gamma", gamma), span("block", block)});
  auto Theta = new_matrix<float>(J, padded_width<float>(K));
  const Rows<float> out{Theta.data(), J, K, padded_width<float>(K)};
  {
    const Released release;
    draw_loadings(rows(n), prior, block.data(), n_blocks, seed, sweep,
                  kept ? Purpose::kept_loadings : Purpose::loadings, out, log_scale.data(),
                  threads);
  }
  return Theta;
}

CountView dense_view(const Matrix<const std::int32_t>& counts) {
  const auto K = static_cast<std::int64_t>(counts.shape(1));
  return {static_cast<std::int64_t>(counts.shape(0)), K, counts.data(), K, {}};
}

double loading_moments(Matrix<const std::int32_t> n, GammaArray gamma,
                       Vector<const std::int32_t> block, std::int64_t n_blocks, int n_threads) {
  const Call call("log_loading_moments");
  const int threads = call.threads(n_threads);
  const GammaView prior = require_loading_counts(call, n, gamma, block, n_blocks);
  const Released release;
  return log_loading_moments(dense_view(n), prior, block.data(), n_blocks, threads);
}

double score_moments(Matrix<const std::int32_t> c, const Prior& prior, int n_threads) {
  const Call call("log_score_moments");
  const int threads = call.threads(n_threads);
  const ScorePrior view = prior_of(prior, c);
  require_document_counts(call, c);
  const Released release;
  return log_score_moments(dense_view(c), view, nullptr, threads);
}

void require_means(const Call& call, const Prior& prior, const ScorePrior& view) {
  if (has_score_means(view)) return;
  call.fail("E[scores | c] must not be linear in c to be added up here; under model " +
            prior.key() + " it follows from the mean of c");
}

// Adds E[m | c] to out.
void tree_means(Matrix<const std::int32_t> c, const Prior& prior, Matrix<float> out,
                int n_threads) {
  const Call call("tree_means");
  const int threads = call.threads(n_threads);
  const ScorePrior view = prior_of(prior, c);
  require_means(call, prior, view);
  require_document_counts(call, c);
  call.shape("out", out, {rows(c).n_rows, rows(c).width}, "documents, K");
  call.apart({span("out", out), span("c", c)});
  const Released release;
  add_score_means(dense_view(c), view, nullptr, out.data(), threads);
}

// The tokens of a corpus with the counts of an assignment. The counts follow the assignment that
// was last counted or swept; Python keeps track of which one that is.
class CollapsedSampler : public TokenSampler {
 public:
  CollapsedSampler(nb::object corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
                   const Prior& prior, int n_parts, bool sparse,
                   std::optional<Vector<const std::int64_t>> feature_totals)
      : TokenSampler("CollapsedSampler", corpus, block, n_blocks) {
    const Call call("CollapsedSampler");
    prior.require_mode("collapse");
    const ScorePrior view = prior.view(prior.n_components(), W().n_docs);
    // A tree's nodes lie in whole vectors: it has more places than nodes.
    call.require(
        view.n_components + (view.tree == nullptr ? 0 : padded_width<float>(1)) <= kMostComponents,
        "the number of components must be at most 65535, less a vector for a tree",
        view.n_components);
    call.shape("feature_totals", feature_totals, {W().n_features}, "features");
    cut(n_parts);
    K_ = view.n_components;
    feature_totals_ = cells_->tokens_of_features();
    if (feature_totals) take_totals(*feature_totals);
    counts_ = std::make_unique<CollapsedCounts>(*cells_, block.data(), n_blocks, view, sparse,
                                                feature_totals_.data());
  }

  void start(std::uint64_t seed, Vector<std::uint16_t> z) {
    const Use use(*this, "start", Needs::nothing);
    require_tokens("z", z);
    const Released release;
    start_assignment(seed, W(), *cells_, K_, z.data());
  }

  void start_from(std::uint64_t seed, Matrix<const float> scores, Matrix<const float> Theta,
                  Vector<std::uint16_t> z, int n_threads) {
    const Use use(*this, "start_from", Needs::nothing);
    const int threads = use.threads(n_threads);
    const std::int64_t K = K_;
    require_tokens("z", z);
    use.shape("scores", scores, {cells_->n_docs(), K}, "documents, K");
    use.require(static_cast<std::int64_t>(Theta.shape(0)) == cells_->n_features() &&
                    static_cast<std::int64_t>(Theta.shape(1)) >= K,
                "Theta must have a row for each feature, of K numbers or more");
    use.not_negative("scores", scores);
    use.not_negative("Theta", Theta);
    use.apart({span("z", z), span("scores", scores), span("Theta", Theta)});
    const CsrView& counts = W();
    const Released release;
    start_assignment_from(seed, counts, *cells_, rows(scores), padded_rows(Theta, K), z.data(),
                          threads);
  }

  void count(Vector<const std::uint16_t> z) {
    const Use use(*this, "count", Needs::nothing);
    require_tokens("z", z);
    use.within("z", z, 0, static_cast<std::uint16_t>(K_ - 1), "in [0, K)");
    const Released release;
    Change change(*this);
    counts_->count(z.data());
    counted_ = checksum(z.data(), n_tokens());
    change.done_anew();
  }

  // The features' counts of the whole corpus in place of those of this part, until z is counted or
  // others are loaded. They must be of this part's assignment and those of all others.
  void load(Matrix<const std::int32_t> n) {
    const Use use(*this, "load", Needs::nothing);
    require_whole(n, K_, counts_->block(), counts_->n_blocks(),
                  counts_->sparse() ? &feature_totals_ : nullptr);
    const Released release;
    Change change(*this);
    counts_->load(n.data());
    change.done();
  }

  // Gives back the memory of the features' counts, until they are loaded or z is counted.
  void unload() {
    const Use use(*this, "unload", Needs::nothing);
    counts_->unload();
  }

  double sweep(Vector<std::uint16_t> z, GammaArray gamma, const Prior& prior, std::uint64_t seed,
               std::uint32_t number, int n_threads) {
    const Use use(*this, "sweep", Needs::counts);
    const int threads = use.threads(n_threads);
    require_loaded(counts_->loaded(), "a sweep");
    require_tokens("z", z);
    const GammaView of_loadings = use.gamma(gamma, cells_->n_features(), K_);
    const ScorePrior view = fitting(prior);
    use.require(!counts_->sparse() || !of_loadings.is_own(),
                "sparse counts need one gamma for all components");
    use.require(!counts_->sparse() || shares_weights(view, cells_->n_docs()),
                "sparse counts need weights that documents share");
    use.apart({span("z", z), span("gamma", gamma)});
    // Another assignment, even one in [0, K), would take tokens out of counts that are 0.
    use.require(checksum(z.data(), n_tokens()) == counted_,
                "z must be the assignment that was last counted or swept");
    const CollapseInput input{of_loadings, view, seed, number};
    const Released release;
    Change change(*this);
    const double words = collapse_sweep(input, *counts_, z.data(), threads);
    counted_ = checksum(z.data(), n_tokens());
    change.done();
    return words;
  }

  // All tokens of a document at once, in those that have `switch_from` or more, as direct Gibbs has
  // them: scores given c, components switched where scores can be exactly 0, then z given scores
  // and Theta. The counts of features are this part's own afterwards.
  void draw_anew(Vector<std::uint16_t> z, Matrix<const float> Theta, Numbers log_scale,
                 const Prior& prior, std::uint64_t seed, std::uint32_t number,
                 std::int64_t switch_from, int n_threads) {
    const Use use(*this, "draw_anew", Needs::counts);
    const int threads = use.threads(n_threads);
    const std::int64_t K = K_, I = cells_->n_docs();
    require_tokens("z", z);
    prior.require_mode("sample");
    const ScorePrior view = fitting(prior);
    use.require(checksum(z.data(), n_tokens()) == counted_,
                "z must be the assignment that was last counted or swept");
    use.require(counts_->component() == nullptr,
                "components in an order of their own have no Theta here");
    use.shape("Theta", Theta, {cells_->n_features(), padded_width<float>(K)},
              "features, K padded to vectors");
    use.shape("log_scale", log_scale, {cells_->n_features()}, "features");
    use.logs("log_scale", log_scale);
    use.not_negative("Theta", Theta);
    use.apart({span("z", z), span("Theta", Theta), span("log_scale", log_scale)});
    const CsrView& counts = W();
    const Released release;
    Change change(*this);
    std::vector<std::int32_t> c(static_cast<std::size_t>(I * K)), c_new(c.size());
    read_table(counts_->c().view(), c.data());
    std::vector<std::int64_t> first(static_cast<std::size_t>(I + 1), 0);
    for (std::int64_t i = 0; i < I; ++i)
      first[i + 1] = std::accumulate(counts.data + counts.indptr[i],
                                     counts.data + counts.indptr[i + 1], first[i]);
    std::vector<std::uint16_t> by_entry(static_cast<std::size_t>(n_tokens()));
    cells_->in_entry_order(counts, z.data(), by_entry.data());
    const ScorePass scores{view,   {c.data(), I, K, K}, nullptr,     seed,
                           number, Purpose::anew,       counts.first};
    sample_documents({counts,
                      padded_rows(Theta, K),
                      log_scale.data(),
                      scores,
                      {c_new.data(), I, K, K},
                      nullptr,
                      switch_from,
                      by_entry.data(),
                      first.data()},
                     threads);
    cells_->from_entry_order(counts, by_entry.data(), z.data());
    counts_->count(z.data());
    counted_ = checksum(z.data(), n_tokens());
    change.done_anew();
  }

  // Adds E[scores | c] to out (n_docs, K).
  void add_means(const Prior& prior, Matrix<float> out, int n_threads) {
    const Use use(*this, "add_means", Needs::counts);
    const int threads = use.threads(n_threads);
    const ScorePrior view = fitting(prior);
    require_means(use, prior, view);
    use.shape("out", out, {cells_->n_docs(), K_}, "documents, K");
    const Released release;
    add_score_means(counts_->c().view(), view, counts_->component(), out.data(), threads);
  }

  // What is asked for.
  void read(std::optional<Matrix<std::int32_t>> c, std::optional<Matrix<std::int32_t>> n) {
    const Use use(*this, "read", Needs::counts);
    use.shape("c", c, {cells_->n_docs(), K_}, "documents, K");
    use.shape("n", n, {cells_->n_features(), K_}, "features, K");
    use.apart({span("c", c), span("n", n)});
    require_loaded(counts_->loaded() || !n, "reading n");
    const Released release;
    if (c) read_table(counts_->c().view(), c->data());
    if (n) read_table(counts_->n().view(), n->data());
  }

  // Adds E[Theta | z] to Theta if that is wanted, c to c_sum, and 1 to zeros where c is 0.
  void record(GammaArray gamma, std::optional<Matrix<float>> Theta, Matrix<float> c_sum,
              std::optional<Matrix<float>> zeros, int n_threads) {
    const Use use(*this, "record", Needs::counts);
    const int threads = use.threads(n_threads);
    const std::int64_t K = K_, I = cells_->n_docs();
    const GammaView prior = use.gamma(gamma, cells_->n_features(), K);
    use.shape("Theta", Theta, {cells_->n_features(), K}, "features, K");
    use.shape("c_sum", c_sum, {I, K}, "documents, K");
    use.shape("zeros", zeros, {I, K}, "documents, K");
    use.apart(
        {span("Theta", Theta), span("c_sum", c_sum), span("zeros", zeros), span("gamma", gamma)});
    require_loaded(counts_->loaded() || !Theta, "recording Theta");
    const Released release;
    if (Theta) add_mean_loadings(*counts_, prior, rows(*Theta), threads);
    const CountView c = counts_->c().view();
    if (zeros)
      for (std::int64_t at = 0; at < I * K; ++at) zeros->data()[at] += 1.0F;
    for (std::int64_t i = 0; i < I; ++i)
      c.visit(i, [&](std::int64_t k, std::int32_t count) {
        c_sum.data()[i * K + column(k)] += static_cast<float>(count);
        if (zeros) zeros->data()[i * K + column(k)] -= 1.0F;
      });
  }

  double log_moments(GammaArray gamma, const Prior& prior, int n_threads) {
    const Use use(*this, "log_moments", Needs::counts);
    const int threads = use.threads(n_threads);
    require_loaded(counts_->loaded(), "log_moments");
    const GammaView of_loadings = use.gamma(gamma, cells_->n_features(), K_);
    const ScorePrior view = fitting(prior);
    const Released release;
    const double loadings =
        log_loading_moments(counts_->n().view(), of_loadings, counts_->block().data(),
                            counts_->n_blocks(), threads, counts_->component());
    return loadings +
           dcomp::log_score_moments(counts_->c().view(), view, counts_->component(), threads);
  }

  // The documents' part of it.
  double log_score_moments(const Prior& prior, int n_threads) {
    const Use use(*this, "log_score_moments", Needs::counts);
    const int threads = use.threads(n_threads);
    const ScorePrior view = fitting(prior);
    const Released release;
    return dcomp::log_score_moments(counts_->c().view(), view, counts_->component(), threads);
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
    prior.require_mode("collapse");
    Call("CollapsedSampler")
        .require(counts_->fit(view),
                 "the score prior must be like the one that the sampler was made for, its tree the "
                 "same");
    return view;
  }
  void read_table(const CountView& counts, std::int32_t* out) const {
    std::fill_n(out, counts.n_rows * K_, 0);
    for (std::int64_t row = 0; row < counts.n_rows; ++row)
      counts.visit(row,
                   [&](std::int64_t k, std::int32_t count) { out[row * K_ + column(k)] = count; });
  }

  std::int64_t K_ = 0;
  std::uint64_t counted_ = 0;                 // the checksum of the assignment that was
  std::vector<std::int64_t> feature_totals_;  // (J): of the whole corpus
  std::unique_ptr<CollapsedCounts> counts_;
};

}  // namespace

void define_samplers(nb::module_& m) {
  m.def("sample", &sample, nb::arg("corpus"), nb::arg("Theta").noconvert(),
        nb::arg("log_scale").noconvert(), nb::arg("prior"), nb::arg("c_in").noconvert(),
        nb::arg("c_out").noconvert(), nb::arg("n").noconvert().none(),
        nb::arg("scores").noconvert().none(), nb::arg("seed"), nb::arg("sweep"),
        nb::arg("n_threads"), nb::arg("number").none() = nb::none(), nb::arg("switch_from") = 0);
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
      .def("draw_anew", &CollapsedSampler::draw_anew, nb::arg("z").noconvert(),
           nb::arg("Theta").noconvert(), nb::arg("log_scale").noconvert(), nb::arg("prior"),
           nb::arg("seed"), nb::arg("sweep"), nb::arg("switch_from"), nb::arg("n_threads"))
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
