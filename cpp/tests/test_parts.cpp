// A corpus in parts: what is random for a document does not know the cut, and token samplers that
// take the whole corpus's counts keep their sums.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "dcomp/collapsed_gibbs.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/split.hpp"
#include "dcomp/structured.hpp"
#include "own_prior.hpp"
#include "random_counts.hpp"
#include "structure_shapes.hpp"

namespace dcomp::test {
namespace {

using Whole = std::vector<std::int32_t>;

// Parts of a corpus of 90 documents: among them a document on its own, and one without tokens.
std::vector<OwnedCounts> parts_of(const OwnedCounts& W) {
  return {part_of(W, 0, 27), part_of(W, 27, 28), part_of(W, 28, 29), part_of(W, 29, 59),
          part_of(W, 59, 90)};
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void add(Whole& sum, const Whole& more, int sign = 1) {
  sum.resize(more.size(), 0);
  for (std::size_t at = 0; at < more.size(); ++at) sum[at] += sign * more[at];
}

OwnPrior flat_prior(const char* key, std::int64_t K, const OwnedCounts& W) {
  OwnPrior prior = any_prior(score_priors()[static_cast<std::size_t>(prior_named(key))], K);
  if (std::string(key) == "CGP")
    for (std::int64_t i = 0; i < W.n_docs(); ++i)
      prior.exposure.push_back(0.5 + 0.01 * static_cast<double>(W.first + i));
  return prior;
}

// What a sweep of direct sampling, and scores given c, come to.
struct Direct {
  std::vector<std::int32_t> c, n;
  std::vector<float> scores, given_c;
};

Direct run_direct(const OwnedCounts& W, const char* key, int n_threads) {
  const std::int64_t K = 5, I = W.n_docs(), J = W.n_features, padded = padded_width<float>(K);
  OwnPrior prior = flat_prior(key, K, W);
  std::vector<float> Theta(static_cast<std::size_t>(J * padded), 0.0F);
  for (std::int64_t j = 0; j < J; ++j)
    for (std::int64_t k = 0; k < K; ++k)
      Theta[static_cast<std::size_t>(j * padded + k)] = 1.0F / static_cast<float>(1 + (j + k) % 7);
  const std::vector<double> log_scale(static_cast<std::size_t>(J), 0.0);
  const auto size = static_cast<std::size_t>(I * K);
  const std::vector<std::int32_t> before(size, 0);
  Direct run{Whole(size), Whole(static_cast<std::size_t>(J * K)), std::vector<float>(size),
             std::vector<float>(size)};
  const ScorePass scores{
      prior.view(), {before.data(), I, K, K}, run.scores.data(), 21, 3, Purpose::allocation,
      W.first};
  sample_documents({W.view(),
                    {Theta.data(), J, K, padded},
                    log_scale.data(),
                    scores,
                    {run.c.data(), I, K, K},
                    run.n.data()},
                   n_threads);
  draw_scores({prior.view(),
               {run.c.data(), I, K, K},
               run.given_c.data(),
               21,
               3,
               Purpose::kept_scores,
               W.first},
              n_threads);
  return run;
}

// Assignments by entry, so that those of parts can be laid end to end.
std::vector<std::uint16_t> started(const OwnedCounts& W, bool from_scores) {
  const std::int64_t K = 6, I = W.n_docs(), J = W.n_features;
  const TokenCells cells(W.view(), 3);
  std::vector<std::uint16_t> z(static_cast<std::size_t>(cells.n_tokens())), out(z.size());
  std::vector<float> scores(static_cast<std::size_t>(I * K)),
      Theta(static_cast<std::size_t>(J * K));
  for (std::size_t at = 0; at < scores.size(); ++at)
    scores[at] = static_cast<float>(1 + (W.first * K + static_cast<std::int64_t>(at)) % 5);
  for (std::size_t at = 0; at < Theta.size(); ++at) Theta[at] = static_cast<float>(1 + at % 7);
  if (from_scores)
    start_assignment_from(9, W.view(), cells, {scores.data(), I, K, K}, {Theta.data(), J, K, K},
                          z.data(), 2);
  else
    start_assignment(9, W.view(), cells, K, z.data());
  cells.in_entry_order(W.view(), z.data(), out.data());
  return out;
}

std::vector<std::int32_t> blocks(const OwnedCounts& W) {
  std::vector<std::int32_t> block(static_cast<std::size_t>(W.n_features));
  for (std::size_t j = 0; j < block.size(); ++j) block[j] = j % 3 == 2;
  return block;
}

// How tokens are swept: the score prior, lists or tables, cells of the grid.
struct Way {
  const char* key;
  bool sparse;
  int n_parts;
};
constexpr Way kWays[] = {{"DM", false, 1}, {"DM", true, 1},  {"CGP", false, 3}, {"GP", true, 3},
                         {"TM", false, 1}, {"TM", false, 3}, {"TM", true, 1},   {"TM", true, 3}};

// A part with its assignment, swept on its own or with counts of the whole.
class Tokens {
 public:
  Tokens(const OwnedCounts& W, const Way& way, const std::vector<std::int64_t>* totals = nullptr)
      : cells_(W.view(), way.n_parts),
        block_(blocks(W)),
        gamma_(block_.size(), 0.1),
        own_(flat_prior(way.key, kComponents, W)),
        prior_(own_.view()),
        counts_(cells_, block_.data(), 2, prior_, way.sparse,
                totals == nullptr ? nullptr : totals->data()),
        z(static_cast<std::size_t>(cells_.n_tokens())) {
    start_assignment(4, W.view(), cells_, kComponents, z.data());
    counts_.count(z.data());
  }

  double sweep(std::uint32_t number) {
    return collapse_sweep({gamma_.data(), prior_, 7, number}, counts_, z.data(), 2);
  }
  void load(const Whole& n) { counts_.load(n.data()); }
  void count() { counts_.count(z.data()); }
  void unload() { counts_.unload(); }
  bool loaded() const { return counts_.loaded(); }
  // Whether the features' counts take memory.
  bool holds_memory() {
    CountTable& n = counts_.n();
    return n.wide() != nullptr || n.lists().topic != nullptr || n.lists().count != nullptr;
  }

  Whole n() { return read(counts_.n().view()); }  // (J, K)
  Whole c() { return read(counts_.c().view()); }
  Whole totals() { return {counts_.total(), counts_.total() + 2 * counts_.padded()}; }
  std::vector<std::int64_t> tokens_of_features() const { return cells_.tokens_of_features(); }

  static constexpr std::int64_t kComponents = 40;

 private:
  Whole read(const CountView& counts) const {
    Whole out(static_cast<std::size_t>(counts.n_rows * kComponents), 0);
    const std::int32_t* component = counts_.component();
    for (std::int64_t row = 0; row < counts.n_rows; ++row)
      counts.visit(row, [&](std::int64_t k, std::int32_t count) {
        const std::int64_t column = component == nullptr ? k : component[k];
        out[static_cast<std::size_t>(row * kComponents + column)] = count;
      });
    return out;
  }

  TokenCells cells_;
  std::vector<std::int32_t> block_;
  std::vector<double> gamma_;
  OwnPrior own_;
  ScorePrior prior_;
  CollapsedCounts counts_;

 public:
  std::vector<std::uint16_t> z;
};

// The same for pairs of leaf and node.
class Pairs {
 public:
  Pairs(const OwnedCounts& W, RowKind kind, int n_parts)
      : shape_(tree_shape(12, 3)),
        layout_(kind, shape_.leaf.data(), shape_.node.data(),
                static_cast<std::int64_t>(shape_.leaf.size()), shape_.K, shape_.H,
                shape_.parent.data()),
        cells_(W.view(), n_parts),
        block_(blocks(W)),
        gamma_(block_.size(), 0.1),
        counts_(cells_, block_.data(), 2, layout_),
        z(static_cast<std::size_t>(cells_.n_tokens())) {
    start_tokens(5, W.view(), cells_, z.data(), [&](Stream& rng) {
      return static_cast<std::uint16_t>(below(rng, layout_.n_pairs()));
    });
    counts_.count(z.data());
  }

  double sweep(std::uint32_t number) {
    return sweep(number, {"GP", {even(shape_.K, 0.2), even(shape_.K, 0.5)}}, nullptr, 2);
  }
  // With loadings that features know by their number, and leaves whose documents differ.
  double sweep_given(std::uint32_t number, const OwnedCounts& W, int n_threads) {
    const std::int64_t padded = layout_.view().padded_nodes;
    std::vector<float> Theta(static_cast<std::size_t>(W.n_features * padded), 0.0F);
    for (std::int64_t j = 0; j < W.n_features; ++j)
      for (std::int64_t h = 0; h < shape_.H; ++h)
        Theta[static_cast<std::size_t>(j * padded + h)] =
            1.0F / static_cast<float>(1 + (3 * j + h) % 11);
    return sweep(number, flat_prior("CGP", shape_.K, W), Theta.data(), n_threads);
  }
  void load(const Whole& n, const Whole& S) {
    counts_.load(n.data(), counts_.shares_rows() ? S.data() : nullptr);
  }
  void count() { counts_.count(z.data()); }
  void unload() { counts_.unload(); }
  bool loaded() const { return counts_.loaded(); }
  bool holds_memory() { return counts_.n() != nullptr; }
  bool shares_rows() const { return counts_.shares_rows(); }

  Whole n() const {  // (J, H)
    const CountView view = counts_.feature_view();
    Whole out;
    for (std::int64_t j = 0; j < view.n_rows; ++j)
      out.insert(out.end(), view.dense + j * view.stride, view.dense + j * view.stride + view.K);
    return out;
  }
  Whole C() const {
    const CountView view = counts_.leaf_view();
    Whole out;
    for (std::int64_t i = 0; i < view.n_rows; ++i)
      out.insert(out.end(), view.dense + i * view.stride, view.dense + i * view.stride + view.K);
    return out;
  }
  std::vector<std::uint16_t> by_entry(const OwnedCounts& W) const {
    std::vector<std::uint16_t> out(z.size());
    cells_.in_entry_order(W.view(), z.data(), out.data());
    return out;
  }
  Whole S() const {
    Whole out(static_cast<std::size_t>(counts_.n_rows() * layout_.read_width()));
    counts_.read_rows(out.data());
    return out;
  }
  // All that there is, with what follows from the rest; S of fixed rows is not kept up to date.
  Whole everything() {
    const StructureView& at = layout_.view();
    Whole out(counts_.C(), counts_.C() + cells_.n_docs() * at.padded_leaves);
    append(out, Whole(counts_.n(), counts_.n() + cells_.n_features() * at.padded_nodes));
    append(out, totals());
    if (at.kind != RowKind::fixed) append(out, whole_rows());
    return out;
  }
  Whole whole_rows() { return {counts_.S(), counts_.S() + counts_.n_rows() * counts_.row_width()}; }
  Whole totals() { return {counts_.total(), counts_.total() + 2 * layout_.view().padded_nodes}; }

 private:
  double sweep(std::uint32_t number, OwnPrior leaves, const float* Theta, int n_threads) {
    const std::vector<double> pair(shape_.leaf.size(), 0.3),
        side(static_cast<std::size_t>(shape_.H), 0.7);
    const StructuredInput input{
        gamma_.data(), leaves.view(), pair.data(), side.data(), side.data(), 7, number, Theta};
    const double words = structured_sweep(input, counts_, n_threads);
    counts_.read(z.data());
    return words;
  }

  Shape shape_;
  StructureLayout layout_;
  TokenCells cells_;
  std::vector<std::int32_t> block_;
  std::vector<double> gamma_;
  StructuredCounts counts_;

 public:
  std::vector<std::uint16_t> z;
};

// What sweeps with given loadings come to: pairs by entry, words by leaf, rows of documents.
struct Given {
  std::vector<std::uint16_t> z;
  Whole C, S, n;
  bool follows = false;

  bool operator==(const Given&) const = default;
};

Given run_given(const OwnedCounts& W, RowKind kind, int n_parts, int n_threads) {
  Pairs pairs(W, kind, n_parts);
  const Whole n = pairs.n();
  for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) pairs.sweep_given(sweep, W, n_threads);
  Given run{pairs.by_entry(W), pairs.C(), kind == RowKind::fixed ? Whole{} : pairs.S(), pairs.n()};
  const Whole rows = pairs.whole_rows();
  CHECK(run.n == n);
  pairs.count();
  run.follows = pairs.C() == run.C && (kind == RowKind::fixed || pairs.whole_rows() == rows);
  return run;
}

bool none_negative(const Whole& counts) {
  return std::all_of(counts.begin(), counts.end(), [](std::int32_t x) { return x >= 0; });
}

}  // namespace

TEST(direct_sampling_does_not_depend_on_where_the_corpus_is_cut) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const char* key : {"DM", "CGP", "TM"}) {
    const Direct whole = run_direct(W, key, 1);
    Direct in_parts;
    for (const OwnedCounts& part : parts_of(W)) {
      const Direct some = run_direct(part, key, 2);
      append(in_parts.c, some.c);
      append(in_parts.scores, some.scores);
      append(in_parts.given_c, some.given_c);
      add(in_parts.n, some.n);
    }
    CHECK(whole.c == in_parts.c);
    CHECK(whole.n == in_parts.n);
    CHECK(whole.scores == in_parts.scores);
    CHECK(whole.given_c == in_parts.given_c);
  }
}

