// The index by feature against one built by sorting, and the check of CSR arrays.
#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

#include "check.hpp"
#include "dcomp/counts.hpp"
#include "random_counts.hpp"

namespace dcomp::test {

namespace {

// Slabs must follow each other over all documents, and their entries lie in feature order: by
// feature, then by place in the CSR arrays.
void check_index(const OwnedCounts& W) {
  const CorpusIndex index(W.view());
  std::int64_t doc = 0, entry = 0, slot = 0;
  for (const Slab& slab : index.slabs()) {
    CHECK(slab.first_doc == doc && slab.last_doc > doc);
    CHECK(slab.first_entry == entry && slab.first_slot == slot);
    CHECK(slab.last_doc - slab.first_doc <= index.max_slab_docs());
    doc = slab.last_doc;
    const std::int64_t end = W.indptr[static_cast<std::size_t>(doc)];
    CHECK(end - entry <= index.max_slab_entries());

    std::vector<std::tuple<std::int32_t, std::int64_t, std::int32_t>> sorted;
    for (std::int64_t i = slab.first_doc; i < slab.last_doc; ++i)
      for (std::int64_t p = W.indptr[static_cast<std::size_t>(i)];
           p < W.indptr[static_cast<std::size_t>(i) + 1]; ++p)
        sorted.emplace_back(W.indices[static_cast<std::size_t>(p)], p,
                            static_cast<std::int32_t>(i - slab.first_doc));
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t q = 0; q < sorted.size(); ++q) {
      const auto& [feature, p, document] = sorted[q];
      if (q == 0 || feature != std::get<0>(sorted[q - 1])) {
        CHECK(index.feature(slot) == feature);
        CHECK(index.start(slot) == entry + static_cast<std::int64_t>(q));
        ++slot;
      }
      CHECK(index.place()[p] == static_cast<std::int32_t>(q));
      CHECK(index.document()[entry + static_cast<std::int64_t>(q)] == document);
    }
    entry = end;
    CHECK(slab.last_slot == slot && index.start(slot) == entry);
  }
  CHECK(doc == W.n_docs());
}

OwnedCounts sound() {
  OwnedCounts W;
  W.n_features = 3;
  W.add(0, 1);
  W.add(2, 4);
  W.end_document();
  W.end_document();
  W.add(1, 2);
  W.end_document();
  return W;
}

bool is_sound(const OwnedCounts& W) { return check(W.view()).empty(); }
bool complains(const OwnedCounts& W, const char* of) {
  return check(W.view()).find(of) != std::string::npos;
}

}  // namespace

TEST(index_of_random_counts) {
  check_index(random_counts(50, 40, 12, 1));
  check_index(random_counts(500, 7, 20, 2));
  check_index(random_counts(300, 2000, 3, 3));
}

TEST(index_of_more_documents_than_a_slab_holds) {
  const OwnedCounts W = random_counts(3 * 8192 + 5, 60, 6, 4);
  check_index(W);
  CHECK(CorpusIndex(W.view()).slabs().size() > 1);
}

TEST(index_of_more_entries_than_a_slab_holds) {
  OwnedCounts W;
  W.n_features = 700'000;
  for (const std::int32_t entries : {200'000, 200'000, 200'000, 0, 700'000, 1}) {
    for (std::int32_t j = 0; j < entries; ++j) W.add(j, 1);
    W.end_document();
  }
  check_index(W);
  // However small a slab is meant to be, one long document is never cut.
  const CorpusIndex index(W.view());
  CHECK(index.slabs().size() > 1 && index.max_slab_entries() == 700'000);
}

TEST(index_of_small_and_empty_counts) {
  OwnedCounts one;
  one.n_features = 1;
  one.add(0, 5);
  one.end_document();
  check_index(one);

  OwnedCounts none;
  none.n_features = 4;
  check_index(none);
  for (int i = 0; i < 10; ++i) none.end_document();
  check_index(none);
}

TEST(index_of_unsorted_and_repeated_features) {
  OwnedCounts W;
  W.n_features = 6;
  for (const std::int32_t j : {5, 0, 3, 3, 0}) W.add(j, j + 1);
  W.end_document();
  for (const std::int32_t j : {3, 5, 5}) W.add(j, 1);
  W.end_document();
  check_index(W);
}

TEST(check_accepts_sound_counts) {
  CHECK(is_sound(sound()));
  CHECK(is_sound(random_counts(100, 30, 10, 6)));
  OwnedCounts none;
  none.n_features = 1;
  CHECK(is_sound(none));
}

TEST(fractional_counts_have_totals_and_a_range) {
  OwnedCounts W = as_weights(sound());
  CHECK(is_sound(W));
  W.weight[1] = 0.25;
  const CorpusIndex index(W.view());
  CHECK_CLOSE(index.total(2), 0.25, 1e-15);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -0.5, 2147483648.0, infinity, infinity - infinity}) {
    W.weight[1] = bad;
    CHECK(complains(W, "stored counts must be positive"));
  }
}

TEST(check_names_what_is_wrong) {
  OwnedCounts W = sound();
  W.indptr[0] = 1;
  CHECK(complains(W, "indptr must start at 0"));

  W = sound();
  W.indptr[2] = 1;  // below indptr[1] = 2
  CHECK(complains(W, "indptr must not decrease"));

  W = sound();
  W.indptr[1] = 1'000'000;  // must be found before an entry is read there
  CHECK(complains(W, "indptr must not decrease"));

  for (const std::int32_t bad : {-1, 3, 2147483647}) {
    W = sound();
    W.indices[1] = bad;
    CHECK(complains(W, "indices must lie in"));
  }
  for (const std::int32_t bad : {0, -1, -2147483647 - 1}) {
    W = sound();
    W.data[2] = bad;
    CHECK(complains(W, "counts must be positive"));
  }
}

}  // namespace dcomp::test
