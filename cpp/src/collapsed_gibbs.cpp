#include "dcomp/collapsed_gibbs.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 256;

// (G), where all components have one prior.
std::vector<double> gamma_totals(const CollapsedCounts& counts, const GammaView& gamma) {
  std::vector<double> total(static_cast<std::size_t>(counts.n_blocks()), 0.0);
  for (std::int64_t j = 0; !gamma.is_own() && j < counts.cells().n_features(); ++j)
    total[counts.block()[j]] += gamma(j, 0);
  return total;
}

// Priors of components of their own, in the columns of the counts: gamma (J, padded) and its totals
// (G, padded).
struct OwnGamma {
  OwnGamma(const CollapsedCounts& counts, const GammaView& from) {
    if (!from.is_own()) return;
    const std::int64_t J = counts.cells().n_features(), K = counts.K(), padded = counts.padded();
    gamma.resize(static_cast<std::size_t>(J * padded), 0.0F);
    std::vector<double> sum(static_cast<std::size_t>(counts.n_blocks() * padded), 0.0);
    const std::int32_t* component = counts.component();
    for (std::int64_t j = 0; j < J; ++j)
      for (std::int64_t k = 0; k < K; ++k) {
        const std::int64_t of = component == nullptr ? k : component[k];
        if (of < 0) continue;
        gamma[j * padded + k] = static_cast<float>(from(j, of));
        sum[counts.block()[j] * padded + k] += from(j, of);
      }
    for (const double s : sum) total.push_back(s > 0 ? static_cast<float>(s) : 1.0F);
  }
  AlignedVector<float> gamma, total;
};

std::vector<std::int64_t> tokens_of_documents(const TokenCells& cells) {
  std::vector<std::int64_t> total(static_cast<std::size_t>(cells.n_docs()), 0);
  for (std::int64_t t = 0; t < cells.n_tokens(); ++t) ++total[cells.document()[t]];
  return total;
}

// One cell's scratch.
class Workspace {
 public:
  Workspace(const CollapsedCounts& counts, const TreeWeights* tree)
      : padded_(counts.padded()),
        tree_(static_cast<std::size_t>(
            tree == nullptr || counts.sparse() ? 0 : tree_scratch(padded_, tree->padded))),
        inverse_(static_cast<std::size_t>(padded_)),
        floats_(static_cast<std::size_t>(kUniforms + (counts.sparse() ? 5 : 2) * padded_)),
        sums_(static_cast<std::size_t>(counts.sparse() ? 2 * padded_ : 0)),
        counts_(static_cast<std::size_t>(counts.sparse() ? padded_ : 0)),
        topics_(static_cast<std::size_t>(counts.sparse() ? 2 * padded_ : 0)) {
    if (tree != nullptr && counts.sparse()) lists_ = std::make_unique<TreeRoom>(padded_, *tree);
  }

  CollapseScratch scratch() {
    float* rows = floats_.data() + kUniforms;
    return {floats_.data(),
            inverse_.data(),
            rows,
            rows + padded_,
            rows + 2 * padded_,
            rows + 3 * padded_,
            rows + 4 * padded_,
            sums_.data(),
            sums_.data() + padded_,
            counts_.data(),
            topics_.data(),
            topics_.data() + padded_,
            tree_.data(),
            lists_ ? lists_->scratch() : TreeListScratch{}};
  }

 private:
  // Of a tree whose documents have lists.
  struct TreeRoom {
    TreeRoom(std::int64_t padded_places, const TreeWeights& tree)
        : padded(tree.padded),
          nodes(static_cast<std::size_t>(tree.H)),
          factors(static_cast<std::size_t>(2 * padded)),
          sums(static_cast<std::size_t>(2 * padded + padded_places)),
          slots(static_cast<std::size_t>(padded)),
          marked(static_cast<std::size_t>(tree_words(tree.H))) {}
    TreeListScratch scratch() {
      double* rows = sums.data();
      return {nodes.data(),  rows + 2 * padded, rows,         factors.data(),
              rows + padded, slots.data(),      marked.data()};
    }
    std::int64_t padded;
    AlignedVector<TreeNode> nodes;
    AlignedVector<float> factors;
    AlignedVector<double> sums;
    AlignedVector<std::uint16_t> slots;
    AlignedVector<std::uint64_t> marked;
  };

