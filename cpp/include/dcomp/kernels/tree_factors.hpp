// What a document's subtree totals say about every node, for one token of it: the factors F of
// kernels/collapse_tree.hpp.
//
// Each internal node's ratios come from its own S and c alone; the products along the paths are
// found level by level, every node reading its parent's. Up to four vectors of internal nodes stay
// in registers, where a node finds its parent by a permutation; more of them go through memory.
#pragma once

#include "dcomp/kernels/lanes.hpp"
#include "dcomp/kernels/tree_weights.hpp"

namespace dcomp::DCOMP_ISA {

// Below this no path matters, and a deep tree would come to numbers that float32 cannot hold.
inline constexpr float kReachFloor = 1e-25F;

template <class V>
using Ints = typename V::Types::Counts32;
template <class V>
[[gnu::always_inline]] inline Ints<V> load_ints(const std::int32_t* p) {
  return *reinterpret_cast<const Ints<V>*>(p);
}

// The ratios of V::size internal nodes without the token at `old`: going on to the children, per
// unit of a child's b + S; stopping, per unit of a1 + c; and being reached, b + S itself.
template <class V>
struct NodeRatios {
  typename V::Floats go, stop, up;
};
template <class V, class Count>
[[gnu::always_inline]] inline NodeRatios<V> node_ratios(const TreeWeights& tree, const Count* c,
                                                        const std::int32_t* S, std::int64_t old,
                                                        std::int64_t h,
                                                        const typename V::Floats& id) {
  using Floats = typename V::Floats;
  const std::int32_t* path = tree.path + old * tree.padded;
  const Floats s = __builtin_convertvector(load_ints<V>(S + h) - load_ints<V>(path + h), Floats);
  const Floats self = id == static_cast<float>(old - h) ? 1 - Floats{} : Floats{};
  const Floats D = s - (V::load_counts(c + h) - self);
  const Floats among = V::load(tree.b_total + h) + D;
  const Floats inverse = 1 / ((V::load(tree.a12 + h) + s) * among);
  return {(V::load(tree.a2 + h) + D) * inverse, among * inverse, V::load(tree.b + h) + s};
}

// table[index[q]] in lane q, of NH vectors.
template <class V, int NH>
[[gnu::always_inline]] inline typename V::Floats look_up(const typename V::Floats* table,
                                                         Ints<V> index) {
  using Floats = typename V::Floats;
#if defined(__AVX512F__)
  const auto at = reinterpret_cast<__m512i>(index);
  const auto vector = [&](int q) { return reinterpret_cast<__m512>(table[q]); };
  if constexpr (NH == 1) return reinterpret_cast<Floats>(_mm512_permutexvar_ps(at, vector(0)));
  const auto low = reinterpret_cast<Floats>(_mm512_permutex2var_ps(vector(0), at, vector(1)));
  if constexpr (NH == 2) return low;
  if constexpr (NH == 3) {
    const auto last = reinterpret_cast<Floats>(_mm512_permutexvar_ps(at, vector(2)));
    return index < 2 * V::size ? low : last;
  }
  const auto high =
      reinterpret_cast<Floats>(_mm512_permutex2var_ps(vector(NH - 2), at, vector(NH - 1)));
  return index < 2 * V::size ? low : high;
#elif defined(__AVX2__)
  const auto at = reinterpret_cast<__m256i>(index);
  Floats out{};
  for (int q = 0; q < NH; ++q) {
    const auto found =
        reinterpret_cast<Floats>(_mm256_permutevar8x32_ps(reinterpret_cast<__m256>(table[q]), at));
    out = q == 0 ? found : index < q * V::size ? out : found;
  }
  return out;
#else
  Floats out{};
  for (int q = 0; q < V::size; ++q) out[q] = table[index[q] / V::size][index[q] % V::size];
  return out;
#endif
}

// F of a row, NH vectors of internal nodes in registers.
template <class V, int NH>
class TreeFactors {
  using Floats = typename V::Floats;

 public:
  TreeFactors(const TreeWeights& tree, float*) : tree_(tree) {
    for (int q = 0; q < V::size; ++q) id_[q] = static_cast<float>(q);
  }

