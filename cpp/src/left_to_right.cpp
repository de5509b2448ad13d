#include "dcomp/left_to_right.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/kernels/tree_means.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

// What a LeftToRightScratch points to.
class Workspace {
 public:
  Workspace(std::int64_t R, std::int64_t K, std::int64_t padded, std::int64_t longest)
      : rows_(static_cast<std::size_t>((2 * R + 1) * padded)),
        c_(static_cast<std::size_t>(R * K)),
        z_(static_cast<std::size_t>(R * longest)),
        weights_(static_cast<std::size_t>(2 * R)),
        parent_(static_cast<std::size_t>(R)),
        word_(static_cast<std::size_t>(longest)),
        nodes_(static_cast<std::size_t>(2 * K)),
        R_(R),
        K_(K),
        padded_(padded) {}
  LeftToRightScratch scratch() {
    float* rows = rows_.data();
    return {rows,         rows + R_ * padded_, rows + 2 * R_ * padded_, c_.data(),
            z_.data(),    weights_.data(),     weights_.data() + R_,    parent_.data(),
            word_.data(), nodes_.data(),       nodes_.data() + K_};
  }

 private:
  AlignedVector<float> rows_;
  std::vector<std::int32_t> c_;
  std::vector<std::uint16_t> z_;
  std::vector<double> weights_;
  std::vector<std::int32_t> parent_, word_;
  std::vector<double> nodes_;
  std::int64_t R_, K_, padded_;
};

// The words of document i, those that one component explains best first. Any order has the same
// probability; in this one the tokens that decide the rest come first, and particles agree sooner
// (docs/decisions/0011-left-to-right.md). Returns their number.
std::int64_t words_in_order(const LeftToRightPass& pass, std::int64_t i, std::int32_t* word) {
  const float* first = pass.first + i * pass.scores.stride;
  std::vector<std::pair<float, std::int64_t>> entries;
  for (std::int64_t p = pass.W.indptr[i]; p < pass.W.indptr[i + 1]; ++p) {
    const float* theta = pass.Theta.row(pass.W.indices[p]);
    float total = 0, top = 0;
    for (std::int64_t k = 0; k < pass.K; ++k) {
      total += first[k] * theta[k];
      top = std::max(top, first[k] * theta[k]);
    }
    entries.emplace_back(total > 0 ? -top / total : 0.0F, p);
  }
  std::sort(entries.begin(), entries.end());
  std::int64_t length = 0;
  for (const auto& [share, p] : entries)
    for (std::int32_t copy = 0; copy < pass.W.data[p]; ++copy) word[length++] = pass.W.indices[p];
  return length;
}

// By halves, and eight sums at a time: NumPy's order, so that both have the same total.
double pairwise_sum(const double* x, std::size_t n) {
  if (n > 128) {
    const std::size_t half = n / 2 - n / 2 % 8;
    return pairwise_sum(x, half) + pairwise_sum(x + half, n - half);
  }
  std::size_t k = 0;
  double total = 0;
  if (n >= 8) {
    double part[8] = {};
    for (; k + 8 <= n; k += 8)
      for (std::size_t q = 0; q < 8; ++q) part[q] = k == 0 ? x[q] : part[q] + x[k + q];
    total =
        ((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7]));
  }
  for (; k < n; ++k) total += x[k];
  return total;
}

// Of each of n_docs documents, over the components that it may use.
std::vector<double> sums_of_shapes(const ScorePrior& prior, const std::vector<double>& a,
                                   std::int64_t n_docs) {
  std::vector<double> out(static_cast<std::size_t>(n_docs), pairwise_sum(a.data(), a.size()));
  for (std::int64_t i = 0; !prior.allowed.all() && i < n_docs; ++i) {
    double& sum = out[static_cast<std::size_t>(i)] = 0;
    for (std::int64_t k = 0; k < prior.n_components; ++k)
      if (prior.allowed(i, k)) sum += a[static_cast<std::size_t>(k)];
  }
  return out;
}

// What all documents share of a pass: the prior's weights, one way or the other.
class Shared {
 public:
  explicit Shared(const LeftToRightInput& input) {
    pass_.W = input.W;
    pass_.K = input.prior.n_components;
    pass_.Theta = input.Theta;
    pass_.log_scale = input.log_scale;
    pass_.n_particles = input.n_particles;
    pass_.n_moves = input.n_moves;
    pass_.seed = input.seed;
    pass_.run = input.run;
    if (input.prior.tree != nullptr)
      take_tree(*input.prior.tree);
    else
      take_linear(input.prior);
  }
  const LeftToRightPass& pass() const { return pass_; }

 private:
  void take_linear(const ScorePrior& prior) {
    const std::int64_t I = pass_.W.n_docs, padded = pass_.Theta.stride;
    weights_.emplace(prior, I, padded);
    linear_first_.emplace(prior, I, padded);
    pass_.normalised = score_priors()[static_cast<std::size_t>(prior.which)].normalised;
    sum_shapes_ = sums_of_shapes(prior, shapes(prior), pass_.normalised ? I : 0);
    pass_.scores = weights_->view();
    pass_.first = linear_first_->weight.data();
    pass_.log_first = linear_first_->log_largest.data();
    pass_.sum_shapes = sum_shapes_.data();
  }
  void take_tree(const TreeView& tree) {
    const std::vector<std::int32_t> c(static_cast<std::size_t>(tree.K));
    std::vector<double> S(c.size()), mean(c.size());
    tree_means(tree, c.data(), S.data(), mean.data());
    tree_first_.assign(static_cast<std::size_t>(pass_.Theta.stride), 0);
    std::copy(mean.begin(), mean.end(), tree_first_.begin());
    pass_.tree = &tree;
    pass_.first = tree_first_.data();
    pass_.log_first = &no_scale_;
  }

  LeftToRightPass pass_{};
  std::optional<PreparedWeights> weights_;
  std::optional<FirstWeights> linear_first_;
  std::vector<double> sum_shapes_;
  AlignedVector<float> tree_first_;
  double no_scale_ = 0;
};

}  // namespace

void left_to_right(const LeftToRightInput& input, double* out, int n_threads) {
  const Shared shared(input);
  const LeftToRightPass& pass = shared.pass();
  const CsrView& W = pass.W;
  std::int64_t longest = 0;
  for (std::int64_t i = 0; i < W.n_docs; ++i) {
    std::int64_t length = 0;
    for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) length += W.data[p];
    longest = std::max(longest, length);
  }
  std::vector<Workspace> workspaces;
  for (int worker = 0; worker < n_threads; ++worker)
    workspaces.emplace_back(pass.n_particles, pass.K, pass.Theta.stride, longest);
  const auto kernel = instruction_set().left_to_right;
  parallel_for(n_threads, W.n_docs, [&](std::int64_t i, int worker) {
    const LeftToRightScratch scratch = workspaces[static_cast<std::size_t>(worker)].scratch();
    out[i] = kernel(pass, i, words_in_order(pass, i, scratch.word), scratch);
  });
}

}  // namespace dcomp
