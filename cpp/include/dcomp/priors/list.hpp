// The score priors that exist: a header and a line each. Tables of kernels, the number of priors,
// and what `compiled()` tells Python all come from this list.
#pragma once

#include "dcomp/priors/conditional_gamma.hpp"
#include "dcomp/priors/dirichlet.hpp"
#include "dcomp/priors/gamma.hpp"
#include "dcomp/priors/made_up.hpp"
#include "dcomp/priors/tree.hpp"

namespace dcomp::DCOMP_ISA {

template <class... P>
struct PriorList {
  static constexpr int size = sizeof...(P);
  static_assert((well_formed<P>() && ...));
};

using ScorePriors = PriorList<DirichletScores,         //
                              GammaScores,             //
                              ConditionalGammaScores,  //
#ifdef DCOMP_MADE_UP_PRIOR
                              ExponentialScores,  //
#endif
                              TreeScores>;
static_assert(ScorePriors::size > 0);  // looks at every one of them, wherever the list is seen

}  // namespace dcomp::DCOMP_ISA
