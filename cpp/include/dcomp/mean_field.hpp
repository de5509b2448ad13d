// Mean field as a library: everything per document and per feature, on any number of threads.
#pragma once

#include <vector>

#include "dcomp/kernels/args.hpp"

namespace dcomp {

// Weights of the allocation, with the objective's prior term for the loadings.
// Theta (J, padded) and log_scale (J) are written by the caller's memory; see LoadingPass.
template <class T>
double update_loadings(Treatment treatment, const Rows<const T>& n, const GammaView& gamma,
                       const std::int32_t* block, std::int64_t n_blocks, const Rows<T>& Theta,
                       double* log_scale, int n_threads);

struct ExpectSums {
  double bound = 0;
  std::int64_t inner = 0;         // updates of single documents
  std::vector<double> log, mean;  // (K): sums of E[log score] and E[score]
};

template <class T>
struct ExpectInput {
  CsrView W;
  Rows<const T> Theta;
  const double* log_scale = nullptr;
  ScorePrior prior;
  int max_inner = 1;
  double inner_tol = 0;
};

// One pass: c_in -> c_out for every document, n += the statistics of (15). n must come in as zeros.
template <class T>
ExpectSums expect(const ExpectInput<T>& input, const CorpusIndex& index, const Rows<const T>& c_in,
                  const Rows<T>& c_out, const Rows<T>& n, int n_threads);

// The fixed point of every document with the loadings given; bound (I) may be null.
template <class T>
ExpectSums fold_in(const ExpectInput<T>& input, const Rows<const T>& c_in, const Rows<T>& c_out,
                   double* bound, int n_threads);

// out[i] = sum_j w_ij log sum_k scores_ik theta_jk, scores normalised here.
template <class T>
void log_predictive(const CsrView& W, const Rows<const T>& Theta, const double* log_scale,
                    const Rows<const T>& scores, double* out, int n_threads);

}  // namespace dcomp
