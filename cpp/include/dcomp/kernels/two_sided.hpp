// A collapsed Gibbs sweep between a reference and the posterior, for the evidence between two
// fences (reference/two_sided.py): it leaves q^(1-t) [g p(w | z)]^t as it is, q the independent
// tokens of the reference.
//
// Per token the weight of a component is a product of three rows that are kept up to date:
//   [l*_dk]^(1-t) [E(score_k | c)]^t  of the document,
//   [theta*_jk]^(1-t) (gamma_j + n_jk)^t  of the word, and  (gamma_g + N_gk)^-t  of its block.
// A token changes one number in each, whose power is looked up; no log, and no exp. Rows count the
// token itself: only its own component's weight differs without it, and comes first in the draw. So
// a token that stays where it is, as most do, writes nothing, and the next one need not wait.
#pragma once

#include "dcomp/kernels/lanes.hpp"
#include "dcomp/kernels/sample.hpp"
#include "dcomp/kernels/tree_means.hpp"
#include "dcomp/kernels/two_sided_pass.hpp"
#include "dcomp/kernels/uniforms.hpp"
#include "dcomp/rng.hpp"

namespace dcomp::DCOMP_ISA {

// Between the points of a curve a straight line: good to 2.4e-7 of the power.
[[gnu::always_inline]] inline float power_of(const PowerCurve& curve, float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const float* at = curve.mantissa + ((bits >> (23 - kCurveBits)) & (kCurvePoints - 1));
  const auto rest = static_cast<float>(bits & ((1U << (23 - kCurveBits)) - 1));
  return (at[0] + rest * (1.0F / (1U << (23 - kCurveBits))) * (at[1] - at[0])) *
         curve.exponent[bits >> 23];
}
[[gnu::always_inline]] inline float power_of(const PowerTable& of, std::int32_t count) {
  return count < of.size ? of.table[count] : power_of(*of.beyond, of.a + static_cast<float>(count));
}

// exp(t log_fit + (1 - t) log_reference), over the largest of them; 0 in the padding.
inline void mix_rows(const float* log_fit, const float* log_reference, std::int64_t padded, float t,
                     float* out) {
  Vec<float> top = broadcast<float>(-1e30F);
  for (std::int64_t k = 0; k < padded; k += kLanes<float>) {
    const Vec<float> x = t * load(log_fit + k) + (1 - t) * load(log_reference + k);
    store<float>(out + k, x);
    top = max<float>(top, x);
  }
  const float largest = largest_lane<float>(top);
  for (std::int64_t k = 0; k < padded; k += kLanes<float>) {
    const Vec<float> x = load(out + k) - largest;
    store<float>(out + k, x > -80.0F ? exp<float>(x) : Vec<float>{});
  }
}

// The document's row where E(score_k | c) = F_k (a_k + c_k), or less where c_k = 0.
class LinearRow {
 public:
  LinearRow(const TwoSidedPass& pass, const TwoSidedScratch& s) : pass_(pass), s_(s) {}

  void begin(std::int64_t i, std::int64_t length) {
    const auto t = static_cast<float>(pass_.t);
    const float *log_F = pass_.log_F + i * pass_.stride, *log_p0 = pass_.log_p0 + i * pass_.stride;
    // A token on its own leaves no component with words: then it is the absent ones that compare.
    for (std::int64_t k = 0; k < pass_.padded; ++k)
      s_.row[k] = log_F[k] + (length == 1 ? log_p0[k] : 0.0F);
    mix_rows(s_.row, pass_.log_scores + i * pass_.padded, pass_.padded, t, s_.base);
    for (std::int64_t k = 0; k < pass_.padded; k += kLanes<float>) {
      const Vec<float> x = length == 1 ? Vec<float>{} : t * load(log_p0 + k);
      store<float>(s_.absent + k, exp<float>(x > -80.0F ? x : broadcast<float>(-80.0F)));
    }
    c_ = pass_.c.row(i);
    for (std::int64_t k = 0; k < pass_.padded; ++k) s_.row[k] = 0;
    for (std::int64_t k = 0; k < pass_.K; ++k) set(k);
  }
  // The weight of k without one of its tokens, and of the others in row().
  [[gnu::always_inline]] float without(std::int64_t k) const { return weight(k, c_[k] - 1); }
  [[gnu::always_inline]] void stay(std::int64_t) const {}
  [[gnu::always_inline]] void move(std::int64_t from, std::int64_t to) {
    --c_[from], ++c_[to];
    set(from), set(to);
  }
  [[gnu::always_inline]] const float* row() const { return s_.row; }

