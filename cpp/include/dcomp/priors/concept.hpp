// What a score prior is to the kernels: one struct with a member for every mode that it has.
//
// A prior names its model's key and its parameters, and then offers what it can. What it leaves out
// is not compiled; what it has in a wrong form is an error of the compiler (`well_formed` below).
//
//   mode      what it takes                     who asks
//   expect    Expect<T>                         mean field: kernels/expect.hpp
//   maximise  Maximise<T>                       EM with scores at their mode: the same kernel
//   temper    Maximise<T>::tempers              tempered EM: the same kernel with a power below 1
//   sample    Draw, Moments                     direct Gibbs: kernels/sample.hpp
//   and, where scores can be exactly 0, Switch  the same: kernels/switch.hpp
//   collapse  Predictive, Moments               the token samplers: kernels/collapse*.hpp
// and, where E[scores | c] is not linear in c and has to be recorded sweep by sweep, Means.
//
// Kernels are compiled for every instruction set, and so is what they call: shift, weights, close,
// Draw. What is called once per sweep is compiled once, in namespace `host` (src/priors.cpp), and
// may use all of the standard library: prepare, Moments, Means, Predictive.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "dcomp/count_table.hpp"
#include "dcomp/kernels/args.hpp"
#include "dcomp/rng.hpp"
#include "dcomp/tree_layout.hpp"

