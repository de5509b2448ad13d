// Components of a document switched off and on, with the loadings and the other scores given and
// the allocation summed out (MODELS.md section 12).
//
// A score that is 0 with probability rho leaves 0 only where it has no words, and single words
// never leave a component that has thousands of them. Here the words have no say in turn but all at
// once: of y = log l_k the density is, but for what l_k does not change,
//
//   h(y) = alpha y - (beta + e) exp(y) + sum_j w_j log(1 + x_j exp(y)),   x_j = theta_jk / rate_j,
//
// with rate_j that of the other components, against log_zero at l_k = 0. A score is born from a
// proposal that knows the words but not the score (`Birth`), and dies by the reverse; Metropolis's
// rule makes both exact.
#pragma once

#include <cmath>

#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/random.hpp"
#include "dcomp/simd.hpp"
#include "dcomp/special.hpp"
#include "dcomp/stop_point.hpp"

namespace dcomp::DCOMP_ISA {

// What the words say of one score, the others given: rows of whole vectors, padded by words that
// do not occur.
struct WordsOfScore {
  const double *w, *x;
  std::int64_t size;
  Absence prior;

  double height(double y) const {
    const Vec<double> l = broadcast<double>(std::exp(y));
    Vec<double> part{};
    for (std::int64_t j = 0; j < size; j += kLanes<double>)
      part += load(w + j) * log<double>(1.0 + load(x + j) * l);
    return prior.alpha * y - prior.rate * std::exp(y) + sum<double>(part);
  }

  struct Mode {
    double l, words;  // the score, and minus the curvature of h there
  };
  // Where h is highest: l = F(l) = (alpha + sum_j w_j x_j l / (1 + x_j l)) / rate. F is concave, so
  // that Newton's steps from the right stay there and fall. Near is enough: it is a proposal's.
  Mode mode(double all_words) const {
    double l = (prior.alpha + all_words) / prior.rate, curvature = prior.alpha;
    for (int step = 0; step < 30; ++step) {
      const Vec<double> at = broadcast<double>(l);
      Vec<double> once{}, twice{};
      for (std::int64_t j = 0; j < size; j += kLanes<double>) {
        const Vec<double> xl = load(x + j) * at, share = xl / (1.0 + xl);
        const Vec<double> words = load(w + j) * share;
        once += words;
        twice += words * share;
      }
      const double words = sum<double>(once), squares = sum<double>(twice);
      curvature = prior.alpha + squares;
      const double F = (prior.alpha + words) / prior.rate, slope = (words - squares) / prior.rate;
      const double next = l - (l - F) / (1 - slope / l);
      const bool near = !(next < 0.99 * l);
      if (next > 0) l = next;
      if (near) break;
    }
    return {l, curvature};
  }
};

// Where a score is born: two gammas, one with the place and the curvature of the mode, and one with
// the tails of the density itself.
class Birth {
 public:
  Birth(const Absence& prior, const WordsOfScore::Mode& mode)
      : shape_{mode.words, prior.alpha}, rate_{mode.words / mode.l, prior.rate} {
    for (int i = 0; i < 2; ++i) {
      int sign = 0;
      constant_[i] = shape_[i] * std::log(rate_[i]) - lgamma_r(shape_[i], &sign);
    }
  }
  double draw(Stream& rng) const {
    const int which = rng.uniform() < kBroad ? 1 : 0;
    return draw_log_gamma(rng, shape_[which]) - std::log(rate_[which]);
  }
  double log_density(double y) const {
    const double l = std::exp(y);
    double value[2];
    for (int i = 0; i < 2; ++i) value[i] = constant_[i] + shape_[i] * y - rate_[i] * l;
    value[0] += std::log1p(-kBroad);
    value[1] += std::log(kBroad);
    const double top = value[0] > value[1] ? value[0] : value[1];
    return top + std::log(std::exp(value[0] - top) + std::exp(value[1] - top));
  }
  // No gamma of a shape up to this is denser in y, by Stirling's bound.
  static double log_highest(double shape) { return 0.5 * std::log(shape / 6.283185307179586); }