// The rows that given loadings can come with: each document is on its own.
TEST(given_loadings_do_not_let_a_document_know_the_others) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const RowKind kind : {RowKind::fixed, RowKind::document, RowKind::document_phi}) {
    const Given whole = run_given(W, kind, 3, 1);
    CHECK(whole.follows);
    CHECK(run_given(W, kind, 3, 7) == whole);
    CHECK(run_given(W, kind, 1, 2) == whole);  // nor do the cells of its tokens matter
    Given in_parts;
    for (const OwnedCounts& part : parts_of(W)) {
      const Given some = run_given(part, kind, 2, 2);
      CHECK(some.follows);
      append(in_parts.z, some.z);
      append(in_parts.C, some.C);
      append(in_parts.S, some.S);
    }
    CHECK(in_parts.z == whole.z && in_parts.C == whole.C && in_parts.S == whole.S);
  }
}

TEST(documents_with_the_same_counts_have_random_numbers_of_their_own) {
  const OwnedCounts here = random_counts(40, 30, 10, 3);
  OwnedCounts there = here;
  there.first = 40;
  Pairs one(here, RowKind::document, 2), other(there, RowKind::document, 2);
  other.z = one.z;
  other.count();
  const Whole before = one.C();
  one.sweep_given(1, here, 1);
  other.sweep_given(1, here, 1);
  CHECK(one.C() != before);
  CHECK(one.z != other.z);
}

