#include "structured.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/structured.hpp"
#include "score_prior.hpp"
#include "tokens.hpp"

namespace dcomp::bindings {

namespace {

RowKind kind_of(const std::string& name) {
  constexpr const char* names[kRowKinds] = {"fixed", "shared", "document", "phi", "document-phi"};
  for (int kind = 0; kind < kRowKinds; ++kind)
    if (name == names[kind]) return static_cast<RowKind>(kind);
  throw std::invalid_argument("there is no structure " + name);
}

// The tokens of a corpus with the counts of an assignment to pairs of leaf and node. The counts
// follow the assignment that was last counted or swept; Python keeps track of which one that is.
class StructuredSampler : public TokenSampler {
 public:
  StructuredSampler(nb::object corpus, Vector<const std::int32_t> block, std::int64_t n_blocks,
                    const std::string& kind, Vector<const std::int32_t> leaf,
                    Vector<const std::int32_t> node, std::int64_t K, std::int64_t H,
                    std::optional<Vector<const std::int32_t>> parent, int n_parts)
      : TokenSampler("StructuredSampler", corpus, block, n_blocks) {
    const Call call("StructuredSampler");
    call.shape("node", node, {static_cast<std::int64_t>(leaf.shape(0))}, "pairs, as leaf");
    const RowKind rows = kind_of(kind);
    call.require(!is_stick(rows) || parent.has_value(), "a tree needs parents");
    call.shape("parent", parent, {H}, "nodes");
    const std::int32_t* parents = is_stick(rows) ? parent->data() : nullptr;
    const auto P = static_cast<std::int64_t>(leaf.shape(0));
    const char* problem = check_structure(leaf.data(), node.data(), P, K, H, parents);
    call.require(*problem == '\0', problem);
    cut(n_parts);
    layout_ = std::make_unique<StructureLayout>(rows, leaf.data(), node.data(), P, K, H, parents);
    counts_ = std::make_unique<StructuredCounts>(*cells_, block.data(), n_blocks, *layout_);
  }

  // Pairs drawn for every token: an even leaf, then one of its nodes evenly.
  void start(std::uint64_t seed, Vector<std::uint16_t> z) {
    const Use use(*this, "start", Needs::nothing);
    require_tokens("z", z);
    const StructureView& at = layout_->view();
    const Released release;
    std::vector<std::int64_t> first(static_cast<std::size_t>(at.K + 1), 0);
    for (std::int64_t p = 0; p < layout_->n_pairs(); ++p)
      ++first[static_cast<std::size_t>(at.leaf[layout_->code(p)] + 1)];
    for (std::size_t c = 0; c + 1 < first.size(); ++c) first[c + 1] += first[c];
    start_tokens(seed, W(), *cells_, z.data(), [&](Stream& rng) {
      const auto c = static_cast<std::size_t>(below(rng, at.K));
      return static_cast<std::uint16_t>(first[c] + below(rng, first[c + 1] - first[c]));
    });
  }

  void count(Vector<const std::uint16_t> z) {
    const Use use(*this, "count", Needs::nothing);
    require_tokens("z", z);
    use.within("z", z, 0, static_cast<std::uint16_t>(layout_->n_pairs() - 1), "in [0, pairs)");
    const Released release;
    Change change(*this);
    counts_->count(z.data());
    change.done_anew();
  }

  // The whole corpus's counts in place of those of this part, until z is counted or others are
  // loaded: of features and nodes (n_features, H) and, where the corpus shares the rows, what these
  // know. Both must be of this part's assignment and those of all others.
  void load(Matrix<const std::int32_t> n, std::optional<Matrix<const std::int32_t>> S) {
    const Use use(*this, "load", Needs::nothing);
    const StructureView& at = layout_->view();
    require_whole(n, at.H, counts_->block(), counts_->n_blocks(), nullptr);
    const bool shared = counts_->shares_rows();
    use.require(!S || !is_per_document(at.kind),
                "S must be None where every document has rows of its own");
    if (shared) require_rows(n, S);
    const Released release;
    Change change(*this);
    counts_->load(n.data(), shared ? S->data() : nullptr);
    change.done();
  }

  // Gives back the memory of the features' counts, until they are loaded or z is counted. Sweeps
  // with Theta given do without, and leave none: they would not be those of z any more.
  void unload() {
    const Use use(*this, "unload", Needs::nothing);
    counts_->unload();
  }

