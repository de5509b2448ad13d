// What the Laplace kernel is given: plain views, the same for every instruction set.
#pragma once

#include "dcomp/kernels/args.hpp"

namespace dcomp {

// One worker's buffers. Rows of T are as long as a row of Theta; rows of double as long as one of
// the precision, which is padded for double.
template <class T>
struct LaplaceScratch {
  T *e, *z, *weight;                     // a row, and two numbers per entry of a document
  T *shares, *gram;                      // a row per entry; as many rows as components
  double* sum;                           // a row of T's length
  double *eta, *trial, *delta, *Pdelta;  // rows
  double *gradient, *step;
  double *H, *inverse;  // as many rows as components
};

// eta ~ N(mu0, Sigma0), m = softmax(eta): the mode of log p(w, eta | Theta) for every document.
template <class T>
struct LaplacePass {
  CsrView W;
  Rows<const T> Theta;
  const double* log_scale = nullptr;  // null where the caller adds its sum over all documents
  const double* mu0 = nullptr;        // (K): sums to 0
  Rows<const double> P;               // (K, padded): inverse of Sigma0 with 1 along (1, ..., 1)
  double half_log_det_P = 0;
  Rows<const double> eta_in;
  Rows<double> eta_out;
  Rows<T> c_out;
  int max_inner = 1;
  double inner_tol = 0;  // stop when a step promises less than inner_tol * (L + 1)

  // Wanted only when statistics are collected, as in DocumentPass.
  Rows<T> e_out;
  T* weight_out = nullptr;
  const std::int32_t* place = nullptr;
  std::int64_t first_doc = 0;

  double* doc_value = nullptr;  // wanted only for single documents
  Rows<double> variance_out;    // (I, K): diagonals of Sigma_d, likewise
};

// Sums over documents: of eta, of S_d = Sigma_d + (eta - mu0)(eta - mu0)', and of the squares of
// S_d off its diagonal.
struct LaplaceSums {
  double value = 0;
  double squares = 0;
  std::int64_t inner = 0;
  std::int64_t unsettled = 0;  // documents that used up their steps
  double* eta = nullptr;       // (padded)
  double* S = nullptr;         // (K, padded)
};

}  // namespace dcomp