TEST(starts_do_not_depend_on_where_the_corpus_is_cut) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const bool from_scores : {false, true}) {
    std::vector<std::uint16_t> in_parts;
    for (const OwnedCounts& part : parts_of(W)) append(in_parts, started(part, from_scores));
    CHECK(started(W, from_scores) == in_parts);
  }
  const std::int64_t K = 3;
  const auto counted = [K](const OwnedCounts& part) {
    std::pair<Whole, Whole> out{Whole(static_cast<std::size_t>(part.n_docs() * K), 0),
                                Whole(static_cast<std::size_t>(part.n_features * K), 0)};
    start_counts(part.view(), K, 4, out.first.data(), out.second.data());
    return out;
  };
  Whole c, n;
  for (const OwnedCounts& part : parts_of(W)) {
    const auto some = counted(part);
    append(c, some.first);
    add(n, some.second);
  }
  CHECK(counted(W) == std::pair(c, n));
}

TEST(every_cell_of_every_part_has_random_numbers_of_its_own) {
  std::set<std::uint64_t> seen;
  OwnedCounts W = random_counts(9, 10, 4, 3);
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000},
                                   std::int64_t{1} << 32, kMostDocuments - 9}) {
    W.first = first;
    const TokenCells cells(W.view(), kMostParts);
    for (int cell = 0; cell < kMostParts * kMostParts; ++cell) {
      const std::uint64_t unit = cells.unit(cell);
      CHECK(unit >> kUnitBits == 0);
      CHECK(seen.insert(unit).second);
      if (first == 0) CHECK(unit == static_cast<std::uint64_t>(cell));
    }
  }
}

