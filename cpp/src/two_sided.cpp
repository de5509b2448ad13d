#include "dcomp/two_sided.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/rising_factorial.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kMostPowers = 4096;  // of a table: counts beyond are few

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

void set_curve(PowerCurve& curve, double power) {
  for (std::uint32_t q = 0; q <= kCurvePoints; ++q)
    curve.mantissa[q] = static_cast<float>(std::pow(1 + q / double{kCurvePoints}, power));
  for (int q = 0; q < 256; ++q)
    curve.exponent[q] = static_cast<float>(std::pow(2, power * (q - 127)));
}

// (a + count)^power, one table for each a that differs; made anew for each temperature.
class Powers {
 public:
  // most: the largest count.
  Powers(std::vector<double> a, std::int64_t most)
      : a_(std::move(a)),
        size_(std::min(most + 1, kMostPowers)),
        is_cut_(size_ <= most),
        tables_(a_.size()) {
    for (const double value : a_) by_value_.try_emplace(value, at(size_));
  }
  void set(double power) {
    power_ = static_cast<float>(power);
    if (is_cut_) set_curve(curve_, power);
    for (auto& [value, table] : by_value_)
      for (std::int64_t count = 0; count < size_; ++count)
        table[at(count)] = static_cast<float>(std::pow(value + static_cast<double>(count), power));
    for (std::size_t q = 0; q < a_.size(); ++q)
      tables_[q] = {by_value_.at(a_[q]).data(), size_, static_cast<float>(a_[q]), &curve_};
  }
  const PowerTable* tables() const { return tables_.data(); }
  std::size_t size() const { return a_.size(); }
  float operator()(std::int64_t q, std::int32_t count) const {
    const PowerTable& of = tables_[at(q)];
    return count < of.size ? of.table[count] : std::pow(of.a + static_cast<float>(count), power_);
  }

 private:
  std::vector<double> a_;
  std::int64_t size_;
  bool is_cut_;
  float power_ = 0;
  PowerCurve curve_;
  std::map<double, std::vector<float>> by_value_;
  std::vector<PowerTable> tables_;
};

std::vector<double> shapes_or_none(const ScorePrior& prior) {
  return prior.tree == nullptr ? shapes(prior) : std::vector<double>{};
}

// Tokens of the longest document, of the most frequent feature, and of the largest block.
struct Sizes {
  std::vector<std::int64_t> first_token;
  std::int64_t longest = 0, commonest = 0, largest = 0;
  Sizes(const CsrView& W, const std::int32_t* block, std::int64_t n_blocks)
      : first_token(at(W.n_docs + 1)) {
    std::vector<std::int64_t> of_feature(at(W.n_features)), of_block(at(n_blocks));
    for (std::int64_t i = 0; i < W.n_docs; ++i) {
      std::int64_t length = 0;
      for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) {
        length += W.data[p];
        of_feature[at(W.indices[p])] += W.data[p];
      }
      first_token[at(i + 1)] = first_token[at(i)] + length;
      longest = std::max(longest, length);
    }
    for (std::size_t j = 0; j < of_feature.size(); ++j) {
      commonest = std::max(commonest, of_feature[j]);
      largest = std::max(largest, of_block[at(block[j])] += of_feature[j]);
    }
  }
};

// The sum of the priors of each block's features.
std::vector<double> of_blocks(const TwoSidedInput& input) {
  std::vector<double> total(at(input.n_blocks));
  for (std::int64_t j = 0; j < input.W.n_features; ++j) total[at(input.block[j])] += input.gamma[j];
  return total;
}

// The counts of one run, and its sweeps.
class Run {
 public:
  Run(const TwoSidedInput& input, std::uint16_t* z)
      : input_(input),
        K_(input.prior.n_components),
        padded_(padded_width<float>(K_)),
        sizes_(input.W, input.block, input.n_blocks),
        block_gamma_(of_blocks(input)),
        of_scores_(shapes_or_none(input.prior), sizes_.longest),
        of_words_({input.gamma, input.gamma + input.W.n_features}, sizes_.commonest),
        of_totals_(block_gamma_, sizes_.largest),
        log_scores_(at(input.W.n_docs * padded_), -1e30F),
        reference_(at(input.W.n_features * padded_)),
        words_(reference_.size()),
        totals_(at(input.n_blocks * padded_)),
        rows_(at(4 * padded_ + kUniforms)),
        nodes_(at(2 * K_)),
        c_(log_scores_.size()),
        n_(reference_.size()),
        total_(totals_.size()),
        z_(z) {
    if (input.prior.tree == nullptr) weights_.emplace_back(input.prior, input.W.n_docs, padded_);
    for (std::int64_t i = 0; i < input.W.n_docs; ++i)
      std::copy_n(input.log_scores + i * K_, K_, log_scores_.data() + i * padded_);
    count();
  }

