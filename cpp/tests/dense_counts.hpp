// Counts that fill a good part of their table, as votes and genotypes do.
#pragma once

#include "random_counts.hpp"

namespace dcomp::test {

// Which features a document has: all but so many in ten, or one in twenty of a sparse document.
inline OwnedCounts dense_counts(std::int64_t n_docs, std::int64_t n_features, std::int32_t largest,
                                std::uint64_t seed) {
  Random random(seed);
  OwnedCounts W;
  W.n_features = n_features;
  for (std::int64_t i = 0; i < n_docs; ++i) {
    // Some documents are sparse, some empty; the others differ in what they lack.
    const std::int64_t share = i % 7 == 2 ? 1 : i % 11 == 5 ? 0 : 8 + i % 12;
    for (std::int64_t j = 0; j < n_features; ++j)
      if (random.below(20) < share)
        W.add(static_cast<std::int32_t>(j), static_cast<std::int32_t>(1 + random.below(largest)));
    W.end_document();
  }
  return W;
}

}  // namespace dcomp::test