  std::int64_t padded_;
  AlignedVector<float> tree_, inverse_, floats_;
  AlignedVector<double> sums_;
  AlignedVector<std::int32_t> counts_;
  AlignedVector<std::uint16_t> topics_;
  std::unique_ptr<TreeRoom> lists_;
};

// Whether a0 = a and F is the same for all: kernels/collapse.hpp.
bool is_plain(const ScoreWeights& scores, std::int64_t K) {
  return scores.stride == 0 && scores.a0 == scores.a &&
         std::all_of(scores.F, scores.F + K, [&](float f) { return f == scores.F[0]; });
}

// Sum over tokens of log sum_k s_ik / F, which plain weights know in advance.
double log_plain_scores(const ScoreWeights& scores, const CollapsedCounts& counts) {
  double a = 0, sum = 0;
  for (std::int64_t k = 0; k < counts.K(); ++k) a += scores.a[k];
  for (std::int64_t length : counts.lengths())
    if (length > 0)
      sum += static_cast<double>(length) * std::log(a + static_cast<double>(length) - 1);
  return sum;
}

// The places of tokens' components; nothing without a layout.
std::vector<std::uint16_t> renumbered(const std::uint16_t* z, std::int64_t n_tokens,
                                      const TreeLayout* layout) {
  std::vector<std::uint16_t> out;
  if (layout == nullptr) return out;
  out.resize(static_cast<std::size_t>(n_tokens));
  for (std::size_t t = 0; t < out.size(); ++t)
    out[t] = static_cast<std::uint16_t>(layout->place()[z[t]]);
  return out;
}

}  // namespace

CollapsedCounts::CollapsedCounts(const TokenCells& cells, const std::int32_t* block,
                                 std::int64_t n_blocks, const ScorePrior& prior, bool sparse,
                                 const std::int64_t* feature_totals)
    : cells_(cells),
      block_(block, block + cells.n_features()),
      which_(prior.which),
      // A root alone has no internal node to list.
      sparse_(sparse && (prior.tree == nullptr || prior.tree->H > 0)),
      lengths_(tokens_of_documents(cells)),
      layout_(prior.tree == nullptr ? nullptr
                                    : std::make_unique<TreeLayout>(*prior.tree, lengths_, sparse_)),
      n_blocks_(n_blocks),
      n_components_(prior.n_components),
      K_(layout_ ? layout_->n_places() : n_components_),
      padded_(padded_width<float>(K_)),
      c_(lengths_, K_, padded_, sparse_ ? CountForm::lists : CountForm::narrow),
      n_(feature_totals == nullptr
             ? cells.tokens_of_features()
             : std::vector<std::int64_t>(feature_totals, feature_totals + cells.n_features()),
         K_, padded_, sparse_ ? CountForm::lists : CountForm::wide),
      total_(static_cast<std::size_t>(n_blocks * padded_)) {}

bool CollapsedCounts::fit(const ScorePrior& prior) const {
  if (prior.which != which_ || prior.n_components != n_components_) return false;
  if (!layout_) return prior.tree == nullptr;
  const std::vector<std::int32_t>& parent = layout_->parent();
  return prior.tree != nullptr && std::equal(parent.begin(), parent.end(), prior.tree->parent);
}

void CollapsedCounts::count(const std::uint16_t* components) {
  const std::vector<std::uint16_t> places =
      renumbered(components, cells_.n_tokens(), layout_.get());
  const std::uint16_t* z = layout_ ? places.data() : components;
  std::vector<std::int32_t> feature(static_cast<std::size_t>(cells_.n_tokens()));
  std::fill(total_.begin(), total_.end(), 0);
  for (const TokenCells::Run& run : cells_.runs())
    for (std::int64_t t = run.begin; t < run.end; ++t) {
      feature[t] = run.feature;
      ++total_[block_[run.feature] * padded_ + z[t]];
    }
  c_.count(cells_.document(), z, cells_.n_tokens());
  n_.count(feature.data(), z, cells_.n_tokens());
  if (layout_) layout_->count(c_.view());
}

void CollapsedCounts::load(const std::int32_t* n) {
  const std::int32_t* place = layout_ ? layout_->place().data() : nullptr;
  const std::int64_t J = cells_.n_features(), K = n_components_;
  n_.load({n, J, K, K}, place);
  std::fill(total_.begin(), total_.end(), 0);
  for (std::int64_t j = 0; j < J; ++j) {
    std::int32_t* total = total_.data() + block_[j] * padded_;
    for (std::int64_t k = 0; k < K; ++k) total[place == nullptr ? k : place[k]] += n[j * K + k];
  }
}

