// log of an unbiased estimate of p(w | Theta) of one document, scores integrated out: a particle
// filter from left to right (reference/left_to_right.py says what and why).
//
// A particle is the components z of the tokens so far with their counts c. Per token: weigh each
// particle by sum_k theta_k E[score_k | c], resample where the weights have become uneven, draw the
// token's component, and move earlier tokens by Gibbs steps.
#pragma once

#include "dcomp/kernels/left_to_right_pass.hpp"
#include "dcomp/kernels/sample.hpp"
#include "dcomp/kernels/tree_means.hpp"
#include "dcomp/rng.hpp"

namespace dcomp::DCOMP_ISA {

// E[score_k | c] of a particle but for what no component changes. A linear predictive: one number
// follows a count.
class LinearWeights {
 public:
  LinearWeights(const LeftToRightPass& pass, std::int64_t i, const LeftToRightScratch&)
      : a0_(pass.scores.a0 + i * pass.scores.stride),
        a_(pass.scores.a + i * pass.scores.stride),
        F_(pass.scores.F + i * pass.scores.stride) {}
  // The weights of a first token are over their largest; from the second on they are not.
  void begin(const std::int32_t* c, std::int64_t K, float* s) const {
    for (std::int64_t k = 0; k < K; ++k) follow(c, k, s);
  }
  [[gnu::always_inline]] void follow(const std::int32_t* c, std::int64_t k, float* s) const {
    s[k] = F_[k] * (c[k] > 0 ? a_[k] + static_cast<float>(c[k]) : a0_[k]);
  }

 private:
  const float *a0_, *a_, *F_;
};

// A tree: a count changes the means of many nodes, and all are worked out again.
class TreeMeans {
 public:
  TreeMeans(const LeftToRightPass& pass, std::int64_t, const LeftToRightScratch& scratch)
      : tree_(*pass.tree), S_(scratch.S), mean_(scratch.mean) {}
  void begin(const std::int32_t*, std::int64_t, float*) const {}
  void follow(const std::int32_t* c, std::int64_t, float* s) const {
    subtree_totals(tree_, c, S_);
    tree_means(tree_, c, S_, mean_);
    for (std::int64_t k = 0; k < tree_.K; ++k) s[k] = static_cast<float>(mean_[k]);
  }

 private:
  const TreeView& tree_;
  double *S_, *mean_;
};

template <class Scores>
class Particles {
 public:
  Particles(const LeftToRightPass& pass, std::int64_t i, std::int64_t length,
            const LeftToRightScratch& scratch)
      : K_(pass.K),
        padded_(pass.Theta.stride),
        length_(length),
        R_(pass.n_particles),
        Theta_(pass.Theta),
        scores_(pass, i, scratch),
        rng_(pass.seed, Purpose::left_to_right, pass.run,
             static_cast<std::uint64_t>(pass.W.first + i)),
        m_(scratch) {
    for (int r = 0; r < R_; ++r) {
      m_.weight[r] = 1.0 / R_;
      for (std::int64_t k = 0; k < K_; ++k) m_.c[r * K_ + k] = 0;
      const float* first = pass.first + i * pass.scores.stride;
      for (std::int64_t k = 0; k < padded_; ++k) m_.s[r * padded_ + k] = first[k];
    }
  }

  // Z_n / Z_(n-1), and the weights with it.
  double weigh(std::int64_t t) {
    const float* theta = Theta_.row(m_.word[t]);
    double total = 0;
    for (int r = 0; r < R_; ++r) {
      m_.mass[r] = running_sums(r, theta, m_.part + r * padded_);
      total += m_.weight[r] * m_.mass[r];
    }
    double square = 0;
    for (int r = 0; r < R_; ++r) {
      m_.weight[r] *= m_.mass[r] / total;
      square += m_.weight[r] * m_.weight[r];
    }
    effective_ = 1 / square;
    return total;
  }

  // Systematic resampling when fewer than half of the particles count. A parent's first child stays
  // in the parent's place, so that nothing is copied but what is doubled.
  void resample(std::int64_t t) {
    if (effective_ >= 0.5 * R_) return;
    const double first = rng_.uniform();
    double up_to = 0;
    int children = 0;
    for (int r = 0; r < R_; ++r) m_.parent[r] = -1;
    int spare = 0;  // of the children that have no place yet, by parent in m_.mass
    for (int r = 0; r < R_; ++r) {
      up_to += m_.weight[r] * R_;
      int mine = 0;
      while (children < R_ && (first + children < up_to || r == R_ - 1)) ++children, ++mine;
      if (mine > 0) m_.parent[r] = r;
      m_.mass[r] = mine > 1 ? mine - 1 : 0;
    }
    for (int r = 0; r < R_; ++r) {
      m_.weight[r] = 1.0 / R_;
      if (m_.parent[r] >= 0) continue;
      while (!(m_.mass[spare] > 0)) ++spare;
      m_.mass[spare] -= 1;
      copy(spare, r, t);
    }
  }

