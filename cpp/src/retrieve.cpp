#include "dcomp/retrieve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dcomp/stop_point.hpp"

namespace dcomp {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void bad(const std::string& what) { throw BadLists(what); }

// Entries of one list, checked.
struct List {
  std::int64_t begin, end;
};

List list_of(const PostingLists& lists, std::int32_t term) {
  const std::int64_t begin = lists.list_start[term], end = lists.list_start[term + 1];
  if (begin < 0 || end < begin || end > lists.n_entries) bad("a list does not lie in the entries");
  return {begin, end};
}

// What a word gives to a document in which it stands x times. Rises with x, falls with length and
// norm: with the extremes of a block it is a bound.
class Gain {
 public:
  explicit Gain(const Question& q) : q_(q) {}

  double operator()(std::int64_t t, double x, double ratio, double length, double norm) const {
    const double w = q_.weight[t];
    switch (q_.kind) {
      case ScoreKind::bm25:
        return w * x * (q_.first + 1) /
               (x + q_.first * (1 - q_.second + q_.second * length / q_.third));
      case ScoreKind::tf_idf:
        return w * (1 + std::log(x)) / norm;
      case ScoreKind::dirichlet:
        return w * std::log1p(x / (q_.first * q_.background[t]));
      case ScoreKind::jelinek:
        return w * std::log1p((1 - q_.first) / q_.first * ratio / q_.background[t]);
      case ScoreKind::mixture:
        break;
    }
    return 0;
  }

 private:
  const Question& q_;
};

// Sixteen sums side by side, which the compiler keeps in vectors.
double dot(const float* a, const float* b, std::int64_t n) {
  constexpr int kSums = 16;
  float sum[kSums] = {};
  std::int64_t k = 0;
  for (; k + kSums <= n; k += kSums)
    for (int s = 0; s < kSums; ++s) sum[s] += a[k + s] * b[k + s];
  for (int s = 0; k < n; ++k, ++s) sum[s] += a[k] * b[k];
  double total = 0;
  for (const float part : sum) total += static_cast<double>(part);
  return total;
}

double smooth(const PostingLists& lists, const Question& q, const float* shares, std::int64_t t) {
  const double p = dot(shares, q.Theta + t * lists.K, lists.K);
  if (!(p >= 0 && p < kInfinity)) bad("a share is not a number of 0 or more");
  return q.first * p + q.second * q.background[t];
}

class Search {
 public:
  Search(const PostingLists& lists, const Question& q)
      : lists_(lists), q_(q), gain_(q), mixed_(q.kind == ScoreKind::mixture) {
    for (std::int64_t t = 0; t < q.n_terms; ++t) {
      list_.push_back(list_of(lists, q.term[t]));
      weight_ += q.weight[t];
    }
    if (mixed_) ratio_.resize(static_cast<std::size_t>(lists.block * q.n_terms));
  }

  std::int64_t first(std::int64_t g) const { return g * lists_.block; }
  std::int64_t size(std::int64_t g) const {
    return std::min(lists_.block, lists_.n_docs - first(g));
  }
  double score(std::int64_t place) const { return score_[place]; }
  bool matches(std::int64_t place) const { return matches_[place]; }
  bool counts(std::int64_t place) const { return mixed_ || matches_[place]; }

  // Scores of a block's documents.
  void look_into(std::int64_t g) {
    const std::int64_t n = size(g);
    std::fill_n(score_, n, 0.0);
    std::fill_n(matches_, n, false);
    if (mixed_) std::fill(ratio_.begin(), ratio_.end(), 0.0);
    for (std::int64_t t = 0; t < q_.n_terms; ++t) add_postings(g, t);
    if (mixed_)
      mix(g);
    else if (q_.kind == ScoreKind::dirichlet)
      for (std::int64_t i = 0; i < n; ++i)
        score_[i] -= weight_ * std::log1p(length(first(g) + i) / q_.first);
  }

  // Bounds of all blocks; minus infinity where no document counts.
  std::vector<double> bounds() {
    const auto n_blocks = static_cast<std::size_t>(lists_.n_blocks());
    return mixed_ ? mixed_bounds(n_blocks) : word_bounds(n_blocks);
  }

 private:
  double length(std::int64_t i) const {
    const auto L = static_cast<double>(lists_.length[i]);
    if (!(L >= 0 && L < kInfinity)) bad("a length is not a number of 0 or more");
    return L;
  }

