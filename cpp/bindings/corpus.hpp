// Counts as Python hands them to the kernels.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "checks.hpp"

namespace dcomp::bindings {

// The number of the first of some documents in the whole corpus.
inline void require_first(std::int64_t first, std::int64_t n_docs) {
  if (first >= 0 && first <= kMostDocuments - n_docs) return;
  throw std::invalid_argument(
      "first must be the number of the first document in the whole corpus, from 0 on and with "
      "all documents below " +
      std::to_string(kMostDocuments) + "; got " + std::to_string(first));
}

// Counts in CSR: keeps the NumPy arrays alive, checks them once, builds the feature index when a
// fit first asks for it.
class Corpus {
 public:
  Corpus(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const std::int32_t> data, std::int64_t n_features, std::int64_t first)
      : indptr_(indptr), indices_(indices), data_(data) {
    W_.data = data.data();
    finish(data.shape(0), n_features, first);
  }
  // Fractional counts.
  Corpus(Vector<const std::int64_t> indptr, Vector<const std::int32_t> indices,
         Vector<const double> weight, std::int64_t n_features, std::int64_t first)
      : indptr_(indptr), indices_(indices), weight_(weight) {
    W_.weight = weight.data();
    finish(weight.shape(0), n_features, first);
  }
  // For what takes expectations: whole counts or fractional ones.
  const CsrView& weights() const { return W_; }
  // For what draws, and reads `data`: whole counts alone.
  const CsrView& W() const {
    require(W_.weight == nullptr, "a sampler must have whole counts; these are fractional");
    return W_;
  }
  const CorpusIndex& index() {
    // Calls that have let go of the GIL may ask at the same time.
    std::call_once(is_indexed_, [&] { index_ = std::make_unique<CorpusIndex>(W_); });
    return *index_;
  }

 private:
  void finish(std::size_t n_stored, std::int64_t n_features, std::int64_t first) {
    const Call call("Corpus");
    call.require(indptr_.shape(0) >= 1, "indptr must hold n_docs + 1 numbers, 1 or more; got none");
    call.require(n_features >= 1 && n_features <= std::numeric_limits<std::int32_t>::max(),
                 "n_features must lie in [1, 2^31)", n_features);
    call.shape("indices", indices_, {static_cast<std::int64_t>(n_stored)}, "one for each of data");
    W_.indptr = indptr_.data();
    W_.indices = indices_.data();
    W_.n_docs = static_cast<std::int64_t>(indptr_.shape(0)) - 1;
    W_.n_features = n_features;
    W_.first = first;
    require_first(first, W_.n_docs);
    call.require(W_.n_docs < std::numeric_limits<std::int32_t>::max(),
                 "documents of one corpus must be fewer than 2^31 - 1", W_.n_docs);
    call.require(W_.indptr[W_.n_docs] == static_cast<std::int64_t>(n_stored),
                 "indptr must end at the number of stored counts", W_.indptr[W_.n_docs]);
    const std::string problem = check(W_);
    if (!problem.empty()) call.fail(problem);
  }

  Vector<const std::int64_t> indptr_;
  Vector<const std::int32_t> indices_, data_;
  Vector<const double> weight_;
  CsrView W_;
  std::once_flag is_indexed_;
  std::unique_ptr<CorpusIndex> index_;
};

}  // namespace dcomp::bindings