  // The component of token t given the earlier ones.
  void give(std::int64_t t) {
    for (int r = 0; r < R_; ++r) {
      if (t == 0) scores_.begin(m_.c + r * K_, K_, m_.s + r * padded_);
      add(r, t, draw(m_.part + r * padded_));
    }
  }

  // A Gibbs step of particle r at token t.
  void move(int r, std::int64_t t) {
    const std::uint16_t old = m_.z[r * length_ + t];
    change(r, old, -1);
    running_sums(r, Theta_.row(m_.word[t]), m_.moving);
    add(r, t, draw(m_.moving));
  }

  // Every token so far once, or where they are more than `most`, so many of them at random.
  void move_all(std::int64_t t, int most) {
    const std::int64_t steps = t < most ? t + 1 : most;
    for (int r = 0; r < R_; ++r)
      for (std::int64_t step = 0; step < steps; ++step) move(r, steps <= t ? below(t + 1) : step);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(rng_.uniform() * static_cast<double>(n));
  }

  double running_sums(int r, const float* theta, float* part) const {
    Vec<float> run{};
    const float* s = m_.s + r * padded_;
    for (std::int64_t k = 0; k < padded_; k += kLanes<float>) {
      run += load(s + k) * load(theta + k);
      store<float>(part + k, run);
    }
    return static_cast<double>(sum<float>(run));
  }

  std::int64_t draw(const float* part) {
    float total = 0;
    const float* last = part + padded_ - kLanes<float>;
    for (int lane = 0; lane < kLanes<float>; ++lane) total += last[lane];
    return place_of_draw(part, padded_, static_cast<float>(rng_.uniform32()) * total);
  }

  void change(int r, std::int64_t k, std::int32_t by) {
    m_.c[r * K_ + k] += by;
    scores_.follow(m_.c + r * K_, k, m_.s + r * padded_);
  }

  void add(int r, std::int64_t t, std::int64_t k) {
    m_.z[r * length_ + t] = static_cast<std::uint16_t>(k);
    change(r, k, 1);
  }

  void copy(int from, int to, std::int64_t t) {
    for (std::int64_t k = 0; k < padded_; ++k) {
      m_.s[to * padded_ + k] = m_.s[from * padded_ + k];
      m_.part[to * padded_ + k] = m_.part[from * padded_ + k];
    }
    for (std::int64_t k = 0; k < K_; ++k) m_.c[to * K_ + k] = m_.c[from * K_ + k];
    for (std::int64_t at = 0; at < t; ++at) m_.z[to * length_ + at] = m_.z[from * length_ + at];
  }

  std::int64_t K_, padded_, length_;
  int R_;
  Rows<const float> Theta_;
  Scores scores_;
  Stream rng_;
  LeftToRightScratch m_;
  double effective_ = 0;
};

template <class Scores>
inline double walk_document(const LeftToRightPass& pass, std::int64_t i, std::int64_t length,
                            const LeftToRightScratch& scratch) {
  Particles<Scores> particles(pass, i, length, scratch);
  double value = length > 0 ? pass.log_first[pass.scores.stride > 0 ? i : 0] : 0;
  for (std::int64_t t = 0; t < length; ++t) {
    stop_point(pass.n_particles * (1 + pass.n_moves) * pass.Theta.stride);
    const double ratio = particles.weigh(t);
    if (!(ratio > 0)) return -HUGE_VAL;  // a word that no component has, as far as floats can tell
    value += std::log(ratio) + pass.log_scale[scratch.word[t]];
    if (pass.normalised) value -= std::log(pass.sum_shapes[i] + static_cast<double>(t));
    particles.resample(t);
    particles.give(t);
    particles.move_all(t, pass.n_moves);
  }
  return value;
}

// scratch.word holds the document's tokens. Without log g(0), which no word changes.
inline double left_to_right_document(const LeftToRightPass& pass, std::int64_t i,
                                     std::int64_t length, const LeftToRightScratch& scratch) {
  return pass.tree != nullptr ? walk_document<TreeMeans>(pass, i, length, scratch)
                              : walk_document<LinearWeights>(pass, i, length, scratch);
}

}  // namespace dcomp::DCOMP_ISA
