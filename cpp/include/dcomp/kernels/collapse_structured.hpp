// Collapsed Gibbs sampling of a token's leaf c and node h: B09 (7), (8), (9) and 5.3.
//
// The weight of an allowed pair is
//   s_c  (gamma_j + W_hj) / (Gamma + W_h)  u_ch,
// with all counts without the token; s_c is the score's predictive ratio (kernels/collapse.hpp) and
//   fixed                u_ch = upsilon_ch
//   shared, document     u_ch = (psi_ch + D_ch) / (sum_h psi_ch + D_c), D of the corpus or document
//   phi, document_phi    u_ch = f_h prod over h' above h of (1 - f_h'),
//                        f_h = (psi_h0 + N_h) / (psi_h0 + psi_h1 + N_h + M_h), 1 at leaves.
// In the last two u_ch knows h alone: so h is drawn first, with s summed over the leaves below it,
// and then the way down to a leaf by s (B09 5.1). Their sums are p(word | all the rest).
#pragma once

#include "dcomp/kernels/collapse.hpp"
#include "dcomp/kernels/structured_pass.hpp"
#include "dcomp/kernels/tree_factors.hpp"

namespace dcomp::DCOMP_ISA {

template <class V>
[[gnu::always_inline]] inline typename V::Floats gather(const float* table,
                                                        const std::int32_t* index) {
#if defined(__AVX512F__)
  if constexpr (V::size == 16)
    return reinterpret_cast<typename V::Floats>(
        _mm512_i32gather_ps(_mm512_loadu_si512(index), table, 4));
#endif
#if defined(__AVX2__)
  if constexpr (V::size == 8)
    return reinterpret_cast<typename V::Floats>(
        _mm256_i32gather_ps(table, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(index)), 4));
#endif
  typename V::Floats out{};
  for (int q = 0; q < V::size; ++q) out[q] = table[index[q]];
  return out;
}

// table[index[q]] in lane q, of a single vector.
#if defined(__AVX512F__)
inline constexpr bool kCanPermute = true;
[[gnu::always_inline]] inline Wide::Floats permute(Wide::Floats table, Ints<Wide> index) {
  return reinterpret_cast<Wide::Floats>(
      _mm512_permutexvar_ps(reinterpret_cast<__m512i>(index), reinterpret_cast<__m512>(table)));
}
#elif defined(__AVX2__)
inline constexpr bool kCanPermute = true;
[[gnu::always_inline]] inline Wide::Floats permute(Wide::Floats table, Ints<Wide> index) {
  return reinterpret_cast<Wide::Floats>(
      _mm256_permutevar8x32_ps(reinterpret_cast<__m256>(table), reinterpret_cast<__m256i>(index)));
}
#else
inline constexpr bool kCanPermute = false;
[[gnu::always_inline]] inline Wide::Floats permute(Wide::Floats table, Ints<Wide>) { return table; }
#endif

template <RowKind kind>
class StructuredWalk {
  using V = Wide;
  using Floats = typename V::Floats;
  // Of a path: a deep tree would leave the numbers that float32 has.
  [[gnu::always_inline]] static float at_least(float x) { return x > 1e-25F ? x : 1e-25F; }

 public:
  explicit StructuredWalk(StructuredCell& cell)
      : cell_(cell),
        pass_(cell.pass),
        at_(*cell.pass.structure),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        phi_(cell.scratch.phi),
        score_(cell.scratch.score),
        per_(cell.scratch.per),
        go_(cell.scratch.go),
        part_(cell.scratch.part) {}

  void walk() {
    for (const TokenCells::Run* run = cell_.first; run != cell_.last; ++run) {
      // Documents on their own have short runs, and their stop points outside.
      if (pass_.Theta == nullptr) stop_point((run->end - run->begin) * at_.padded_nodes);
      begin_run(*run);
      for (std::int64_t t = run->begin; t < run->end; ++t) {
        if (t + kAhead < cell_.last[-1].end) fetch(t + kAhead);
        document_ = pass_.document[t];
        const std::int32_t old = pass_.code[t];
        move(old, -1);
        const std::int32_t drawn = draw(old);
        move(drawn, 1);
        pass_.code[t] = drawn;
      }
    }
    cell_.log_words = log_words_.log_sum();
  }