namespace dcomp::DCOMP_ISA {

// Where one document's share of the hyper-parameter statistics goes.
struct ScoreSums {
  double* log = nullptr;   // sum of E[log score_k]
  double* mean = nullptr;  // sum of E[score_k]
};

// key: of the model.
// parameters: their names, an array; all of them hold K numbers.
// normalised: whether scores sum to 1; then an exposure has no meaning.
// has_tree: whether components are the nodes of a tree.
// restricts: whether all that it offers heeds which components a document may use; false unless
//   said.
template <class P>
concept NamedPrior = requires {
  { P::key } -> std::convertible_to<const char*>;
  { P::parameters[0] } -> std::convertible_to<const char*>;
  { P::normalised } -> std::convertible_to<bool>;
  { P::has_tree } -> std::convertible_to<bool>;
};

// Scores in the allocation: how E[log score_k], or the mode, follows from c.
// prepare(prior, out): what no document changes: shape, shift and constant of a PriorView.
// shift(i, out): writes what turns a_k into the log of a weight or, for a mode, into the weight;
//   but for a term equal over k.
// weights(s): a = shape + c, and e_k, the allocation weights divided by their largest and floored;
//   returns the log of that largest.
// close(i, a, sums, common): with scores of parameter a, the prior's part of the objective, and in
//   common the term equal over k that shift left out.
template <class S, class T>
concept Allocation =
    std::constructible_from<S, const PriorView<T>&> &&
    requires(const S& scores, std::int64_t i, T* out, const T* a, ScoreSums sums, double* common,
             Scratch<T>& s, const ScorePrior& prior, PreparedPrior<T>& prepared) {
      S::prepare(prior, prepared);
      scores.shift(i, out);
      { scores.weights(s) } -> std::same_as<double>;
      { scores.close(i, a, sums, common) } -> std::same_as<double>;
    };

template <class P>
consteval bool restricts() {
  if constexpr (requires { P::restricts; }) return P::restricts;
  return false;
}

template <class P>
concept Expects = NamedPrior<P> && Allocation<typename P::template Expect<float>, float> &&
                  Allocation<typename P::template Expect<double>, double>;
template <class P>
concept Maximises = NamedPrior<P> && Allocation<typename P::template Maximise<float>, float> &&
                    Allocation<typename P::template Maximise<double>, double>;
// Its weights and its objective know of PriorView::power.
template <class P>
concept Tempers =
    Maximises<P> && P::template Maximise<float>::tempers && P::template Maximise<double>::tempers;

// Log scores of components that document i may not use. The draws of the others do not change.
inline void forbid_draws(const AllowedView& allowed, std::int64_t i, std::int64_t K, double* out) {
  if (allowed.all()) return;
  for (std::int64_t k = 0; k < K; ++k)
    if (!allowed(i, k)) out[k] = -HUGE_VAL;
}

// draw(i, c, rng, out): log scores of document i given its counts c (K), in `out`; -infinity for an
//   exact zero; a normalised prior may leave out a factor of all scores.
// room: numbers that `out` must hold for each component, the first K of them for the result.
template <class D>
concept ScoreDraw =
    std::constructible_from<D, const ScorePrior&> &&
    requires(const D& draw, std::int64_t i, const std::int32_t* c, Stream& rng, double* out) {
      { D::room } -> std::convertible_to<int>;
      draw(i, c, rng, out);
    };

// sum(c, first, last): of log E[prod_k score_k^c_k e^(-e score_k)] over rows [first, last) of c.
// component[k] is the component that column k of c is of; null where it is k, as for all priors
// without a tree.
template <class M>
concept ScoreMoments = std::constructible_from<M, const ScorePrior&, const std::int32_t*> &&
                       requires(const M& moments, const CountView& c, std::int64_t row) {
                         { moments.sum(c, row, row) } -> std::same_as<double>;
                       };

// add(c, first, last, out): out_ik += E[score_k | c_i].
template <class M>
concept ScoreMeans = std::constructible_from<M, const ScorePrior&, const std::int32_t*> &&
                     requires(const M& means, const CountView& c, std::int64_t row, float* out) {
                       means.add(c, row, row, out);
                     };

// The predictive of one more token of a document, E[score_k | c] up to a factor of all components.
//
// Linear (MODELS.md section 3): F (a + c_k) where c_k > 0, and F a present where c_k = 0, with
// present = P(score > 0 | c_k = 0). a must not depend on the exposure e, and F of a normalised
// prior must be 1. has_zeros: whether present can be less than 1.
//   weight(k, e), and logs(k, e) for what floats cannot hold.
struct LinearWeight {
  double a, F, present;
};
struct LinearLogs {
  double F, present;
};
template <class S>
concept LinearPredictive = std::constructible_from<S, const ScorePrior&> &&
                           requires(const S& predictive, std::int64_t k, double e) {
                             { S::has_zeros } -> std::convertible_to<bool>;
                             { predictive.weight(k, e) } -> std::same_as<LinearWeight>;
                             { predictive.logs(k, e) } -> std::same_as<LinearLogs>;
                           };
// A walk along the paths of a tree (kernels/collapse_tree.hpp), whose places are those of a layout.
template <class S>
concept TreePredictive = std::constructible_from<S, const ScorePrior&> &&
                         requires(const S& predictive, TreeLayout& layout) {
                           { predictive.weights(layout) } -> std::same_as<TreeWeights>;
                         };

template <class P>
concept HasMoments = NamedPrior<P> && ScoreMoments<typename P::Moments>;
template <class P>
concept HasMeans = NamedPrior<P> && ScoreMeans<typename P::Means>;
template <class P>
concept Samples = HasMoments<P> && ScoreDraw<typename P::Draw>;
template <class P>
concept PredictsLinearly = HasMoments<P> && LinearPredictive<typename P::Predictive>;
template <class P>
concept PredictsByTree = HasMoments<P> && TreePredictive<typename P::Predictive>;
// of(i, k): what an exact zero of component k is up against in document i.
struct Absence {
  double alpha, rate;  // of the prior's gamma; the exposure is in the rate
  double log_zero;     // log of rho / (1 - rho) Gamma(alpha) / beta^alpha; -infinity for rho = 0
};
template <class P>
concept SwitchesOff =
    Samples<P> && std::constructible_from<typename P::Switch, const ScorePrior&> &&
    requires(const typename P::Switch& of, std::int64_t i) {
      { of(i, i) } -> std::same_as<Absence>;
    };
template <class P>
concept Collapses = PredictsLinearly<P> || PredictsByTree<P>;

// Whether all that a prior has a name for has the form that the name asks for.
template <class P>
consteval bool well_formed() {
  static_assert(NamedPrior<P>);
  static_assert(sizeof(P::parameters) / sizeof(P::parameters[0]) <= kMostParameters);
  if constexpr (requires { typename P::template Expect<float>; }) static_assert(Expects<P>);
  if constexpr (requires { typename P::template Maximise<float>; }) static_assert(Maximises<P>);
  if constexpr (requires { typename P::Draw; }) static_assert(Samples<P>);
  if constexpr (requires { typename P::Switch; }) static_assert(SwitchesOff<P>);
  if constexpr (requires { typename P::Moments; }) static_assert(HasMoments<P>);
  if constexpr (requires { typename P::Means; }) static_assert(HasMeans<P>);
  if constexpr (requires { typename P::Predictive; }) static_assert(Collapses<P>);
  return true;
}

}  // namespace dcomp::DCOMP_ISA
