// Counts to test on: the same for every platform and library.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/counts.hpp"

namespace dcomp::test {

// A 64-bit counter through a mixing function (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

struct OwnedCounts {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices, data;
  std::vector<double> weight;  // in the place of data, where counts are fractional
  std::int64_t n_features = 0;
  std::int64_t first = 0;  // the number of the first document in the whole corpus

  std::int64_t n_docs() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  void add(std::int32_t feature, std::int32_t count) {
    indices.push_back(feature);
    data.push_back(count);
  }
  void end_document() { indptr.push_back(static_cast<std::int64_t>(indices.size())); }
  CsrView view() const {
    CsrView W{indptr.data(), indices.data(), data.data(), n_docs(), n_features, first};
    if (!weight.empty()) {
      W.data = nullptr;
      W.weight = weight.data();
    }
    return W;
  }
};

// The same numbers as fractional counts.
inline OwnedCounts as_weights(OwnedCounts W) {
  W.weight.assign(W.data.begin(), W.data.end());
  return W;
}

// Documents [begin, end) as a part of the corpus.
inline OwnedCounts part_of(const OwnedCounts& W, std::int64_t begin, std::int64_t end) {
  OwnedCounts part;
  part.n_features = W.n_features;
  part.first = W.first + begin;
  for (std::int64_t i = begin; i < end; ++i) {
    for (std::int64_t p = W.indptr[static_cast<std::size_t>(i)];
         p < W.indptr[static_cast<std::size_t>(i) + 1]; ++p)
      part.add(W.indices[static_cast<std::size_t>(p)], W.data[static_cast<std::size_t>(p)]);
    part.end_document();
  }
  return part;
}

// Every eighth document empty, every fifth feature never seen, up to max_entries entries.
inline OwnedCounts random_counts(std::int64_t n_docs, std::int64_t n_features,
                                 std::int64_t max_entries, std::uint64_t seed) {
  Random random(seed);
  OwnedCounts W;
  W.n_features = n_features;
  for (std::int64_t i = 0; i < n_docs; ++i) {
    const std::int64_t entries = i % 8 == 3 ? 0 : 1 + random.below(max_entries);
    const std::int64_t step = 1 + n_features / (1 + entries);
    for (std::int64_t j = random.below(step); entries > 0 && j < n_features;
         j += 1 + random.below(2 * step))
      if (j % 5 != 4)
        W.add(static_cast<std::int32_t>(j), static_cast<std::int32_t>(1 + random.below(9)));
    W.end_document();
  }
  return W;
}

}  // namespace dcomp::test
