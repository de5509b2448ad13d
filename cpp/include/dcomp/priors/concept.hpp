// What a score prior must offer to the mean-field kernel.
#pragma once

#include <concepts>
#include <cstdint>

#include "dcomp/priors/list.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// Where one document's share of the hyper-parameter statistics goes.
struct ScoreSums {
  double* log = nullptr;   // sum of E[log score_k]
  double* mean = nullptr;  // sum of E[score_k]
};

// shift(i, out): writes what E[log score_k] adds to psi(a_k), but for a term equal over k.
// close(i, a, sums, terms): with q(scores) of parameter a, the prior's part of the bound (16) or
//   (19), and in terms.common the term equal over k that shift left out.
template <class P, class T>
concept MeanFieldPrior =
    requires(const P& prior, std::int64_t i, T* out, const T* a, ScoreSums sums, double* common) {
      prior.shift(i, out);
      { prior.close(i, a, sums, common) } -> std::same_as<double>;
    };

}  // namespace dcomp::DCOMP_ISA
