#include <algorithm>
#include <mutex>
#include <utility>

#include "dcomp/aligned.hpp"
#include "dcomp/counts.hpp"

namespace dcomp {

namespace {

// Entries per slab: large enough that adding to n costs little beside the pass, small enough that
// weights and places stay in cache. It must not depend on the number of threads.
constexpr std::int64_t kSlabEntries = std::int64_t{1} << 19;
// Fractional counts have the range of whole ones, so that sums of them stay finite in float32.
constexpr double kLargest = 2147483647;

// From one entry in so many cells on there is a table of bytes: its zeros then cost less than the
// weight and the place that each entry would have.
constexpr std::int64_t kTableFrom = 4;

AlignedVector<std::uint8_t> table_of(const CsrView& W, std::int64_t stride) {
  const std::int64_t nnz = W.indptr[W.n_docs];
  AlignedVector<std::uint8_t> table;
  if (W.weight != nullptr || kTableFrom * nnz < W.n_docs * W.n_features) return table;
  for (std::int64_t p = 0; p < nnz; ++p)
    if (W.data[p] > 255) return table;
  table.resize(static_cast<std::size_t>(W.n_docs * stride));
  for (std::int64_t i = 0; i < W.n_docs; ++i)
    for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p)
      table[static_cast<std::size_t>(i * stride + W.indices[p])] =
          static_cast<std::uint8_t>(W.data[p]);
  return table;
}

}  // namespace

// Several threads may ask at once.
struct CorpusIndex::Table {
  std::once_flag is_built;
  AlignedVector<std::uint8_t> cells;
};

CorpusIndex::~CorpusIndex() = default;

Rows<const std::uint8_t> CorpusIndex::table(const CsrView& W) const {
  constexpr auto line = static_cast<std::int64_t>(kCacheLine);
  const std::int64_t stride = (W.n_features + line - 1) / line * line;
  std::call_once(table_->is_built, [&] { table_->cells = table_of(W, stride); });
  if (table_->cells.empty()) return {};
  return {table_->cells.data(), W.n_docs, W.n_features, stride};
}

CorpusIndex::CorpusIndex(const CsrView& W) : table_(std::make_unique<Table>()) {
  const auto nnz = static_cast<std::size_t>(W.indptr[W.n_docs]);
  document_.resize(nnz);
  place_.resize(nnz);
  total_.resize(static_cast<std::size_t>(W.n_features), 0.0);
  for (std::size_t p = 0; p < nnz; ++p)
    total_[W.indices[p]] += W.weight == nullptr ? W.data[p] : W.weight[p];
  std::vector<std::int32_t> cursor(static_cast<std::size_t>(W.n_features), 0);
  for (std::int64_t first = 0; first < W.n_docs;) {
    std::int64_t last = first;
    while (last < W.n_docs && last - first < kSlabDocs &&
           (last == first || W.indptr[last + 1] - W.indptr[first] <= kSlabEntries))
      ++last;
    add_slab(W, first, last, cursor);
    first = last;
  }
  start_.push_back(static_cast<std::int64_t>(nnz));
}

// A counting sort by feature; `cursor` is all zero on entry and on return.
void CorpusIndex::add_slab(const CsrView& W, std::int64_t first_doc, std::int64_t last_doc,
                           std::vector<std::int32_t>& cursor) {
  const std::int64_t begin = W.indptr[first_doc], end = W.indptr[last_doc];
  const auto first_slot = static_cast<std::int64_t>(feature_.size());
  for (std::int64_t p = begin; p < end; ++p)
    if (cursor[W.indices[p]]++ == 0) feature_.push_back(W.indices[p]);
  std::sort(feature_.begin() + first_slot, feature_.end());
  std::int32_t place = 0;
  for (auto s = first_slot; s < static_cast<std::int64_t>(feature_.size()); ++s) {
    start_.push_back(begin + place);
    place += std::exchange(cursor[feature_[s]], place);
  }
  for (std::int64_t i = first_doc; i < last_doc; ++i)
    for (std::int64_t p = W.indptr[i]; p < W.indptr[i + 1]; ++p) {
      place_[p] = cursor[W.indices[p]]++;
      document_[begin + place_[p]] = static_cast<std::uint16_t>(i - first_doc);
    }
  for (auto s = first_slot; s < static_cast<std::int64_t>(feature_.size()); ++s)
    cursor[feature_[s]] = 0;
  slabs_.push_back(
      {first_doc, last_doc, begin, first_slot, static_cast<std::int64_t>(feature_.size())});
  max_slab_docs_ = std::max(max_slab_docs_, last_doc - first_doc);
  max_slab_entries_ = std::max(max_slab_entries_, end - begin);
}

std::string check(const CsrView& W) {
  const auto wrong = [](const char* rule, const auto& found, const char* place, std::int64_t at) {
    return rule + ("; found " + std::to_string(found)) + " at " + place + std::to_string(at);
  };
  if (W.indptr[0] != 0) return wrong("indptr must start at 0", W.indptr[0], "", 0);
  for (std::int64_t i = 0; i < W.n_docs; ++i)
    if (W.indptr[i + 1] < W.indptr[i])
      return wrong("indptr must not decrease", W.indptr[i + 1], "document ", i);
  for (std::int64_t p = 0; p < W.indptr[W.n_docs]; ++p) {
    if (W.indices[p] < 0 || W.indices[p] >= W.n_features)
      return wrong("indices must lie in [0, n_features)", W.indices[p], "entry ", p);
    if (W.weight == nullptr ? W.data[p] <= 0 : !(W.weight[p] > 0 && W.weight[p] <= kLargest))
      return wrong("stored counts must be positive, and at most 2^31 - 1",
                   W.weight == nullptr ? W.data[p] : W.weight[p], "entry ", p);
  }
  return "";
}

}  // namespace dcomp