// Two parts of the same counts and assignment.
TEST(parts_do_not_repeat_each_other) {
  OwnedCounts here = random_counts(40, 30, 10, 3), there = here;
  there.first = 40;
  for (const Way& way : kWays) {
    Tokens one(here, way), other(there, way);
    other.z = one.z;
    other.count();
    one.sweep(1);
    other.sweep(1);
    CHECK(one.z != other.z);
  }
  for (const RowKind kind : kEvery) {
    Pairs one(here, kind, 3), other(there, kind, 3);
    other.z = one.z;
    other.count();
    one.sweep(1);
    other.sweep(1);
    CHECK(one.z != other.z);
  }
}

TEST(to_load_ones_own_counts_changes_nothing) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const Way& way : kWays) {
    Tokens plain(W, way), loading(W, way);
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      loading.load(loading.n());
      CHECK(plain.sweep(sweep) == loading.sweep(sweep));
      CHECK(plain.z == loading.z);
      CHECK(plain.n() == loading.n() && plain.totals() == loading.totals());
    }
  }
  for (const RowKind kind : kEvery)
    for (const int parts : {1, 3}) {
      Pairs plain(W, kind, parts), loading(W, kind, parts);
      for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
        loading.load(loading.n(), loading.S());
        CHECK(plain.everything() == loading.everything());
        CHECK(plain.sweep(sweep) == loading.sweep(sweep));
        CHECK(plain.z == loading.z);
      }
    }
}

