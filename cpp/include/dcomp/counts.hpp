// Counts as the kernels see them: documents in CSR, and an index by feature for the statistics.
//
// Counts are whole numbers, or fractional ones, which only what takes expectations can use. Such a
// kernel is a template over the type of a number and asks once per task which of the two there is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dcomp/matrix.hpp"

namespace dcomp {

struct CsrView {
  const std::int64_t* indptr = nullptr;  // (I + 1)
  const std::int32_t* indices = nullptr;
  const std::int32_t* data = nullptr;  // null where counts are fractional
  std::int64_t n_docs = 0;
  std::int64_t n_features = 0;
  // The number of the first document in the whole corpus, of which these may be a part: what is
  // random for a document is named by `first + i`, so that a cut changes nothing.
  std::int64_t first = 0;
  const double* weight = nullptr;  // in the place of `data` where counts are fractional

  [[gnu::always_inline]] std::int64_t size(std::int64_t i) const {
    return indptr[i + 1] - indptr[i];
  }
};

// Documents that a whole corpus may have: the number of one leaves room in the name of a stream for
// the cells of a partition (tokens.hpp).
inline constexpr std::int64_t kMostDocuments = std::int64_t{1} << 46;

// A run of documents whose entries are also listed by feature.
//
// n_jk = theta_jk sum_i (w_ij / Z_ij) e_ik is then a gather by one worker in one order: no atomics,
// no copy of n per thread, the same bits for any number of threads. The size of a slab is fixed,
// so that its temporaries (e of its documents, one weight per entry) stay small and in cache.
inline constexpr std::int64_t kSlabDocs = std::int64_t{1} << 13;  // must fit 16 bits

struct Slab {
  std::int64_t first_doc = 0, last_doc = 0;
  std::int64_t first_entry = 0;  // of the slab, in CSR order and in feature order alike
  std::int64_t first_slot = 0, last_slot = 0;
};

class CorpusIndex {
 public:
  explicit CorpusIndex(const CsrView& W);
  ~CorpusIndex();

  const std::vector<Slab>& slabs() const { return slabs_; }
  std::int64_t max_slab_docs() const { return max_slab_docs_; }
  std::int64_t max_slab_entries() const { return max_slab_entries_; }

  // For a slot s of a slab: its feature, and its entries [start(s), start(s + 1)) in feature order.
  std::int32_t feature(std::int64_t slot) const { return feature_[slot]; }
  std::int64_t start(std::int64_t slot) const { return start_[slot]; }
  // Feature order -> document, counted from the slab's first.
  const std::uint16_t* document() const { return document_.data(); }
  // Total count of a feature.
  double total(std::int64_t j) const { return total_[j]; }
  // CSR order -> place in feature order, counted from the slab's first entry.
  const std::int32_t* place() const { return place_.data(); }
  // All counts as a table of bytes, (documents, features) with zeros behind the features to a whole
  // cache line; empty where a byte does not hold a count, or most cells would be zero. W must be
  // what the index was made of. Built when first asked for: only passes of few components do.
  Rows<const std::uint8_t> table(const CsrView& W) const;

 private:
  void add_slab(const CsrView& W, std::int64_t first_doc, std::int64_t last_doc,
                std::vector<std::int32_t>& cursor);

  std::vector<Slab> slabs_;
  std::vector<std::int32_t> feature_;
  std::vector<std::int64_t> start_;
  std::vector<std::uint16_t> document_;
  std::vector<std::int32_t> place_;
  std::vector<double> total_;
  std::int64_t max_slab_docs_ = 0, max_slab_entries_ = 0;
  struct Table;
  std::unique_ptr<Table> table_;
};

// Empty when W is sound, else what is wrong and where.
std::string check(const CsrView& W);

}  // namespace dcomp