  double sweep(Vector<std::uint16_t> z, Numbers gamma, const Prior& prior, Maybe pair, Maybe stop,
               Maybe go, std::uint64_t seed, std::uint32_t number, int n_threads,
               std::optional<Matrix<const float>> Theta) {
    const Use use(*this, "sweep", Needs::counts);
    const int threads = use.threads(n_threads);
    const StructureView& at = layout_->view();
    require_loaded(counts_->loaded() || Theta, "a sweep without Theta");
    require_tokens("z", z);
    require_gamma(gamma);
    const ScorePrior leaves = prior.linear(at.K, cells_->n_docs());
    require_row_prior(use, pair, stop, go);
    use.shape("Theta", Theta, {cells_->n_features(), at.padded_nodes},
              "features, nodes padded to vectors");
    if (Theta) use.not_negative("Theta", *Theta);
    use.require(
        !Theta || !counts_->shares_rows(),
        "with Theta given every document is on its own, and the rows must be, too: fixed, or of "
        "each document; got rows that all documents share");
    use.apart({span("z", z), span("gamma", gamma), span("pair", pair), span("stop", stop),
               span("go", go), span("Theta", Theta)});
    const StructuredInput input{gamma.data(),
                                leaves,
                                pair ? pair->data() : nullptr,
                                stop ? stop->data() : nullptr,
                                go ? go->data() : nullptr,
                                seed,
                                number,
                                Theta ? Theta->data() : nullptr};
    const Released release;
    Change change(*this);
    const double words = structured_sweep(input, *counts_, threads);
    counts_->read(z.data());
    if (Theta) counts_->unload();
    change.done();
    return words;
  }

  // What is asked for of: words by leaf (n_docs, K), by feature and node (n_features, H), and those
  // of the rows: one row or one for each document, of pairs or nodes.
  void read(std::optional<Matrix<std::int32_t>> C, std::optional<Matrix<std::int32_t>> n,
            std::optional<Matrix<std::int32_t>> S) {
    const Use use(*this, "read", Needs::counts);
    const StructureView& at = layout_->view();
    use.shape("C", C, {cells_->n_docs(), at.K}, "documents, leaves");
    use.shape("n", n, {cells_->n_features(), at.H}, "features, nodes");
    use.shape("S", S, {counts_->n_rows(), layout_->read_width()}, "1 or documents, pairs or nodes");
    use.apart({span("C", C), span("n", n), span("S", S)});
    require_loaded(counts_->loaded() || !n, "reading n");
    const Released release;
    if (C) copy(counts_->leaf_view(), C->data());
    if (n) copy(counts_->feature_view(), n->data());
    if (S) counts_->read_rows(S->data());
  }

  // The same without n, which is large and not needed by every sweep.
  void read_documents(Matrix<std::int32_t> C, Matrix<std::int32_t> S) { read(C, std::nullopt, S); }

  // Adds E[Theta | z] to Theta.
  void add_loadings(Numbers gamma, Matrix<float> Theta, int n_threads) {
    const Use use(*this, "add_loadings", Needs::counts);
    const int threads = use.threads(n_threads);
    require_loaded(counts_->loaded(), "add_loadings");
    require_gamma(gamma);
    use.shape("Theta", Theta, {cells_->n_features(), layout_->view().H}, "features, nodes");
    use.apart({span("Theta", Theta), span("gamma", gamma)});
    const Released release;
    add_structured_loadings(*counts_, gamma.data(), rows(Theta), threads);
  }

  // Adds the words of documents by node to out.
  void add_nodes(Matrix<float> out) {
    const Use use(*this, "add_nodes", Needs::counts);
    use.shape("out", out, {cells_->n_docs(), layout_->view().H}, "documents, nodes");
    const Released release;
    counts_->add_nodes(out.data());
  }

  // Loadings and leaf scores integrated out; the rows are Python's.
  double log_moments(Numbers gamma, const Prior& prior, int n_threads) {
    const Use use(*this, "log_moments", Needs::counts);
    const int threads = use.threads(n_threads);
    require_loaded(counts_->loaded(), "log_moments");
    require_gamma(gamma);
    const ScorePrior leaves = prior.linear(layout_->view().K, cells_->n_docs());
    const Released release;
    return log_loading_moments(counts_->feature_view(), gamma.data(), counts_->block().data(),
                               counts_->n_blocks(), threads) +
           dcomp::log_score_moments(counts_->leaf_view(), leaves, nullptr, threads);
  }

  // The leaves' documents' part of it.
  double log_score_moments(const Prior& prior, int n_threads) {
    const Use use(*this, "log_score_moments", Needs::counts);
    const int threads = use.threads(n_threads);
    const ScorePrior leaves = prior.linear(layout_->view().K, cells_->n_docs());
    const Released release;
    return dcomp::log_score_moments(counts_->leaf_view(), leaves, nullptr, threads);
  }