namespace {

// All cells, with weights of one kind or the other.
double sweep_cells(const CollapseInput& input, const ScoreWeights& scores, const TreeWeights* tree,
                   CollapsedCounts& counts, std::uint16_t* z, int n_threads) {
  const TokenCells& cells = counts.cells();
  const int P = cells.n_parts();
  const std::int64_t size = counts.n_blocks() * counts.padded();
  const std::vector<double> gamma_total = gamma_totals(counts, input.gamma);
  const OwnGamma own_gamma(counts, input.gamma);
  const bool narrow = counts.c().form() == CountForm::narrow;
  const bool plain = tree == nullptr && is_plain(scores, counts.K());
  const auto kernel =
      instruction_set().priors[input.prior.which].collapse[counts.sparse() ? 1 : 0][plain ? 1 : 0];
  // Each cell of a round has its own copy of the totals: stale by what the others do meanwhile.
  AlignedVector<std::int32_t> own(static_cast<std::size_t>(P * size));
  std::vector<Workspace> workspaces;
  for (int p = 0; p < P; ++p) workspaces.emplace_back(counts, tree);
  std::vector<double> log_words(static_cast<std::size_t>(P * P), 0.0);

  const auto make_cell = [&](int round, int p) -> CollapseCell {
    const int cell = p * P + (p + round) % P;
    std::int32_t* total = P == 1 ? counts.total() : own.data() + p * size;
    if (P > 1) std::copy_n(counts.total(), size, total);
    const CollapsePass pass{counts.K(),
                            counts.padded(),
                            cells.document(),
                            z,
                            narrow ? static_cast<void*>(counts.c().narrow()) : counts.c().wide(),
                            narrow,
                            counts.n().wide(),
                            total,
                            input.gamma.data,
                            gamma_total.data(),
                            counts.block().data(),
                            scores,
                            counts.c().lists(),
                            counts.n().lists(),
                            tree,
                            own_gamma.gamma.empty() ? nullptr : own_gamma.gamma.data(),
                            own_gamma.total.data()};
    return {pass, cells.runs().data() + cells.first_run(cell),
            cells.runs().data() + cells.first_run(cell + 1),
            Stream(input.seed, Purpose::tokens, input.sweep, cells.unit(cell)),
            workspaces[static_cast<std::size_t>(p)].scratch()};
  };
  // Cells do not know of each other: how many one worker walks side by side changes nothing.
  const int group = std::clamp(P / n_threads, 1, kTogether);
  for (int round = 0; round < P; ++round) {
    parallel_for(n_threads, (P + group - 1) / group, [&](std::int64_t task, int) {
      const int first = static_cast<int>(task) * group, last = std::min(first + group, P);
      std::vector<CollapseCell> together;
      for (int p = first; p < last; ++p) together.push_back(make_cell(round, p));
      kernel(together.data(), last - first);
      for (int p = first; p < last; ++p)
        log_words[static_cast<std::size_t>(round * P + p)] =
            together[static_cast<std::size_t>(p - first)].log_words;
    });
    if (P == 1) continue;
    for (std::int64_t k = 0; k < size; ++k) {
      const std::int32_t before = counts.total()[k];
      for (int p = 0; p < P; ++p) counts.total()[k] += own[p * size + k] - before;
    }
  }
  double total = 0;
  for (double value : log_words) total += value;
  return plain ? total - log_plain_scores(scores, counts) : total;
}

}  // namespace

double collapse_sweep(const CollapseInput& input, CollapsedCounts& counts, std::uint16_t* z,
                      int n_threads) {
  counts.c().sort(n_threads);
  counts.n().sort(n_threads);
  if (counts.layout() == nullptr) {
    const PreparedWeights weights(input.prior, counts.cells().n_docs(), counts.padded());
    return sweep_cells(input, weights.view(), nullptr, counts, z, n_threads);
  }
  const TreeWeights weights = tree_weights(input.prior, *counts.layout());
  std::vector<std::uint16_t> places = renumbered(z, counts.cells().n_tokens(), counts.layout());
  const double words = sweep_cells(input, {}, &weights, counts, places.data(), n_threads);
  for (std::size_t t = 0; t < places.size(); ++t)
    z[t] = static_cast<std::uint16_t>(counts.component()[places[t]]);
  return words;
}