 private:
  static constexpr double kBroad = 0.2;
  double shape_[2], rate_[2], constant_[2];
};

// One document's words and the rates of its words under all scores that are there.
template <class P>
class Switches {
 public:
  Switches(const SamplePass& pass, std::int64_t i, const SampleScratch& s)
      : pass_(pass), i_(i), s_(s), K_(pass.scores.c.width), n_(pass.W.size(i)) {
    size_ = (n_ + kLanes<double> - 1) / kLanes<double> * kLanes<double>;
    w_ = s.words;
    rate_ = w_ + size_;
    x_ = rate_ + size_;
    for (std::int64_t j = 0; j < size_; ++j) w_[j] = rate_[j] = x_[j] = 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      w_[j] = pass.W.data[pass.W.indptr[i] + j];
      all_words_ += w_[j];
      rate_[j] = rate_without(j, -1);
    }
  }

  void each(Stream& rng) {
    const typename P::Switch of(pass_.scores.prior);
    for (std::int64_t k = 0; k < K_; ++k) {
      if (!pass_.scores.prior.allowed(i_, k)) continue;  // it stays off
      const Absence prior = of(i_, k);
      if (prior.log_zero == -HUGE_VAL) continue;
      stop_point(8 * size_);
      visit(k, prior, rng);
    }
  }

 private:
  // Theta l of a word without component k, the rows of Theta at any scale.
  double rate_without(std::int64_t j, std::int64_t k) const {
    const float* theta = theta_of(j);
    double total = 0;
    for (std::int64_t h = 0; h < K_; ++h)
      if (h != k) total += static_cast<double>(theta[h]) * std::exp(s_.log_scores[h]);
    return total;
  }
  const float* theta_of(std::int64_t j) const {
    return pass_.Theta.row(pass_.W.indices[pass_.W.indptr[i_] + j]);
  }

  void visit(std::int64_t k, const Absence& prior, Stream& rng) {
    double& y = s_.log_scores[k];
    const bool is_there = y > -HUGE_VAL;
    const double l = is_there ? std::exp(y) : 0;
    for (std::int64_t j = 0; j < n_; ++j) {
      const double own = static_cast<double>(theta_of(j)[k]), all = rate_[j];
      double others = all - own * l;
      if (others < 1e-9 * all) others = rate_without(j, k);  // what a difference leaves is rounding
      if (!(others > 0)) return;  // without component k this word could not be
      x_[j] = own / others;
    }
    const WordsOfScore words{w_, x_, size_, prior};
    const double log_u = std::log(rng.uniform());
    double now = 0;
    if (is_there) {
      now = words.height(y);
      const double highest = Birth::log_highest(prior.alpha + all_words_);
      if (prior.log_zero + highest - now < log_u) return;
    }
    const auto mode = words.mode(all_words_);
    if (!(mode.l > 0 && mode.l < HUGE_VAL && mode.words < HUGE_VAL)) return;  // beyond doubles
    const Birth birth(prior, mode);
    if (is_there) {
      if (log_u < prior.log_zero + birth.log_density(y) - now) set(k, -HUGE_VAL);
      return;
    }
    const double born = birth.draw(rng);
    if (log_u < words.height(born) - birth.log_density(born) - prior.log_zero) set(k, born);
  }

  void set(std::int64_t k, double y) {
    const double l = y > -HUGE_VAL ? std::exp(y) : 0;
    s_.log_scores[k] = y;
    for (std::int64_t j = 0; j < n_; ++j) {
      // x is theta over the rate of the others: from it, and not by a difference.
      const double own = static_cast<double>(theta_of(j)[k]);
      rate_[j] = own > 0 ? own / x_[j] + own * l : rate_[j];
    }
  }

  const SamplePass& pass_;
  std::int64_t i_;
  const SampleScratch& s_;
  std::int64_t K_, n_, size_ = 0;
  double *w_ = nullptr, *rate_ = nullptr, *x_ = nullptr;  // (size_) each, in the scratch
  double all_words_ = 0;
};

}  // namespace dcomp::DCOMP_ISA