  void sweep(double t, Stream& rng) {
    set_powers(t);
    TwoSidedPass pass{.W = input_.W,
                      .K = K_,
                      .padded = padded_,
                      .first_token = sizes_.first_token.data(),
                      .log_scores = log_scores_.data(),
                      .of_scores = padded_tables_.data(),
                      .tree = input_.prior.tree,
                      .of_words = of_words_.tables(),
                      .of_totals = of_totals_.tables(),
                      .block = input_.block,
                      .reference = rows(reference_, input_.W.n_features),
                      .words = rows(words_, input_.W.n_features),
                      .totals = rows(totals_, input_.n_blocks),
                      .z = z_,
                      .c = rows(c_, input_.W.n_docs),
                      .n = rows(n_, input_.W.n_features),
                      .total = rows(total_, input_.n_blocks),
                      .t = t,
                      .backward = input_.backward};
    if (!weights_.empty()) {
      pass.log_F = weights_[0].F.data();
      pass.log_p0 = weights_[0].present.data();
      pass.stride = weights_[0].stride;
    }
    float* row = rows_.data();
    instruction_set().two_sided_sweep(pass, rng,
                                      {row, row + padded_, row + 2 * padded_, row + 3 * padded_,
                                       row + 4 * padded_, nodes_.data(), nodes_.data() + K_});
  }

  // log g(z), and log p(w | z), each less the reference's part.
  double log_scores() const {
    const CountView c = view(c_, input_.W.n_docs);
    return log_score_moments(c, input_.prior, nullptr, 1) - under(c, input_.log_scores);
  }
  double log_words() {
    const CountView n = view(n_, input_.W.n_features);
    double value = 0;
    for (std::int64_t j = 0; j < input_.W.n_features; ++j) {
      const RisingFactorial& rise = rising(input_.gamma[j]);
      n.visit(j, [&](std::int64_t, std::int32_t count) { value += rise(count); });
    }
    for (std::int64_t g = 0; g < input_.n_blocks; ++g) {
      const double prior = block_gamma_[at(g)];
      for (std::int64_t k = 0; k < K_; ++k)
        value += log_gamma_of(prior) - log_gamma_of(prior + total_[at(g * padded_ + k)]);
    }
    return value - under(n, input_.log_Theta);
  }

 private:
  void count() {
    const std::uint16_t* z = z_;
    for (std::int64_t i = 0; i < input_.W.n_docs; ++i)
      for (std::int64_t p = input_.W.indptr[i]; p < input_.W.indptr[i + 1]; ++p)
        for (std::int32_t copy = 0; copy < input_.W.data[p]; ++copy, ++z) {
          const std::int32_t j = input_.W.indices[p];
          ++c_[at(i * padded_ + *z)];
          ++n_[at(j * padded_ + *z)];
          ++total_[at(input_.block[j] * padded_ + *z)];
        }
  }

  void set_powers(double t) {
    of_scores_.set(t);
    of_words_.set(t);
    of_totals_.set(-t);
    padded_tables_.assign(at(padded_), PowerTable{});
    std::copy_n(of_scores_.tables(), of_scores_.size(), padded_tables_.begin());
    for (std::int64_t j = 0; j < input_.W.n_features; ++j)
      for (std::int64_t k = 0; k < K_; ++k) {
        const std::int64_t place = j * padded_ + k;
        const auto theta = static_cast<float>(std::exp((1 - t) * input_.log_Theta[j * K_ + k]));
        reference_[at(place)] = theta;
        words_[at(place)] = theta * of_words_(j, n_[at(place)]);
      }
    for (std::int64_t g = 0; g < input_.n_blocks; ++g)
      for (std::int64_t k = 0; k < padded_; ++k)
        totals_[at(g * padded_ + k)] = of_totals_(g, total_[at(g * padded_ + k)]);
  }

  const RisingFactorial& rising(double gamma) {
    return rising_.try_emplace(gamma, gamma).first->second;
  }

  // sum_k counts_k logs_k over all rows.
  double under(const CountView& counts, const double* logs) const {
    double value = 0;
    for (std::int64_t row = 0; row < counts.n_rows; ++row, logs += K_)
      counts.visit(row, [&](std::int64_t k, std::int32_t count) { value += count * logs[k]; });
    return value;
  }
  template <class T>
  Rows<T> rows(AlignedVector<T>& numbers, std::int64_t n_rows) const {
    return {numbers.data(), n_rows, K_, padded_};
  }
  CountView view(const AlignedVector<std::int32_t>& counts, std::int64_t n_rows) const {
    return {n_rows, K_, counts.data(), padded_, nullptr, {}};
  }

  const TwoSidedInput& input_;
  std::int64_t K_, padded_;
  Sizes sizes_;
  std::vector<double> block_gamma_;
  Powers of_scores_, of_words_, of_totals_;
  std::vector<PowerTable> padded_tables_;
  std::vector<LogWeights> weights_;  // one, or none for a tree
  AlignedVector<float> log_scores_, reference_, words_, totals_, rows_;
  std::vector<double> nodes_;
  AlignedVector<std::int32_t> c_, n_, total_;
  std::map<double, RisingFactorial> rising_;
  std::uint16_t* z_;
};

}  // namespace

void two_sided_sweeps(const TwoSidedInput& input, const double* temperatures, std::int64_t n,
                      std::uint32_t first, std::uint16_t* z, double* log_scores,
                      double* log_words) {
  Run run(input, z);
  for (std::int64_t s = 0; s < n; ++s) {
    Stream rng(input.seed, Purpose::two_sided, first + static_cast<std::uint32_t>(s), input.run);
    run.sweep(temperatures[s], rng);
    log_scores[s] = run.log_scores();
    log_words[s] = run.log_words();
  }
}

}  // namespace dcomp