 private:
  std::int32_t* leaves() const { return pass_.C + document_ * at_.padded_leaves; }
  std::int32_t* rows() const { return pass_.S + document_ * pass_.stride; }

  // Asks for the rows of a document that will be wanted soon.
  [[gnu::always_inline]] void fetch(std::int64_t t) const {
    const std::int64_t i = pass_.document[t];
    prefetch_row(pass_.C + i * at_.padded_leaves, at_.padded_leaves);
    if constexpr (is_per_document(kind)) prefetch_row(pass_.S + i * pass_.stride, pass_.stride);
  }

  void begin_run(const TokenCells::Run& run) {
    if (&run + kRunsAhead < cell_.last && pass_.Theta == nullptr)
      prefetch_row(pass_.n + (&run)[kRunsAhead].feature * at_.padded_nodes, at_.padded_nodes);
    const std::int64_t j = run.feature, g = pass_.block[j];
    if (pass_.Theta != nullptr) {
      for (std::int64_t h = 0; h < at_.padded_nodes; h += V::size)
        V::store(phi_ + h, V::load(pass_.Theta + j * at_.padded_nodes + h));
      return;
    }
    n_ = pass_.n + j * at_.padded_nodes;
    total_ = pass_.total + g * at_.padded_nodes;
    gamma_ = static_cast<float>(pass_.gamma[j]);
    gamma_total_ = static_cast<float>(pass_.gamma_total[g]);
    for (std::int64_t h = 0; h < at_.padded_nodes; h += V::size)
      V::store(phi_ + h,
               (gamma_ + V::load_counts(n_ + h)) / (gamma_total_ + V::load_counts(total_ + h)));
    for (std::int64_t h = at_.H; h < at_.padded_nodes; ++h) phi_[h] = 0;
  }

  // Puts a token of this pair into all counts, or takes it out of them.
  [[gnu::always_inline]] void move(std::int32_t code, std::int32_t by) {
    const std::int64_t c = at_.leaf[code], h = at_.node[code];
    leaves()[c] += by;
    std::int32_t* S = rows();
    if constexpr (is_stick(kind)) {
      S[h] += by;
      for (std::int64_t above = at_.parent[h]; above != at_.padded_nodes; above = at_.parent[above])
        S[at_.padded_nodes + above] += by;
    } else if constexpr (kind != RowKind::fixed) {
      S[code] += by;
      if constexpr (kind == RowKind::shared) S[at_.n_codes + c] += by;
    }
    if (pass_.Theta != nullptr) return;
    n_[h] += by, total_[h] += by;
    phi_[h] = (gamma_ + static_cast<float>(n_[h])) / (gamma_total_ + static_cast<float>(total_[h]));
  }

  // s of all leaves; returns their sum.
  [[gnu::always_inline]] float weigh_leaves() {
    const std::int64_t row = document_ * pass_.scores.stride;
    const ScoreWeights own{pass_.scores.a0 + row, pass_.scores.a + row, pass_.scores.F + row, 0};
    const std::int32_t* C = leaves();
    Floats sum{};
    for (std::int64_t c = 0; c < at_.padded_leaves; c += V::size) {
      const Floats s = scores_of<V, false>(own, c, V::load_counts(C + c));
      V::store(score_ + c, s);
      sum += s;
    }
    return V::last(V::running_sum(sum));
  }