 private:
  [[gnu::always_inline]] float weight(std::int64_t k, std::int32_t count) const {
    const float x = s_.base[k] * power_of(pass_.of_scores[k], count);
    return count > 0 ? x : x * s_.absent[k];
  }
  [[gnu::always_inline]] void set(std::int64_t k) { s_.row[k] = weight(k, c_[k]); }
  const TwoSidedPass& pass_;
  const TwoSidedScratch& s_;
  std::int32_t* c_ = nullptr;
};

// The same of a tree: a token changes the means of many nodes, and the row is worked out again.
class TreeRow {
 public:
  TreeRow(const TwoSidedPass& pass, const TwoSidedScratch& s)
      : pass_(pass), tree_(*pass.tree), s_(s) {}

  void begin(std::int64_t i, std::int64_t) {
    c_ = pass_.c.row(i);
    log_scores_ = pass_.log_scores + i * pass_.padded;
    subtree_totals(tree_, c_, s_.S);
  }
  float without(std::int64_t k) {
    change(k, -1);
    work_out();
    return s_.row[k];
  }
  void stay(std::int64_t k) { change(k, 1); }
  void move(std::int64_t, std::int64_t to) { change(to, 1); }
  const float* row() const { return s_.row; }

 private:
  void change(std::int64_t k, int by) {
    c_[k] += by;
    for (std::int64_t node = k; node >= 0; node = tree_.parent[node]) s_.S[node] += by;
  }
  void work_out() {
    tree_means(tree_, c_, s_.S, s_.reach);
    for (std::int64_t k = 0; k < tree_.K; ++k)
      s_.part[k] = static_cast<float>(s_.reach[k] > 1e-30 ? s_.reach[k] : 1e-30);
    for (std::int64_t k = tree_.K; k < pass_.padded; ++k) s_.part[k] = 1e-30F;
    for (std::int64_t k = 0; k < pass_.padded; k += kLanes<float>)
      store<float>(s_.base + k, log<float>(load(s_.part + k)));
    for (std::int64_t k = tree_.K; k < pass_.padded; ++k) s_.base[k] = -1e30F;
    mix_rows(s_.base, log_scores_, pass_.padded, static_cast<float>(pass_.t), s_.row);
  }
  const TwoSidedPass& pass_;
  const TreeView& tree_;
  const TwoSidedScratch& s_;
  std::int32_t* c_ = nullptr;
  const float* log_scores_ = nullptr;
};

// Weights of all components but a token's own: running sums by lane.
template <class V>
[[gnu::always_inline]] inline typename V::Floats weigh(const float* scores, const float* words,
                                                       const float* totals, std::int64_t K,
                                                       std::int32_t old, float* part) {
  typename V::Floats run{};
  typename V::Whole place = V::first_places();
#pragma GCC unroll 4
  for (std::int64_t k = 0; k < K; k += V::size, place += V::size) {
    const typename V::Floats w = V::load(scores + k) * V::load(words + k) * V::load(totals + k);
    run += place == old ? typename V::Floats{} : w;
    V::store(part + k, run);
  }
  return run;
}

// The sweep of all tokens, forward or backward.
template <class V, class Row>
class BetweenWalk {
 public:
  BetweenWalk(const TwoSidedPass& pass, Stream& rng, const TwoSidedScratch& s)
      : pass_(pass),
        s_(s),
        scores_(pass, s),
        uniforms_(&rng, s.uniforms),
        length_((pass.K + V::size - 1) / V::size * V::size),
        left_(per_look()) {}