void tell_missing_token(std::int64_t feature, std::int64_t component) {
  throw std::invalid_argument("load: n must count every token of the assignment; feature " +
                              std::to_string(feature) + " has more in component " +
                              std::to_string(component) + " than n");
}

void start_assignment(std::uint64_t seed, const CsrView& W, const TokenCells& cells, std::int64_t K,
                      std::uint16_t* z) {
  start_tokens(seed, W, cells, z,
               [K](Stream& rng) { return static_cast<std::uint16_t>(below(rng, K)); });
}

void start_assignment_from(std::uint64_t seed, const CsrView& W, const TokenCells& cells,
                           const Rows<const float>& scores, const Rows<const float>& Theta,
                           std::uint16_t* z, int n_threads) {
  constexpr float kMatters = 1e-3F;  // of the document's largest score
  std::vector<std::int64_t> first(static_cast<std::size_t>(W.n_docs + 1), 0);
  for (std::int64_t i = 0; i < W.n_docs; ++i) {
    first[i + 1] = first[i];
    for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) first[i + 1] += W.data[p];
  }
  std::vector<std::uint16_t> by_entry(static_cast<std::size_t>(cells.n_tokens()));
  parallel_for(
      n_threads, (W.n_docs + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
        std::vector<std::uint16_t> active;
        std::vector<double> up_to;
        for (std::int64_t i = task * kRowsPerTask;
             i < std::min((task + 1) * kRowsPerTask, W.n_docs); ++i) {
          const float* own = scores.row(i);
          stop_point(W.size(i) * scores.width);
          const float top = *std::max_element(own, own + scores.width);
          active.clear();
          for (std::int64_t k = 0; k < scores.width; ++k)
            if (own[k] >= kMatters * top) active.push_back(static_cast<std::uint16_t>(k));
          up_to.resize(active.size());
          Stream rng(seed, Purpose::start, 1, static_cast<std::uint64_t>(W.first + i));
          std::uint16_t* out = by_entry.data() + first[i];
          for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) {
            const float* theta = Theta.row(W.indices[p]);
            double total = 0;
            for (std::size_t q = 0; q < active.size(); ++q)
              up_to[q] = total +=
                  static_cast<double>(own[active[q]]) * static_cast<double>(theta[active[q]]);
            for (std::int32_t copy = 0; copy < W.data[p]; ++copy) {
              const auto at =
                  std::upper_bound(up_to.begin(), up_to.end() - 1, rng.uniform() * total);
              *out++ = active[static_cast<std::size_t>(at - up_to.begin())];
            }
          }
        }
      });
  cells.from_entry_order(W, by_entry.data(), z);
}

void add_mean_loadings(CollapsedCounts& counts, const GammaView& gamma, const Rows<float>& out,
                       int n_threads) {
  const std::int32_t* column = counts.component();
  const auto at = [column](std::int64_t k) { return column == nullptr ? k : column[k]; };
  const std::int64_t K = counts.K(), padded = counts.padded(), J = counts.cells().n_features();
  std::vector<double> inverse(static_cast<std::size_t>(counts.n_blocks() * padded), 0.0);
  for (std::int64_t j = 0; j < J; ++j)
    for (std::int64_t k = 0; k < K; ++k)
      if (at(k) >= 0) inverse[counts.block()[j] * padded + k] += gamma(j, at(k));
  for (std::int64_t g = 0; g < counts.n_blocks(); ++g)
    for (std::int64_t k = 0; k < K; ++k) {
      double& of = inverse[g * padded + k];
      of = 1 / (of + counts.total()[g * padded + k]);
    }
  const CountView n = counts.n().view();
  parallel_for(n_threads, (J + kRowsPerTask - 1) / kRowsPerTask, [&](std::int64_t task, int) {
    for (std::int64_t j = task * kRowsPerTask; j < std::min((task + 1) * kRowsPerTask, J); ++j) {
      const double* scale = inverse.data() + counts.block()[j] * padded;
      float* row = out.row(j);
      for (std::int64_t k = 0; k < K; ++k)
        if (at(k) >= 0) row[at(k)] += static_cast<float>(gamma(j, at(k)) * scale[k]);
      n.visit(j, [&](std::int64_t k, std::int32_t count) {
        row[at(k)] += static_cast<float>(count * scale[k]);
      });
    }
  });
}

}  // namespace dcomp
