// The best documents are the best of all; lists that lie are told, and never followed.
#include <algorithm>
#include <vector>

#include "check.hpp"
#include "dcomp/retrieve.hpp"

namespace {

using dcomp::PostingLists;
using dcomp::Question;
using dcomp::ScoreKind;

// 23 documents in blocks of 4, 3 words: word t stands 1 + (5 i + t) % 4 times in document i, where
// i % (t + 2) is 0.
struct Small {
  std::vector<std::int64_t> list_start{0}, entry_start;
  std::vector<std::int32_t> entry_block, document;
  std::vector<float> entry_count, entry_ratio, entry_length, count, length, norm, shares, envelope;
  PostingLists lists;

  Small() {
    constexpr std::int32_t n = 23, block = 4, K = 2;
    for (std::int32_t i = 0; i < n; ++i) {
      length.push_back(static_cast<float>(10 + i % 7));
      norm.push_back(static_cast<float>(1 + i % 3));
      const float share = static_cast<float>(i % 10) / 10;
      shares.insert(shares.end(), {share, 1 - share});
    }
    for (std::int32_t g = 0; g * block < n; ++g)
      for (std::int32_t k = 0; k < K; ++k) {
        float most = 0;
        for (std::int32_t i = g * block; i < std::min(n, (g + 1) * block); ++i)
          most = std::max(most, shares[static_cast<std::size_t>(i * K + k)]);
        envelope.push_back(most);
      }
    for (std::int32_t t = 0; t < 3; ++t) {
      std::int32_t last = -1;
      for (std::int32_t i = 0; i < n; i += t + 2) {
        const auto x = static_cast<float>(1 + (5 * i + t) % 4);
        const float L = length[static_cast<std::size_t>(i)];
        if (i / block != last) {
          last = i / block;
          entry_block.push_back(last);
          entry_start.push_back(static_cast<std::int64_t>(document.size()));
          entry_count.push_back(x);
          entry_ratio.push_back(x / L * 1.0001F);
          entry_length.push_back(L);
        }
        entry_count.back() = std::max(entry_count.back(), x);
        entry_ratio.back() = std::max(entry_ratio.back(), x / L * 1.0001F);
        entry_length.back() = std::min(entry_length.back(), L);
        document.push_back(i);
        count.push_back(x);
      }
      list_start.push_back(static_cast<std::int64_t>(entry_block.size()));
    }
    entry_start.push_back(static_cast<std::int64_t>(document.size()));
    lists = {n,
             3,
             static_cast<std::int64_t>(entry_block.size()),
             static_cast<std::int64_t>(document.size()),
             block,
             list_start.data(),
             entry_block.data(),
             entry_start.data(),
             entry_count.data(),
             entry_ratio.data(),
             entry_length.data(),
             document.data(),
             count.data(),
             length.data(),
             norm.data(),
             K,
             shares.data(),
             envelope.data()};
  }
};

const std::int32_t kTerms[] = {0, 1, 2};
const double kWeight[] = {1.0, 0.5, 2.0}, kBackground[] = {0.2, 0.1, 0.05};
const float kTheta[] = {0.3F, 0.1F, 0.05F, 0.2F, 0.4F, 0.01F};

Question question(ScoreKind kind) {
  Question q{kind, 3, kTerms, kWeight, kBackground, kTheta};
  q.first = kind == ScoreKind::dirichlet ? 20.0 : 0.5;
  q.second = 0.5;
  q.third = 12.0;
  return q;
}

}  // namespace

TEST(the_best_documents_are_the_best_of_all) {
  const Small small;
  for (const ScoreKind kind : {ScoreKind::bm25, ScoreKind::tf_idf, ScoreKind::dirichlet,
                               ScoreKind::jelinek, ScoreKind::mixture}) {
    const Question q = question(kind);
    std::vector<double> score(23);
    std::vector<std::uint8_t> matches(23);
    dcomp::all_scores(small.lists, q, score.data(), matches.data());
    std::vector<double> wanted;
    for (std::size_t i = 0; i < score.size(); ++i)
      if (matches[i] != 0 || kind == ScoreKind::mixture) wanted.push_back(score[i]);
    std::sort(wanted.rbegin(), wanted.rend());
    for (const std::int64_t n : {1, 3, 23}) {
      const auto best = dcomp::best_documents(small.lists, q, n);
      CHECK(best.found.size() == std::min(wanted.size(), static_cast<std::size_t>(n)));
      for (std::size_t i = 0; i < best.found.size(); ++i) {
        CHECK(best.found[i].score == wanted[i]);
        CHECK(score[static_cast<std::size_t>(best.found[i].document)] == wanted[i]);
      }
    }
  }
}

TEST(lists_that_lie_are_told) {
  const auto is_told = [](auto spoil) {
    Small small;
    spoil(small);
    try {
      dcomp::best_documents(small.lists, question(ScoreKind::mixture), 5);
    } catch (const dcomp::BadLists&) {
      return true;
    }
    return false;
  };
  CHECK(is_told([](Small& s) { s.list_start[1] = 1 << 20; }));
  CHECK(is_told([](Small& s) { s.entry_block[0] = 99; }));
  CHECK(is_told([](Small& s) { s.entry_start[1] = -3; }));
  CHECK(is_told([](Small& s) { s.document[0] = 22; }));
  CHECK(is_told([](Small& s) { s.count[0] = -1; }));
  CHECK(is_told([](Small& s) { s.shares[0] = -50; }));
}