  void check_extremes(std::int64_t e) const {
    const bool fine = lists_.entry_count[e] > 0 && lists_.entry_ratio[e] > 0 &&
                      lists_.entry_length[e] > 0 && std::isfinite(lists_.entry_count[e]) &&
                      std::isfinite(lists_.entry_ratio[e]);
    const std::int32_t g = lists_.entry_block[e];
    if (!fine || g < 0 || g >= lists_.n_blocks()) bad("the extremes of an entry are not its own");
  }

  std::vector<double> word_bounds(std::size_t n_blocks) {
    std::vector<double> bound(n_blocks, -kInfinity);
    const bool by_length = q_.kind == ScoreKind::dirichlet, by_norm = q_.kind == ScoreKind::tf_idf;
    std::vector<double> shortest(by_length ? n_blocks : 0, kInfinity);
    std::vector<double> norm(by_norm ? n_blocks : 0, -1.0);
    for (std::int64_t t = 0; t < q_.n_terms; ++t) {
      stop_point(4 * (list_[t].end - list_[t].begin));
      for (std::int64_t e = list_[t].begin; e < list_[t].end; ++e) {
        check_extremes(e);
        const auto g = static_cast<std::size_t>(lists_.entry_block[e]);
        const auto L = static_cast<double>(lists_.entry_length[e]);
        if (by_norm && norm[g] < 0) norm[g] = least_norm(static_cast<std::int64_t>(g));
        const double more =
            gain_(t, static_cast<double>(lists_.entry_count[e]),
                  static_cast<double>(lists_.entry_ratio[e]), L, by_norm ? norm[g] : 1.0);
        bound[g] = (bound[g] == -kInfinity ? 0.0 : bound[g]) + more;
        if (by_length) shortest[g] = std::min(shortest[g], L);
      }
    }
    if (by_length)
      for (std::size_t g = 0; g < n_blocks; ++g)
        if (bound[g] != -kInfinity) bound[g] -= weight_ * std::log1p(shortest[g] / q_.first);
    return bound;
  }

  double least_norm(std::int64_t g) const {
    float least = std::numeric_limits<float>::max();
    for (std::int64_t i = first(g); i < first(g) + size(g); ++i)
      if (lists_.norm[i] > 0) least = std::min(least, lists_.norm[i]);
    return static_cast<double>(least);
  }

  std::vector<double> mixed_bounds(std::size_t n_blocks) {
    std::vector<double> bound(n_blocks, 0.0), ratio(n_blocks);
    for (std::int64_t t = 0; t < q_.n_terms; ++t) {
      std::fill(ratio.begin(), ratio.end(), 0.0);
      for (std::int64_t e = list_[t].begin; e < list_[t].end; ++e) {
        check_extremes(e);
        double& most = ratio[static_cast<std::size_t>(lists_.entry_block[e])];
        most = std::max(most, static_cast<double>(lists_.entry_ratio[e]));
      }
      for (std::size_t g = 0; g < n_blocks; ++g) {
        if (g % 256 == 0) stop_point(256 * (lists_.K + 8));
        const auto* most = lists_.envelope + static_cast<std::int64_t>(g) * lists_.K;
        // A dot product in single precision may lie a little below that of a document.
        bound[g] += q_.weight[t] * std::log(ratio[g] + smooth(lists_, q_, most, t) * (1 + 1e-5));
      }
    }
    return bound;
  }

  void add_postings(std::int64_t g, std::int64_t t) {
    const std::int32_t *blocks = lists_.entry_block, *begin = blocks + list_[t].begin,
                       *end = blocks + list_[t].end;
    const std::int32_t* at = std::lower_bound(begin, end, static_cast<std::int32_t>(g));
    if (at == end || *at != g) return;
    const std::int64_t e = at - blocks;
    const std::int64_t from = lists_.entry_start[e], to = lists_.entry_start[e + 1];
    if (from < 0 || to < from || to > lists_.n_postings)
      bad("an entry does not lie in the postings");
    for (std::int64_t p = from; p < to; ++p) {
      const std::int64_t place = lists_.document[p] - first(g);
      if (place < 0 || place >= size(g)) bad("a posting is not of its block");
      const auto x = static_cast<double>(lists_.count[p]), L = length(first(g) + place);
      const auto norm = static_cast<double>(lists_.norm[first(g) + place]);
      if (!(x > 0 && x < kInfinity && L > 0 && norm > 0))
        bad("a posting's numbers must be positive");
      matches_[place] = true;
      if (mixed_)
        ratio_[static_cast<std::size_t>(place * q_.n_terms + t)] = x / L;
      else
        score_[place] += gain_(t, x, x / L, L, norm);
    }
  }