  [[gnu::always_inline]] std::int32_t draw(std::int32_t old) {
    const float all = weigh_leaves();
    const bool few = kCanPermute && is_stick(kind) && at_.H - at_.K <= V::size;
    const std::int64_t length = !is_stick(kind) ? weigh_pairs()
                                : few           ? weigh_few_nodes()
                                                : weigh_nodes();
    const Floats up_to = V::running_sum(run_);
    const float weight = V::last(up_to);
    if (!(weight > 0)) return old;  // nowhere to go: no score can hold a word
    log_words_.times(static_cast<double>(weight / all));
    const std::int64_t place = V::place(part_, length, run_, up_to, uniforms_.next() * weight);
    const std::int64_t found = has_weight(place, length) ? place : place_of_weight(length);
    if (!is_stick(kind)) return static_cast<std::int32_t>(found);
    const bool behind = few && found >= at_.padded_leaves;  // where few internal nodes are
    const std::int64_t h = behind ? found - at_.padded_leaves + at_.K : found;
    return at_.code[leaf_below(h) * at_.H + h];
  }

  // Every pair layer by layer, running sums in part_; returns how many places there are.
  [[gnu::always_inline]] std::int64_t weigh_pairs() {
    const std::int32_t* S = rows();
    const std::int64_t width = at_.padded_leaves, n_codes = at_.n_codes;
    float* score = score_;
    if constexpr (kind != RowKind::fixed) {
      const std::int32_t* of_leaf = kind == RowKind::shared ? S + n_codes : leaves();
      const float* total = pass_.rows.leaf_total;
      for (std::int64_t c = 0; c < width; c += V::size)
        V::store(score + c,
                 V::load(score + c) / (V::load(total + c) + V::load_counts(of_leaf + c)));
    }
    Floats run{};
    const float *pair = pass_.rows.pair, *phi = phi_;
    float* part = part_;
    const auto add = [&](std::int64_t layer, const auto& words) __attribute__((always_inline)) {
      for (std::int64_t c = 0; c < width; c += V::size) {
        Floats u = V::load(pair + layer + c);
        if constexpr (kind != RowKind::fixed) u += V::load_counts(S + layer + c);
        run += u * V::load(score + c) * words(layer + c, c);
        V::store(part + layer + c, run);
      }
    };
    std::int64_t layer = 0;
    if (at_.own_first) {  // node c itself, whose words need no looking up
      add(0, [&](std::int64_t, std::int64_t c) { return V::load(phi + c); });
      layer = width;
    }
    const std::int32_t* node = at_.node;
    if (kCanPermute && at_.own_first && at_.H - at_.K <= V::size) {
      const Floats inner = V::load(phi + at_.K);  // there is room behind the nodes
      for (; layer < n_codes; layer += width)
        add(layer, [&](std::int64_t code, std::int64_t) {
          return permute(inner, load_ints<V>(node + code) - static_cast<std::int32_t>(at_.K));
        });
    }
    for (; layer < n_codes; layer += width)
      add(layer, [&](std::int64_t code, std::int64_t) { return gather<V>(phi, node + code); });
    run_ = run;
    return n_codes;
  }

  // Every node with the scores of all leaves below it.
  [[gnu::always_inline]] std::int64_t weigh_nodes() {
    const std::int32_t *N = rows(), *M = N + at_.padded_nodes;
    const std::int32_t *inner = at_.inner, *parent = at_.parent;
    const float *to_stop = pass_.rows.stop, *to_go = pass_.rows.go, *phi = phi_;
    float *score = score_, *per = per_, *go = go_, *part = part_;
    const std::int64_t n_inner = at_.H - at_.K;
    for (std::int64_t q = n_inner - 1; q >= 0; --q) {
      const std::int32_t h = inner[q];
      float sum = 0;
      for (std::int32_t at = at_.child_start[h]; at < at_.child_start[h + 1]; ++at)
        sum += score[at_.child[at]];
      score[h] = sum;
    }
    // go[h]: the probability of coming to h and going on below; 1 at the place above all.
    go[at_.padded_nodes] = 1;
    for (std::int64_t q = 0; q < n_inner; ++q) {
      const std::int32_t h = inner[q];
      const float stops = to_stop[h] + static_cast<float>(N[h]);
      const float goes = to_go[h] + static_cast<float>(M[h]);
      const float reach = go[parent[h]] / (stops + goes);
      per[h] = at_least(reach * stops);
      go[h] = at_least(reach * goes);
    }
    for (std::int64_t c = 0; c < at_.K; ++c) per[c] = go[parent[c]];
    Floats run{};
    for (std::int64_t h = 0; h < at_.padded_nodes; h += V::size) {
      run += V::load(score + h) * V::load(per + h) * V::load(phi + h);
      V::store(part + h, run);
    }
    run_ = run;
    return at_.padded_nodes;
  }