  void document(std::int64_t i) {
    const std::int64_t begin = pass_.W.indptr[i], end = pass_.W.indptr[i + 1];
    const std::int64_t first = pass_.first_token[i], last = pass_.first_token[i + 1];
    if (first == last) return;
    scores_.begin(i, last - first);
    std::uint16_t* z = pass_.z + (pass_.backward ? last - 1 : first);
    for (std::int64_t e = begin; e < end; ++e) {
      const std::int64_t p = pass_.backward ? begin + end - 1 - e : e;
      for (std::int32_t copy = 0; copy < pass_.W.data[p]; ++copy, z += pass_.backward ? -1 : 1) {
        step(pass_.W.indices[p], z);
        if (--left_ == 0) look();
      }
    }
  }

 private:
  [[gnu::always_inline]] void step(std::int32_t j, std::uint16_t* z) {
    const std::int32_t g = pass_.block[j], old = *z;
    std::int32_t *n = pass_.n.row(j), *total = pass_.total.row(g);
    float *words = pass_.words.row(j), *totals = pass_.totals.row(g);
    const float* reference = pass_.reference.row(j);
    const PowerTable &of_words = pass_.of_words[j], &of_totals = pass_.of_totals[g];
    const float word = reference[old] * power_of(of_words, n[old] - 1);
    const float rest = power_of(of_totals, total[old] - 1);
    const float own = scores_.without(old) * word * rest;
    const typename V::Floats run = weigh<V>(scores_.row(), words, totals, length_, old, s_.part);
    const typename V::Floats up_to = V::running_sum(run);
    const float u = uniforms_.next() * (V::last(up_to) + own) - own;
    if (!(u >= 0 && V::last(up_to) > 0)) return scores_.stay(old);
    const std::int64_t k = place(run, up_to, u);
    scores_.move(old, k);
    --n[old], --total[old], ++n[k], ++total[k];
    words[old] = word, totals[old] = rest;
    words[k] = reference[k] * power_of(of_words, n[k]);
    totals[k] = power_of(of_totals, total[k]);
    *z = static_cast<std::uint16_t>(k);
  }

  [[gnu::always_inline]] std::int64_t place(typename V::Floats run, typename V::Floats up_to,
                                            float u) const {
    const std::int64_t k = V::place(s_.part, length_, run, up_to, u);
    return s_.part[k] > (k < V::size ? 0.0F : s_.part[k - V::size]) ? k : last_of_weight();
  }
  // Where rounding led a draw to a component of no weight: the last that has some.
  [[gnu::noinline]] std::int64_t last_of_weight() const {
    std::int64_t k = length_ - 1;
    while (k > 0 && !(s_.part[k] > (k < V::size ? 0.0F : s_.part[k - V::size]))) --k;
    return k;
  }
  [[gnu::noinline]] void look() {
    stop_point();
    left_ = per_look();
  }
  std::int64_t per_look() const { return kMuchWork / length_ > 1 ? kMuchWork / length_ : 1; }

  const TwoSidedPass& pass_;
  const TwoSidedScratch& s_;
  Row scores_;
  Uniforms uniforms_;
  std::int64_t length_, left_;
};

template <class V, class Row>
inline void sweep_between(const TwoSidedPass& pass, Stream& rng, const TwoSidedScratch& s) {
  BetweenWalk<V, Row> walk(pass, rng, s);
  for (std::int64_t at = 0; at < pass.W.n_docs; ++at)
    walk.document(pass.backward ? pass.W.n_docs - 1 - at : at);
}

inline void two_sided_sweep(const TwoSidedPass& pass, Stream& rng, const TwoSidedScratch& s) {
  const bool few = pass.K <= 4 * Narrow::size;
  if (pass.tree != nullptr)
    return few ? sweep_between<Narrow, TreeRow>(pass, rng, s)
               : sweep_between<Wide, TreeRow>(pass, rng, s);
  return few ? sweep_between<Narrow, LinearRow>(pass, rng, s)
             : sweep_between<Wide, LinearRow>(pass, rng, s);
}

}  // namespace dcomp::DCOMP_ISA
