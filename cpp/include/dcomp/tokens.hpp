// Tokens in the order in which the collapsed sampler visits them.
//
// Documents and features are each cut into P parts; cell (p, q) holds the tokens of document part p
// and feature part q, sorted by feature. In round s the cells (p, p + s mod P) touch disjoint
// documents and disjoint features, so they can run at the same time. P belongs to the sampler and
// not to the machine: the answer is the same for any number of threads. P = 1 is the plain order.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "dcomp/counts.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/stop_point.hpp"

namespace dcomp {

// Parts into which a sampler may cut documents and features.
inline constexpr int kMostParts = 32;
// Bits that name a cell; those above name the first document.
inline constexpr int kCellBits = 10;
static_assert(kMostParts * kMostParts <= 1 << kCellBits, "every cell must have a name of its own");
static_assert((kMostDocuments - 1) >> (kUnitBits - kCellBits) == 0, "a unit must hold both");

class TokenCells {
 public:
  // Consecutive tokens of one feature within a cell, no more than kLongestRun: there is a stop
  // point before each run, and a word may be a document's ten million tokens.
  static constexpr std::int64_t kLongestRun = 4096;
  struct Run {
    std::int32_t feature;
    std::int64_t begin, end;
  };

  TokenCells(const CsrView& W, int n_parts);

  int n_parts() const { return n_parts_; }
  std::int64_t n_tokens() const { return static_cast<std::int64_t>(document_.size()); }
  std::int64_t n_docs() const { return n_docs_; }
  std::int64_t n_features() const { return n_features_; }
  const std::vector<Run>& runs() const { return runs_; }
  std::int64_t first_run(int cell) const { return cell_runs_[static_cast<std::size_t>(cell)]; }
  const std::int32_t* document() const { return document_.data(); }
  // The name of a cell's random numbers. Cells are numbered anew in every part of a corpus, so that
  // the part's first document, which no other with tokens has, must tell parts apart; the first
  // part has the names that cells of an uncut corpus have. For no more than kMostParts.
  std::uint64_t unit(int cell) const {
    assert(n_parts_ <= kMostParts);
    return static_cast<std::uint64_t>(first_) << kCellBits | static_cast<std::uint64_t>(cell);
  }

  // The name of a document's own.
  std::uint64_t document_unit(std::int64_t i) const {
    return static_cast<std::uint64_t>(first_ + i);
  }

  std::vector<std::int64_t> tokens_of_features() const;  // (J)

  // entry[t] = the entry of W, in CSR order, that token t belongs to.
  void entries(const CsrView& W, std::int64_t* entry) const;

  // z by entry of W: tokens by document and, within one, by entry, each repeated by its count.
  void in_entry_order(const CsrView& W, const std::uint16_t* z, std::uint16_t* out) const;
  // The way back.
  void from_entry_order(const CsrView& W, const std::uint16_t* by_entry, std::uint16_t* z) const;

 private:
  std::vector<std::int32_t> feature_parts(const CsrView& W) const;
  template <class Visit>
  void visit(const CsrView& W, const Visit& token) const;

  int n_parts_;
  std::int64_t n_docs_, n_features_, first_;
  std::vector<std::int64_t> part_start_;  // (P + 1): documents
  std::vector<std::int32_t> part_of_;     // (J)
  std::vector<Run> runs_;
  std::vector<std::int64_t> cell_runs_;  // (P * P + 1)
  std::vector<std::int32_t> document_;   // (T)
};

// The same tokens by document and, within one, by feature and then in their order: what a document
// has here is the same in any company, while the cells that its tokens are in are not.
class DocumentTokens {
 public:
  explicit DocumentTokens(const TokenCells& cells);

  std::int64_t begin(std::int64_t i) const { return start_[static_cast<std::size_t>(i)]; }
  std::int64_t end(std::int64_t i) const { return start_[static_cast<std::size_t>(i) + 1]; }
  std::int64_t longest() const;                                    // tokens of a document, at most
  const std::int64_t* token() const { return token_.data(); }      // (T): places among the cells
  const std::int32_t* feature() const { return feature_.data(); }  // (T)

 private:
  std::vector<std::int64_t> start_;  // (I + 1)
  std::vector<std::int64_t> token_;
  std::vector<std::int32_t> feature_;
};

// A whole number below n, evenly but for 2^-32.
inline std::int64_t below(Stream& rng, std::int64_t n) {
  return static_cast<std::int64_t>(std::uint64_t{rng.next32()} * static_cast<std::uint64_t>(n) >>
                                   32);
}

// The first assignment: choose(rng) for every token, with a stream for each document, so that its
// tokens begin alike whatever documents come with it.
template <class Choose>
void start_tokens(std::uint64_t seed, const CsrView& W, const TokenCells& cells, std::uint16_t* z,
                  const Choose& choose) {
  std::vector<std::uint16_t> by_entry(static_cast<std::size_t>(cells.n_tokens()));
  auto next = by_entry.begin();
  for (std::int64_t i = 0; i < W.n_docs; ++i) {
    stop_point(64 * W.size(i));
    Stream rng(seed, Purpose::start, 0, static_cast<std::uint64_t>(W.first + i));
    for (std::int64_t e = W.indptr[i]; e < W.indptr[i + 1]; ++e)
      for (std::int32_t w = 0; w < W.data[e]; ++w) *next++ = choose(rng);
  }
  cells.from_entry_order(W, by_entry.data(), z);
}

}  // namespace dcomp