  template <class Count>
  [[gnu::always_inline]] void measure(const Count* c, const std::int32_t* S, std::int64_t old) {
    NodeRatios<V> ratios[NH];
    Floats reach[NH];
    for (int v = 0; v < NH; ++v) {
      ratios[v] = node_ratios<V>(tree_, c, S, old, v * V::size, id_);
      G_[v] = ratios[v].go;
      reach[v] = 1 - Floats{};
    }
    for (std::int64_t level = 0; level < tree_.levels; ++level) {
      for (int v = 0; v < NH; ++v) {
        const Floats above = look_up<V, NH>(G_, load_ints<V>(tree_.above + v * V::size));
        const Floats x = above * ratios[v].up;
        const Floats floored = x > kReachFloor ? x : kReachFloor - Floats{};
        // The root is reached for sure.
        reach[v] = V::load(tree_.root + v * V::size) > 0 ? 1 - Floats{} : floored;
      }
      for (int v = 0; v < NH; ++v) G_[v] = reach[v] * ratios[v].go;
    }
    for (int v = 0; v < NH; ++v) self_[v] = reach[v] * ratios[v].stop;
  }
  [[gnu::always_inline]] void settle() {}

  // For the vectors of internal nodes, and for those of leaves.
  [[gnu::always_inline]] Floats inner(std::int64_t h) const { return self_[h / V::size]; }
  [[gnu::always_inline]] Floats leaves(std::int64_t k) const {
    return look_up<V, NH>(G_, load_ints<V>(tree_.above + k));
  }
  [[gnu::always_inline]] float at(std::int64_t k) const {
    const Floats* of = k < tree_.padded ? self_ : G_;
    const std::int64_t slot = k < tree_.padded ? k : tree_.above[k];
    return reinterpret_cast<const float*>(of)[slot];
  }

 private:
  const TreeWeights& tree_;
  Floats G_[NH]{}, self_[NH]{}, id_{};
};

// The same for any number of internal nodes, through memory: a row of F, and G before it.
template <class V>
class TreeFactors<V, 0> {
  using Floats = typename V::Floats;

 public:
  TreeFactors(const TreeWeights& tree, float* room)
      : tree_(tree),
        G_(room),
        go_(room + tree.padded + kTreeSpare),
        stop_(go_ + tree.padded + kTreeSpare),
        up_(stop_ + tree.padded + kTreeSpare),
        F_(up_ + tree.padded + kTreeSpare) {
    for (int q = 0; q < V::size; ++q) id_[q] = static_cast<float>(q);
  }

  template <class Count>
  [[gnu::always_inline]] void measure(const Count* c, const std::int32_t* S, std::int64_t old) {
    if (tree_.H == 0) {  // a root alone has the score 1
      F_[0] = 1 / (tree_.a[0] + static_cast<float>(c[0]) - 1);
      return;
    }
    for (std::int64_t h = 0; h < tree_.padded; h += V::size) {
      const NodeRatios<V> ratios = node_ratios<V>(tree_, c, S, old, h, id_);
      V::store(go_ + h, ratios.go);
      V::store(stop_ + h, ratios.stop);
      V::store(up_ + h, ratios.up);
    }
  }
  // From the root down. A store may write past its run: what stands there comes later and is
  // written over.
  [[gnu::always_inline]] void settle() {
    if (tree_.H == 0) return;
    G_[0] = go_[0];
    F_[0] = stop_[0];
    for (const TreeRun* run = tree_.runs; run != tree_.last_run; ++run) {
      const Floats above = G_[run->parent] - Floats{};
      for (std::int64_t h = run->first; h < run->last; h += V::size) {
        const Floats x = above * V::load(up_ + h);
        const Floats reach = x > kReachFloor ? x : kReachFloor - Floats{};
        V::store(F_ + h, reach * V::load(stop_ + h));
        V::store(G_ + h, reach * V::load(go_ + h));
      }
    }
    for (const TreeRun* run = tree_.leaf_runs; run != tree_.last_leaf_run; ++run) {
      const Floats above = G_[run->parent] - Floats{};
      for (std::int64_t k = run->first; k < run->last; k += V::size) V::store(F_ + k, above);
    }
  }

  [[gnu::always_inline]] Floats inner(std::int64_t h) const { return V::load(F_ + h); }
  [[gnu::always_inline]] Floats leaves(std::int64_t k) const { return V::load(F_ + k); }
  [[gnu::always_inline]] float at(std::int64_t k) const { return F_[k]; }

 private:
  const TreeWeights& tree_;
  float *G_, *go_, *stop_, *up_, *F_;
  Floats id_{};
};

}  // namespace dcomp::DCOMP_ISA