TEST(what_is_unloaded_takes_no_memory_until_it_is_loaded_or_counted) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const Way& way : kWays) {
    Tokens plain(W, way), other(W, way);
    CHECK(other.loaded() && other.holds_memory());
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      plain.sweep(sweep);
      other.sweep(sweep);
      const Whole n = other.n(), c = other.c(), totals = other.totals();
      other.unload();
      CHECK(!other.loaded() && !other.holds_memory());
      CHECK(other.c() == c);
      if (sweep == 2)
        other.count();
      else
        other.load(n);
      CHECK(other.loaded() && other.holds_memory());
      CHECK(other.n() == n && other.c() == c && other.totals() == totals);
      CHECK(other.z == plain.z);
    }
  }
  for (const RowKind kind : kEvery) {
    Pairs plain(W, kind, 3), other(W, kind, 3);
    CHECK(other.loaded() && other.holds_memory());
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      plain.sweep(sweep);
      other.sweep(sweep);
      const Whole n = other.n(), S = other.S(), C = other.C(), all = other.everything();
      other.unload();
      CHECK(!other.loaded() && !other.holds_memory());
      CHECK(other.C() == C && other.S() == S);
      if (sweep == 2)
        other.count();
      else
        other.load(n, S);
      CHECK(other.loaded() && other.everything() == all && other.z == plain.z);
    }
  }
}

TEST(given_loadings_need_no_counts_of_features) {
  const OwnedCounts W = random_counts(40, 30, 10, 3);
  for (const RowKind kind : {RowKind::fixed, RowKind::document, RowKind::document_phi}) {
    Pairs plain(W, kind, 2), other(W, kind, 2);
    other.unload();
    plain.sweep_given(1, W, 2);
    other.sweep_given(1, W, 2);
    CHECK(other.z == plain.z && other.C() == plain.C() && !other.loaded());
  }
}

TEST(counts_of_the_whole_keep_their_sums_while_parts_are_swept) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const Way& way : kWays) {
    const std::vector<std::int64_t> totals = TokenCells(W.view(), 1).tokens_of_features();
    std::vector<std::unique_ptr<Tokens>> parts;  // whose counts point to their cells
    Whole n;
    for (const OwnedCounts& part : parts_of(W)) {
      parts.push_back(std::make_unique<Tokens>(part, way, &totals));
      add(n, parts.back()->n());
    }
    Tokens alone(parts_of(W)[3], way);
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      const Whole before = n;
      for (auto& part : parts) {
        part->load(before);
        CHECK(part->n() == before);
        part->sweep(sweep);
        add(n, part->n());
        add(n, before, -1);
      }
      CHECK(none_negative(n));
      if (sweep > 1) continue;
      alone.sweep(1);
      CHECK(alone.z != parts[3]->z);  // which knows of the others
    }
    Whole recounted, block_totals;
    for (auto& part : parts) {
      const Whole c = part->c();
      part->count();
      CHECK(part->c() == c);
      add(recounted, part->n());
      add(block_totals, part->totals());
    }
    CHECK(recounted == n);
    parts[0]->load(n);
    CHECK(parts[0]->totals() == block_totals);
  }
}

TEST(structured_counts_of_the_whole_keep_their_sums_while_parts_are_swept) {
  const OwnedCounts W = random_counts(90, 40, 12, 3);
  for (const RowKind kind : kEvery) {
    std::vector<std::unique_ptr<Pairs>> parts;
    Whole n, S;
    for (const OwnedCounts& part : parts_of(W)) {
      parts.push_back(std::make_unique<Pairs>(part, kind, 3));
      add(n, parts.back()->n());
      if (parts.back()->shares_rows()) add(S, parts.back()->S());
    }
    CHECK(parts[0]->shares_rows() == (kind == RowKind::shared || kind == RowKind::phi));
    for (std::uint32_t sweep = 1; sweep <= 3; ++sweep) {
      const Whole before = n, rows_before = S;
      for (auto& part : parts) {
        part->load(before, rows_before);
        part->sweep(sweep);
        add(n, part->n());
        add(n, before, -1);
        if (!part->shares_rows()) continue;
        add(S, part->S());
        add(S, rows_before, -1);
      }
      CHECK(none_negative(n) && none_negative(S));
    }
    Whole recounted, block_totals, rows;
    for (auto& part : parts) {
      part->count();
      add(recounted, part->n());
      add(block_totals, part->totals());
      if (part->shares_rows()) add(rows, part->whole_rows());
    }
    CHECK(recounted == n);
    parts[3]->load(n, S);
    CHECK(parts[3]->totals() == block_totals);
    if (parts[3]->shares_rows()) CHECK(parts[3]->whole_rows() == rows);
  }
}

}  // namespace dcomp::test
