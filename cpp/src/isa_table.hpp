// Included once per instruction set, with DCOMP_ISA its name: instantiates every kernel there.
#pragma once

#include "dcomp/dispatch.hpp"
#include "dcomp/kernels/collapse_sparse.hpp"
#include "dcomp/kernels/collapse_structured.hpp"
#include "dcomp/kernels/collapse_tree.hpp"
#include "dcomp/kernels/expect.hpp"
#include "dcomp/kernels/factor.hpp"
#include "dcomp/kernels/laplace.hpp"
#include "dcomp/kernels/left_to_right.hpp"
#include "dcomp/kernels/loadings.hpp"
#include "dcomp/kernels/predict.hpp"
#include "dcomp/kernels/sample.hpp"
#include "dcomp/kernels/tempered.hpp"

namespace dcomp::DCOMP_ISA {

template <class T, Vec<T> (*function)(Vec<T>)>
void elementwise(const T* x, T* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += kLanes<T>) store<T>(out + i, function(load(x + i)));
}

template <class T>
constexpr Kernels<T> table() {
  return {kLanes<T>,
          {&expect_documents<DirichletScores, T>, &expect_documents<GammaScores, T>,
           &expect_documents<DirichletMode, T>, &expect_documents<GammaMode, T>,
           &expect_documents<TreeScores, T>},
          &laplace_documents<T>,
          &collect_feature<T>,
          &loading_row<T>,
          &log_predictive<T>,
          &factor_rows<T>,
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
    &sample_document,
    &draw_scores,
    {{&collapse_cells<false>, &collapse_cells<true>},
     {&collapse_cells_sparse<false>, &collapse_cells_sparse<true>}},
    &left_to_right_document,
    &tempered_sweep,
    &collapse_trees,
    {&collapse_structured<RowKind::fixed>, &collapse_structured<RowKind::shared>,
     &collapse_structured<RowKind::document>, &collapse_structured<RowKind::phi>,
     &collapse_structured<RowKind::document_phi>}};

}  // namespace dcomp::DCOMP_ISA
