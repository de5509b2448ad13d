#include "dcomp/tokens.hpp"

#include <algorithm>
#include <numeric>

namespace dcomp {

// Features by falling frequency, each to the part with the fewest tokens so far.
std::vector<std::int32_t> TokenCells::feature_parts(const CsrView& W) const {
  std::vector<std::int64_t> total(static_cast<std::size_t>(W.n_features), 0);
  for (std::int64_t p = 0; p < W.indptr[W.n_docs]; ++p) total[W.indices[p]] += W.data[p];
  std::vector<std::int32_t> order(total.size()), part(total.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return total[a] > total[b]; });
  std::vector<std::int64_t> load(static_cast<std::size_t>(n_parts_), 0);
  for (std::int32_t j : order) {
    const auto lightest = std::min_element(load.begin(), load.end());
    part[j] = static_cast<std::int32_t>(lightest - load.begin());
    *lightest += total[j];
  }
  return part;
}

TokenCells::TokenCells(const CsrView& W, int n_parts)
    : n_parts_(n_parts),
      n_docs_(W.n_docs),
      n_features_(W.n_features),
      first_(W.first),
      part_of_(feature_parts(W)) {
  std::int64_t n_tokens = 0;
  for (std::int64_t p = 0; p < W.indptr[W.n_docs]; ++p) n_tokens += W.data[p];
  // Consecutive documents with about equal numbers of tokens.
  part_start_.push_back(0);
  std::int64_t seen = 0;
  for (std::int64_t i = 0; i < W.n_docs; ++i) {
    for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) seen += W.data[p];
    const auto done = static_cast<std::int64_t>(part_start_.size());
    if (done < n_parts_ && seen * n_parts_ >= n_tokens * done) part_start_.push_back(i + 1);
  }
  while (static_cast<int>(part_start_.size()) <= n_parts_) part_start_.push_back(W.n_docs);

  document_.resize(static_cast<std::size_t>(n_tokens));
  cell_runs_.push_back(0);
  std::vector<std::int64_t> count(static_cast<std::size_t>(W.n_features));
  std::int64_t begin = 0;
  for (int p = 0; p < n_parts_; ++p) {
    std::fill(count.begin(), count.end(), 0);
    for (std::int64_t e = W.indptr[part_start_[p]]; e < W.indptr[part_start_[p + 1]]; ++e)
      count[W.indices[e]] += W.data[e];
    for (std::int32_t q = 0; q < n_parts_; ++q) {
      for (std::int32_t j = 0; j < W.n_features; ++j) {
        if (part_of_[j] != q || count[j] == 0) continue;
        for (const std::int64_t end = begin + count[j]; begin < end;) {
          const std::int64_t next = std::min(begin + kLongestRun, end);
          runs_.push_back({j, begin, next});
          begin = next;
        }
      }
      cell_runs_.push_back(static_cast<std::int64_t>(runs_.size()));
    }
  }
  visit(W, [&](std::int64_t token, std::int64_t doc, std::int64_t) {
    document_[token] = static_cast<std::int32_t>(doc);
  });
}

// Calls token(place, document, entry) for every token, by document.
template <class Visit>
void TokenCells::visit(const CsrView& W, const Visit& token) const {
  std::vector<std::int64_t> cursor(static_cast<std::size_t>(W.n_features));
  for (int p = 0; p < n_parts_; ++p) {
    // Backwards, so that the first of several runs of a feature stays.
    for (auto r = cell_runs_[(p + 1) * n_parts_]; r-- > cell_runs_[p * n_parts_];)
      cursor[runs_[r].feature] = runs_[r].begin;
    for (std::int64_t i = part_start_[p]; i < part_start_[p + 1]; ++i)
      for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e)
        for (std::int32_t copy = 0; copy < W.data[e]; ++copy) token(cursor[W.indices[e]]++, i, e);
  }
}

std::vector<std::int64_t> TokenCells::tokens_of_features() const {
  std::vector<std::int64_t> total(static_cast<std::size_t>(n_features_), 0);
  for (const Run& run : runs_) total[run.feature] += run.end - run.begin;
  return total;
}

void TokenCells::entries(const CsrView& W, std::int64_t* entry) const {
  visit(W, [&](std::int64_t token, std::int64_t, std::int64_t e) { entry[token] = e; });
}

void TokenCells::in_entry_order(const CsrView& W, const std::uint16_t* z,
                                std::uint16_t* out) const {
  // `visit` goes by entry already.
  visit(W, [&](std::int64_t token, std::int64_t, std::int64_t) { *out++ = z[token]; });
}

void TokenCells::from_entry_order(const CsrView& W, const std::uint16_t* by_entry,
                                  std::uint16_t* z) const {
  visit(W, [&](std::int64_t token, std::int64_t, std::int64_t) { z[token] = *by_entry++; });
}

DocumentTokens::DocumentTokens(const TokenCells& cells)
    : start_(static_cast<std::size_t>(cells.n_docs()) + 1, 0),
      token_(static_cast<std::size_t>(cells.n_tokens())),
      feature_(token_.size()) {
  for (std::int64_t t = 0; t < cells.n_tokens(); ++t) ++start_[cells.document()[t] + 1];
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  // Tokens of a document come by cell, and cells have features that the corpus has dealt out.
  std::vector<TokenCells::Run> by_feature = cells.runs();
  std::stable_sort(by_feature.begin(), by_feature.end(),
                   [](const auto& a, const auto& b) { return a.feature < b.feature; });
  std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
  for (const TokenCells::Run& run : by_feature)
    for (std::int64_t t = run.begin; t < run.end; ++t) {
      const std::int64_t at = next[cells.document()[t]]++;
      token_[at] = t;
      feature_[at] = run.feature;
    }
}

std::int64_t DocumentTokens::longest() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i + 1 < start_.size(); ++i)
    most = std::max(most, start_[i + 1] - start_[i]);
  return most;
}

}  // namespace dcomp
