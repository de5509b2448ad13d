// log p(w | scores, loadings) of one document, words as a sequence: the score of completion.
#pragma once

#include "dcomp/kernels/expect.hpp"

namespace dcomp::DCOMP_ISA {

// scores: the document's scores, normalised to 1 and padded with zeros.
template <class T>
double log_predictive(const CsrView& W, const Rows<const T>& Theta, const double* log_scale,
                      std::int64_t i, const T* scores, T* z) {
  const std::int64_t begin = W.indptr[i], n = W.size(i);
  inner_products(Theta, W.indices + begin, n, n, scores, z);
  for (std::int64_t p = 0; p < n; ++p) z[p] = z[p] > kWeightFloor<T> ? z[p] : kWeightFloor<T>;
  const auto value = [&](const auto* w) {
    return weighted_log(w, z, n) + scale_of_words(w, W.indices + begin, log_scale, n);
  };
  return W.weight == nullptr ? value(W.data + begin) : value(W.weight + begin);
}

}  // namespace dcomp::DCOMP_ISA
