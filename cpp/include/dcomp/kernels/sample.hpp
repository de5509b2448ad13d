// Direct Gibbs sampling of one document: BJ06 figure 6 and table III.
//
// Scores are drawn given c, then every entry is split over components at once: one multinomial draw
// per non-zero, whatever its count.
#pragma once

#include <cfloat>
#include <cmath>

#include "dcomp/kernels/rows.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/kernels/switch.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/random.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// log scores of document i given its counts: what P::Draw writes to `out`.
template <class P>
inline void draw_log_scores(const ScorePass& pass, std::int64_t i, Stream& rng, double* out) {
  const typename P::Draw draw(pass.prior);
  draw(i, pass.c.row(i), rng, out);
}

inline double largest(const double* values, std::int64_t size) {
  double top = -HUGE_VAL;
  for (std::int64_t k = 0; k < size; ++k) top = values[k] > top ? values[k] : top;
  return top;
}

// Document i's row of the drawn scores from their logs. Only a point mass at zero is written as
// zero: what float32 cannot hold becomes its smallest or largest normal number.
template <class P>
inline void write_scores(const ScorePass& pass, std::int64_t i, const double* log_scores) {
  const std::int64_t K = pass.c.width;
  double top = 0, log_sum = 0;
  if constexpr (P::normalised) {  // a Dirichlet draw is gammas over their sum
    top = largest(log_scores, K);
    double sum = 0;
    for (std::int64_t k = 0; k < K; ++k) sum += std::exp(log_scores[k] - top);
    log_sum = std::log(sum);
  }
  for (std::int64_t k = 0; k < K; ++k) {
    const double value = std::exp(log_scores[k] - top - log_sum);
    const double held = value < FLT_MIN ? FLT_MIN : value > FLT_MAX ? FLT_MAX : value;
    pass.out[i * K + k] = log_scores[k] == -HUGE_VAL ? 0.0F : static_cast<float>(held);
  }
}

// Scores of one document and nothing else.
template <class P>
inline void draw_scores(const ScorePass& pass, std::int64_t i, double* log_scores) {
  Stream rng(pass.seed, pass.purpose, pass.sweep, pass.unit(i));
  draw_log_scores<P>(pass, i, rng, log_scores);
  write_scores<P>(pass, i, log_scores);
}

// The component at u of the total, from running sums lane by lane (part[k] is the sum of the
// weights at k, k - lanes, k - 2 lanes, ...): first the lane, then the place within it. Plain loops
// with branches: measured faster than a search without them, because the processor guesses ahead.
// The order of the components is another than 0, 1, 2, ...; a draw does not mind.
inline std::int64_t place_of_draw(const float* part, std::int64_t padded, float u) {
  constexpr int lanes = kLanes<float>;
  const float* last = part + padded - lanes;
  float before = 0;
  int lane = 0;
  for (; lane < lanes - 1; ++lane) {
    const float sum = before + last[lane];
    if (u < sum) break;
    before = sum;
  }
  // Rounding can lead past the end, or to a place of no weight: step back to one that has some.
  while (lane > 0 && !(last[lane] > 0)) before -= last[--lane];
  const float rest = u - before;
  std::int64_t k = lane;
  while (k + lanes < padded && !(rest < part[k])) k += lanes;
  while (k >= lanes && !(part[k] > part[k - lanes])) k -= lanes;
  return k;
}

// Splits `count` over components in proportion to e_k theta_k and calls give(k, share).
template <class Give>
inline double split(const float* theta, std::int64_t padded, std::int32_t count, Stream& rng,
                    const SampleScratch& s, const Give& give) {
  constexpr int lanes = kLanes<float>;
  Vec<float> run{};
  for (std::int64_t k = 0; k < padded; k += lanes) {
    run += load(s.e + k) * load(theta + k);
    store<float>(s.part + k, run);
  }
  const auto total = static_cast<double>(sum<float>(run));
  if (count <= 16 || count < padded / 2) {
    for (std::int32_t token = 0; token < count; ++token)
      give(place_of_draw(s.part, padded, static_cast<float>(rng.uniform() * total)), 1);
    return total;
  }
  double left = total;
  std::int64_t last = 0;
  for (std::int64_t k = 0; k < padded && count > 0; ++k) {
    const double weight = static_cast<double>(s.e[k]) * static_cast<double>(theta[k]);
    if (weight <= 0) continue;
    last = k;
    const std::int32_t share = weight >= left ? count : draw_binomial(rng, count, weight / left);
    if (share > 0) give(k, share);
    count -= share;
    left -= weight;
  }
  if (count > 0) give(last, count);
  return total;
}

// Whether components of document i are switched.
inline bool is_long(const SamplePass& pass, std::int64_t i) {
  std::int64_t words = 0;
  for (std::int64_t p = pass.W.indptr[i]; p < pass.W.indptr[i + 1]; ++p) words += pass.W.data[p];
  return words > 0 && words >= pass.switch_from;
}

// Returns log p(w | scores, Theta), words as a sequence given their number.
template <class P>
inline double sample_document(const SamplePass& pass, std::int64_t i, const SampleScratch& s) {
  const ScorePass& scores = pass.scores;
  const std::int64_t K = scores.c.width, padded = pass.Theta.stride;
  Stream rng(scores.seed, scores.purpose, scores.sweep, scores.unit(i));
  draw_log_scores<P>(scores, i, rng, s.log_scores);
  if constexpr (SwitchesOff<P>) {
    if (is_long(pass, i))
      Switches<P>(pass, i, s).each(rng);
    else if (pass.tokens != nullptr)
      return 0;
  }
  const double top = largest(s.log_scores, K);
  double sum_e = 0;
  for (std::int64_t k = 0; k < padded; ++k) {
    const double e = k < K && top > -HUGE_VAL ? std::exp(s.log_scores[k] - top) : 0.0;
    // What float32 cannot hold as a normal number has no weight: a denormal would cost ten times.
    s.e[k] = e < 1e-30 ? 0.0F : static_cast<float>(e);
    sum_e += e;
  }
  if (scores.out != nullptr) write_scores<P>(scores, i, s.log_scores);

  std::int32_t* c = pass.c_out.row(i);
  for (std::int64_t k = 0; k < K; ++k) c[k] = 0;
  std::uint16_t* token = pass.tokens == nullptr ? nullptr : pass.tokens + pass.first_token[i];
  double log_words = 0;
  for (std::int64_t p = pass.W.indptr[i]; p < pass.W.indptr[i + 1]; ++p) {
    const std::int32_t j = pass.W.indices[p], w = pass.W.data[p];
    if ((p & 255) == 0) stop_point(256 * padded);
    const double total =
        split(pass.Theta.row(j), padded, w, rng, s, [&](std::int64_t k, std::int32_t share) {
          c[k] += share;
          // Whole numbers add up to the same whatever the order, so that an atomic add is exact.
          if (pass.n != nullptr) __atomic_fetch_add(pass.n + j * K + k, share, __ATOMIC_RELAXED);
          for (std::int32_t t = 0; token != nullptr && t < share; ++t)
            *token++ = static_cast<std::uint16_t>(k);
        });
    log_words += w * (std::log(total / sum_e) + pass.log_scale[j]);
  }
  return log_words;
}

}  // namespace dcomp::DCOMP_ISA