  // The same where a vector holds all internal nodes: leaves first, then those in a vector of
  // their own. What lies above a node is found by a permutation for every level.
  [[gnu::always_inline]] std::int64_t weigh_few_nodes() {
    const std::int64_t K = at_.K, width = at_.padded_leaves;
    const std::int32_t *N = rows() + K, *M = N + at_.padded_nodes;
    const float *phi = phi_, *score = score_, *below = at_.below;
    float* part = part_;
    Floats sums[4]{};
    for (std::int64_t c = 0; c < width; c += 4)  // padded leaves have no score, and no row either
      for (int q = 0; q < 4; ++q) sums[q] += score[c + q] * V::load(below + (c + q) * V::size);
    const Floats inner = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    const Floats stop = V::load(pass_.rows.stop + K) + V::load_counts(N);
    const Floats go = V::load(pass_.rows.go + K) + V::load_counts(M);
    const Floats each = 1 / (stop + go), top = V::load(at_.is_top + K);
    const Ints<V> above = load_ints<V>(at_.slot_above + K);
    Floats reach = 1 - Floats{};
    for (std::int64_t level = 1; level < at_.levels; ++level)
      reach = top > 0 ? 1 - Floats{} : permute(reach * go * each, above);
    const Floats on = reach * go * each, floor = at_least(0) - Floats{};
    const Floats passed = on > floor ? on : floor, stays = reach * stop * each;
    Floats run{};
    for (std::int64_t c = 0; c < width; c += V::size) {
      const Floats from = permute(passed, load_ints<V>(at_.slot_above + c));
      const Floats per = V::load(at_.is_top + c) > 0 ? 1 - Floats{} : from;
      run += V::load(score + c) * per * V::load(phi + c);
      V::store(part + c, run);
    }
    run += inner * (stays > floor ? stays : floor) * V::load(phi + K);
    V::store(part + width, run);
    V::store(score_ + K, inner);
    run_ = run;
    return width + V::size;
  }

  // A leaf below h in proportion to the scores.
  [[gnu::always_inline]] std::int64_t leaf_below(std::int64_t h) {
    if (h < at_.K) return h;
    float u = uniforms_.next() * score_[h];
    while (h >= at_.K) {
      std::int64_t chosen = -1;
      for (std::int32_t at = at_.child_start[h]; at < at_.child_start[h + 1]; ++at) {
        const float s = score_[at_.child[at]];
        if (!(s > 0)) continue;
        chosen = at_.child[at];
        if (u < s) break;
        u -= s;
      }
      h = chosen;
    }
    return h;
  }

  // The weight of a place: part_ has running sums by lane.
  [[gnu::always_inline]] bool has_weight(std::int64_t place, std::int64_t length) const {
    if (place >= length) return false;
    return part_[place] > (place < V::size ? 0.0F : part_[place - V::size]);
  }
  // Where rounding led a draw to a place of no weight: the last that has some.
  [[gnu::noinline]] std::int64_t place_of_weight(std::int64_t length) const {
    std::int64_t place = length - 1;
    while (place > 0 && !has_weight(place, length)) --place;
    return place;
  }

  StructuredCell& cell_;
  const StructuredPass& pass_;
  const StructureView at_;
  Uniforms uniforms_;
  LogProduct log_words_;
  float *phi_, *score_, *per_, *go_, *part_;
  std::int64_t document_ = 0;
  std::int32_t *n_ = nullptr, *total_ = nullptr;
  float gamma_ = 0, gamma_total_ = 0;
  Floats run_{};
};

template <RowKind kind>
inline void collapse_structured(StructuredCell& cell) {
  StructuredWalk<kind>(cell).walk();
}

}  // namespace dcomp::DCOMP_ISA
