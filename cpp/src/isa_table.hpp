// Included once per instruction set, with DCOMP_ISA its name: instantiates every kernel there.
#pragma once

#include "dcomp/dispatch.hpp"
#include "dcomp/kernels/collapse_sparse.hpp"
#include "dcomp/kernels/collapse_structured.hpp"
#include "dcomp/kernels/collapse_tree.hpp"
#include "dcomp/kernels/collapse_tree_sparse.hpp"
#include "dcomp/kernels/expect.hpp"
#include "dcomp/kernels/factor.hpp"
#include "dcomp/kernels/laplace.hpp"
#include "dcomp/kernels/left_to_right.hpp"
#include "dcomp/kernels/loadings.hpp"
#include "dcomp/kernels/predict.hpp"
#include "dcomp/kernels/sample.hpp"
#include "dcomp/kernels/tempered.hpp"
#include "dcomp/kernels/two_sided.hpp"
#include "dcomp/priors/list.hpp"

namespace dcomp::DCOMP_ISA {

template <class T, Vec<T> (*function)(Vec<T>)>
void elementwise(const T* x, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes<T>) store<T>(out + i, function(load(x + i)));
}

template <class P, class T>
constexpr AllocationKernels<T> allocation_kernels() {
  AllocationKernels<T> out;
  if constexpr (Expects<P>) out.expect = &expect_documents<typename P::template Expect<T>, T>;
  if constexpr (Maximises<P>) out.maximise = &expect_documents<typename P::template Maximise<T>, T>;
  if constexpr (Tempers<P>) out.temper = out.maximise;
  return out;
}

template <class P>
constexpr SamplerKernels sampler_kernels() {
  SamplerKernels out;
  if constexpr (Samples<P>) {
    out.sample_document = &sample_document<P>;
    out.draw_scores = &draw_scores<P>;
    out.room = P::Draw::room;
    out.switches = SwitchesOff<P>;
  }
  if constexpr (PredictsLinearly<P>) {  // one kernel serves them all
    out.collapse[0][0] = &collapse_cells<false>;
    out.collapse[0][1] = &collapse_cells<true>;
    out.collapse[1][0] = &collapse_cells_sparse<false>;
    out.collapse[1][1] = &collapse_cells_sparse<true>;
  } else if constexpr (PredictsByTree<P>) {
    out.collapse[0][0] = out.collapse[0][1] = &collapse_trees;
    out.collapse[1][0] = out.collapse[1][1] = &collapse_trees_sparse;
  }
  return out;
}

// A row for each prior of the list, whatever it has.
template <class List>
struct Tables;
template <class... P>
struct Tables<PriorList<P...>> {
  template <class T>
  static constexpr AllocationKernels<T> allocation[] = {allocation_kernels<P, T>()...};
  static constexpr SamplerKernels samplers[] = {sampler_kernels<P>()...};
};

template <class T>
constexpr Kernels<T> table() {
  return {kLanes<T>,
          Tables<ScorePriors>::allocation<T>,
          {"LN", "laplace", &laplace_documents<T>},
          &collect_feature<T>,
          &collect_few<T>,
          &loading_row<T>,
          &log_predictive<T>,
          {"GP", "factorise", &factor_rows<T>},
          {&elementwise<T, &exp<T>>, &elementwise<T, &log<T>>, &elementwise<T, &digamma<T>>}};
}

extern const InstructionSet instruction_set;
#define DCOMP_TEXT_OF(name) #name
#define DCOMP_TEXT(name) DCOMP_TEXT_OF(name)
const InstructionSet instruction_set = {
    DCOMP_TEXT(DCOMP_ISA),
    table<float>(),
    table<double>(),
    &elementwise<double, &log_gamma>,
    ScorePriors::size,
    Tables<ScorePriors>::samplers,
    &left_to_right_document,
    &tempered_sweep,
    &two_sided_sweep,
    {"ST",
     "collapse",
     {&collapse_structured<RowKind::fixed>, &collapse_structured<RowKind::shared>,
      &collapse_structured<RowKind::document>, &collapse_structured<RowKind::phi>,
      &collapse_structured<RowKind::document_phi>}}};

}  // namespace dcomp::DCOMP_ISA