  void mix(std::int64_t g) {
    for (std::int64_t i = 0; i < size(g); ++i) {
      const float* shares = lists_.shares + (first(g) + i) * lists_.K;
      for (std::int64_t t = 0; t < q_.n_terms; ++t)
        score_[i] += q_.weight[t] * std::log(ratio_[static_cast<std::size_t>(i * q_.n_terms + t)] +
                                             smooth(lists_, q_, shares, t));
    }
  }

  const PostingLists& lists_;
  const Question& q_;
  Gain gain_;
  bool mixed_;
  double weight_ = 0;
  std::vector<List> list_;
  std::vector<double> ratio_;  // (documents of the block, terms)
  double score_[kMostInBlock] = {};
  bool matches_[kMostInBlock] = {};
};

bool better(const Found& a, const Found& b) {
  return a.score > b.score || (a.score == b.score && a.document < b.document);
}

// The n best so far; the worst of them is in front.
class Best {
 public:
  explicit Best(std::int64_t n) : n_(static_cast<std::size_t>(n)) {}

  // Whether none with a score of at most `bound` could come in; bounds are added up in another
  // order than scores are.
  bool is_above(double bound) const {
    if (heap_.size() < n_ || bound == kInfinity) return false;
    if (bound == -kInfinity) return heap_.front().score > bound;
    return bound + 1e-9 * (1 + std::abs(bound)) < heap_.front().score;
  }
  void offer(const Found& one) {
    if (heap_.size() < n_) {
      heap_.push_back(one);
      std::push_heap(heap_.begin(), heap_.end(), better);
    } else if (better(one, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.back() = one;
      std::push_heap(heap_.begin(), heap_.end(), better);
    }
  }
  std::vector<Found> take() {
    std::sort_heap(heap_.begin(), heap_.end(), better);
    return std::move(heap_);
  }

 private:
  std::size_t n_;
  std::vector<Found> heap_;
};

void check_score(double score) {
  if (std::isnan(score)) bad("a score is not a number");
}

}  // namespace

BestDocuments best_documents(const PostingLists& lists, const Question& question, std::int64_t n) {
  Search search(lists, question);
  const std::vector<double> bound = search.bounds();
  const bool mixed = question.kind == ScoreKind::mixture;
  std::vector<std::int32_t> order;  // a heap: most blocks are never asked for
  for (std::size_t g = 0; g < bound.size(); ++g) {
    check_score(bound[g]);
    if (mixed || bound[g] != -kInfinity) order.push_back(static_cast<std::int32_t>(g));
  }
  const auto below = [&](std::int32_t a, std::int32_t b) {
    const double x = bound[static_cast<std::size_t>(a)], y = bound[static_cast<std::size_t>(b)];
    return x < y || (x == y && a > b);
  };
  std::make_heap(order.begin(), order.end(), below);
  BestDocuments out;
  Best best(n);
  while (!order.empty()) {
    const std::int32_t g = order.front();
    if (best.is_above(bound[static_cast<std::size_t>(g)])) break;
    std::pop_heap(order.begin(), order.end(), below);
    order.pop_back();
    stop_point(lists.block * question.n_terms * (lists.K + 8));
    search.look_into(g);
    out.n_evaluated += search.size(g);
    for (std::int64_t i = 0; i < search.size(g); ++i) {
      if (!search.counts(i)) continue;
      check_score(search.score(i));
      best.offer({static_cast<std::int32_t>(search.first(g) + i), search.score(i)});
    }
  }
  out.found = best.take();
  return out;
}

void all_scores(const PostingLists& lists, const Question& question, double* score,
                std::uint8_t* matches) {
  Search search(lists, question);
  for (std::int64_t g = 0; g < lists.n_blocks(); ++g) {
    stop_point(lists.block * question.n_terms * (lists.K + 8));
    search.look_into(g);
    for (std::int64_t i = 0; i < search.size(g); ++i) {
      check_score(search.score(i));
      score[search.first(g) + i] = search.score(i);
      matches[search.first(g) + i] = search.matches(i) ? 1 : 0;
    }
  }
}

}  // namespace dcomp
