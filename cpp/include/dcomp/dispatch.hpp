// The kernels of each instruction set as tables of functions, and the choice between them.
#pragma once

#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/kernels/factor_pass.hpp"
#include "dcomp/kernels/laplace_pass.hpp"
#include "dcomp/kernels/left_to_right_pass.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/kernels/structured_pass.hpp"
#include "dcomp/kernels/tempered_pass.hpp"
#include "dcomp/kernels/two_sided_pass.hpp"

namespace dcomp {

// Of one score prior: null where it has no such mode (priors/concept.hpp).
template <class T>
struct AllocationKernels {
  using Documents = void(const DocumentPass<T>&, std::int64_t first, std::int64_t last, Scratch<T>&,
                         DocumentSums&);
  Documents *expect = nullptr, *maximise = nullptr, *temper = nullptr;
};
struct SamplerKernels {
  double (*sample_document)(const SamplePass&, std::int64_t i, const SampleScratch&) = nullptr;
  void (*draw_scores)(const ScorePass&, std::int64_t i, double* log_scores) = nullptr;
  int room = 0;           // numbers per component that log_scores must hold
  bool switches = false;  // whether documents need room for their words: kernels/switch.hpp
  // The tokens of up to kTogether cells, side by side. [0] scans all components of a token, [1]
  // those of its document's list; [1] of these for weights that are plain (kernels/collapse.hpp).
  void (*collapse[2][2])(CollapseCell*, int count) = {};
};

// A kernel that serves a single model, with the cell of the registry that it stands for.
template <class Function>
struct ModelKernel {
  const char *key, *mode;
  Function run;
};

template <class T>
struct Kernels {
  int lanes;
  const AllocationKernels<T>* priors;  // in the order of priors/list.hpp
  ModelKernel<void (*)(const LaplacePass<T>&, std::int64_t first, std::int64_t last,
                       LaplaceScratch<T>&, LaplaceSums&)>
      laplace_documents;
  void (*collect_feature)(const FeaturePass<T>&, std::int32_t j, std::int64_t begin,
                          std::int64_t end, double* sum);
  void (*collect_few)(const TablePass<T>&, std::int64_t first, std::int64_t last);
  double (*loading_row)(const LoadingPass<T>&, std::int64_t j, double* log_theta);
  double (*log_predictive)(const CsrView&, const Rows<const T>& Theta, const double* log_scale,
                           std::int64_t i, const T* scores, T* z);
  ModelKernel<void (*)(const FactorPass<T>&, std::int64_t first, std::int64_t last,
                       FactorScratch<T>&, FactorSums&)>
      factor_rows;
  // Elementwise, n a whole number of vectors: "exp", "log", "digamma".
  void (*special[3])(const T* x, T* out, std::int64_t n);
};

struct InstructionSet {
  const char* name;
  Kernels<float> f32;
  Kernels<double> f64;
  void (*log_gamma)(const double* x, double* out, std::int64_t n);
  int n_priors;
  const SamplerKernels* priors;  // in the order of priors/list.hpp
  double (*left_to_right)(const LeftToRightPass&, std::int64_t i, std::int64_t length,
                          const LeftToRightScratch&);
  void (*tempered_sweep)(const TemperedPass&, double t, Stream&, const TemperedScratch&);
  void (*two_sided_sweep)(const TwoSidedPass&, Stream&, const TwoSidedScratch&);
  ModelKernel<void (*[kRowKinds])(StructuredCell&)> collapse_structured;

  template <class T>
  const Kernels<T>& kernels() const;
};
template <>
inline const Kernels<float>& InstructionSet::kernels<float>() const {
  return f32;
}
template <>
inline const Kernels<double>& InstructionSet::kernels<double>() const {
  return f64;
}

// The widest set that this machine has, chosen once. The environment variable DCOMP_SIMD
// ("baseline", "avx2", "avx512") asks for a narrower one.
const InstructionSet& instruction_set();

template <class T>
const Kernels<T>& kernels() {
  return instruction_set().kernels<T>();
}

// K rounded up to whole vectors.
template <class T>
std::int64_t padded_width(std::int64_t K) {
  const std::int64_t lanes = kernels<T>().lanes;
  return (K + lanes - 1) / lanes * lanes;
}

}  // namespace dcomp