 private:
  // What shared rows know must be of the tokens that n counts: then no sum of it leaves int32.
  void require_rows(const Matrix<const std::int32_t>& n,
                    const std::optional<Matrix<const std::int32_t>>& S) const {
    const StructureView& at = layout_->view();
    const std::int64_t width = layout_->read_width();
    const Call call("load");
    call.require(S.has_value(), "S must be given where all documents share the rows; got None");
    call.shape("S", *S, {1, width}, "one row of pairs or nodes, which all documents share");
    std::vector<std::int64_t> in_n(static_cast<std::size_t>(at.H), 0), in_S = in_n;
    for (std::int64_t j = 0; j < cells_->n_features(); ++j)
      for (std::int64_t h = 0; h < at.H; ++h)
        in_n[static_cast<std::size_t>(h)] += n.data()[j * at.H + h];
    for (std::int64_t q = 0; q < width; ++q) {
      const std::int32_t count = S->data()[q];
      if (count < 0)
        throw std::invalid_argument("S must hold no negative numbers; got " +
                                    std::to_string(count));
      in_S[static_cast<std::size_t>(is_stick(at.kind) ? q : at.node[layout_->code(q)])] += count;
    }
    for (std::size_t h = 0; h < in_n.size(); ++h)
      if (in_n[h] != in_S[h])
        throw std::invalid_argument("S must be of the tokens that n counts; node " +
                                    std::to_string(h) + " has " + std::to_string(in_n[h]) +
                                    " in n and " + std::to_string(in_S[h]) + " in S");
    const std::int64_t tokens = std::accumulate(in_S.begin(), in_S.end(), std::int64_t{0});
    call.require(tokens <= std::numeric_limits<std::int32_t>::max(),
                 "the tokens that share rows must be fewer than 2^31", tokens);
  }
  void require_row_prior(const Call& call, const Maybe& pair, const Maybe& stop,
                         const Maybe& go) const {
    const StructureView& at = layout_->view();
    const auto hold = [&](const char* name, const Maybe& numbers, std::int64_t n, const char* of) {
      if (!numbers) call.fail(std::string(name) + " must be given for these rows; got None");
      call.shape(name, *numbers, {n}, of);
      call.positive(name, *numbers);
    };
    if (!is_stick(at.kind)) return hold("pair", pair, layout_->n_pairs(), "pairs");
    hold("stop", stop, at.H, "nodes");
    hold("go", go, at.H, "nodes");
  }
  static void copy(const CountView& counts, std::int32_t* out) {
    for (std::int64_t row = 0; row < counts.n_rows; ++row)
      std::copy_n(counts.dense + row * counts.stride, counts.K, out + row * counts.K);
  }

  std::unique_ptr<StructureLayout> layout_;
  std::unique_ptr<StructuredCounts> counts_;
};

}  // namespace

void define_structured(nb::module_& m) {
  nb::class_<StructuredSampler> sampler(m, "StructuredSampler");
  sampler
      .def(nb::init<nb::object, Vector<const std::int32_t>, std::int64_t, const std::string&,
                    Vector<const std::int32_t>, Vector<const std::int32_t>, std::int64_t,
                    std::int64_t, std::optional<Vector<const std::int32_t>>, int>(),
           nb::arg("corpus"), nb::arg("block").noconvert(), nb::arg("n_blocks"), nb::arg("kind"),
           nb::arg("leaf").noconvert(), nb::arg("node").noconvert(), nb::arg("K"), nb::arg("H"),
           nb::arg("parent").noconvert().none(), nb::arg("n_parts"))
      .def("start", &StructuredSampler::start, nb::arg("seed"), nb::arg("z").noconvert())
      .def("count", &StructuredSampler::count, nb::arg("z").noconvert())
      .def("load", &StructuredSampler::load, nb::arg("n").noconvert(),
           nb::arg("S").noconvert().none())
      .def("unload", &StructuredSampler::unload)
      .def("sweep", &StructuredSampler::sweep, nb::arg("z").noconvert(),
           nb::arg("gamma").noconvert(), nb::arg("prior"), nb::arg("pair").noconvert().none(),
           nb::arg("stop").noconvert().none(), nb::arg("go").noconvert().none(), nb::arg("seed"),
           nb::arg("sweep"), nb::arg("n_threads"), nb::arg("Theta").noconvert().none() = nb::none())
      .def("read", &StructuredSampler::read, nb::arg("C").noconvert().none(),
           nb::arg("n").noconvert().none(), nb::arg("S").noconvert().none())
      .def("read_documents", &StructuredSampler::read_documents, nb::arg("C").noconvert(),
           nb::arg("S").noconvert())
      .def("add_loadings", &StructuredSampler::add_loadings, nb::arg("gamma").noconvert(),
           nb::arg("Theta").noconvert(), nb::arg("n_threads"))
      .def("add_nodes", &StructuredSampler::add_nodes, nb::arg("out").noconvert())
      .def("log_moments", &StructuredSampler::log_moments, nb::arg("gamma").noconvert(),
           nb::arg("prior"), nb::arg("n_threads"))
      .def("log_score_moments", &StructuredSampler::log_score_moments, nb::arg("prior"),
           nb::arg("n_threads"));
  define_tokens(sampler);
}

}  // namespace dcomp::bindings
