// Counts as Python hands them to the kernels.
#pragma once

#include <memory>
#include <string>

#include "arrays.hpp"

namespace dcomp::bindings {

// The number of the first of some documents in the whole corpus.
inline void require_first(std::int64_t first, std::int64_t n_docs) {
  require(first >= 0 && first <= kMostDocuments - n_docs,
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
    require(indptr.shape(0) >= 1, "indptr must hold n_docs + 1 numbers");
    require(n_features >= 1, "n_features must be at least 1");
    require(indices.shape(0) == data.shape(0), "indices and data must have one length");
    W_ = {indptr.data(), indices.data(),
          data.data(),   static_cast<std::int64_t>(indptr.shape(0)) - 1,
          n_features,    first};
    require_first(first, W_.n_docs);
    require(W_.indptr[W_.n_docs] == static_cast<std::int64_t>(data.shape(0)),
            "indptr must end at the number of stored counts");
    const char* problem = check(W_);
    require(*problem == '\0', problem);
  }
  const CsrView& W() const { return W_; }
  const CorpusIndex& index() {
    if (!index_) index_ = std::make_unique<CorpusIndex>(W_);
    return *index_;
  }

 private:
  Vector<const std::int64_t> indptr_;
  Vector<const std::int32_t> indices_, data_;
  CsrView W_;
  std::unique_ptr<CorpusIndex> index_;
};

}  // namespace dcomp::bindings
