// The logistic normal by Laplace's method, one document: B18 section 7, MODELS.md section 3.
//
// Words divided by their own best responsibilities leave f(eta) = log p(w | eta, Theta) +
// log N(eta; mu0, Sigma0), whose mode is the fixed point of B18's alternation (7.10), (7.13). With
//   c_k = sum_j w_j phi_jk,   phi_jk = theta_jk e^eta_k / Z_j,   m = softmax(eta),   L = sum_j w_j
//   gradient of f   c - L m - P (eta - mu0)
//   -Hessian of f   P + L (diag m - m m') - diag c + sum_j w_j phi_j phi_j'
// and B18's, with the responsibilities held fixed, P + L (diag m - m m'), which is always positive
// definite. Newton climbs by the first where that is positive definite, else by the second; Sigma_d
// is the inverse of the second at the mode.
#pragma once

#include "dcomp/kernels/dense.hpp"
#include "dcomp/kernels/expect.hpp"
#include "dcomp/kernels/laplace_pass.hpp"

namespace dcomp::DCOMP_ISA {

// A document's words, and f at one eta.
template <class Number>
struct LaplaceWords {
  const std::int32_t* feature;
  const Number* w;
  std::int64_t n, n_ahead;
  double length;
};
struct LaplacePoint {
  double f;      // without the scale of the words and the prior's constant
  double total;  // sum_k e_k
};

// Sets e, z, delta and Pdelta at eta. e is kept away from numbers whose products with theta
// would be denormal; what that changes is below 1e-17 of a document.
template <class Number, class T>
inline LaplacePoint evaluate_at(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                                const double* eta, LaplaceScratch<T>& s) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.P.width, wide = pass.P.stride;
  double largest = eta[0];
  for (std::int64_t k = 1; k < K; ++k) largest = eta[k] > largest ? eta[k] : largest;
  for (std::int64_t k = 0; k < K; ++k) s.delta[k] = eta[k] - pass.mu0[k];
  double prior = 0;
  for (std::int64_t k = 0; k < K; ++k) {
    s.Pdelta[k] = dot(pass.P.row(k), s.delta, wide);
    prior += s.delta[k] * s.Pdelta[k];
  }
  for (std::int64_t k = 0; k < wide; k += lanes)
    store_double(s.e + k, exp<double>(max<double>(load(eta + k) - largest, Vec<double>{} - 40.0)));
  double total = 0;
  for (std::int64_t k = 0; k < K; ++k) total += static_cast<double>(s.e[k]);
  for (std::int64_t k = K; k < pass.Theta.stride; ++k) s.e[k] = 0;
  inner_products(pass.Theta, words.feature, words.n, words.n_ahead, s.e, s.z);
  const double fit = weighted_log(words.w, s.z, words.n) - words.length * __builtin_log(total);
  return {fit - 0.5 * prior, total};
}

// The weights w / Z, and c in s.sum.
template <class Number, class T>
inline void expected_counts(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                            LaplaceScratch<T>& s) {
  for (std::int64_t p = 0; p < words.n; ++p) s.weight[p] = static_cast<T>(words.w[p]) / s.z[p];
  weighted_sum(pass.Theta, words.feature, s.weight, words.n, s.sum);
  for (std::int64_t k = 0; k < pass.Theta.stride; ++k) s.sum[k] *= static_cast<double>(s.e[k]);
}

// H = P + L (diag m - m m'), on and above the diagonal.
template <class T>
inline void complete_hessian(const LaplacePass<T>& pass, double length, double total,
                             LaplaceScratch<T>& s) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.P.width, wide = pass.P.stride;
  const double scale = length / (total * total);
  for (std::int64_t k = 0; k < K; ++k) {
    const double *P = pass.P.row(k), e = static_cast<double>(s.e[k]);
    double* H = s.H + k * wide;
    for (std::int64_t l = k / lanes * lanes; l < wide; l += lanes)
      store<double>(H + l, load(P + l) - scale * e * load_double(s.e + l));
    H[k] += length / total * e;
  }
}

// Adds what the responsibilities' own answer to eta takes away: - diag c + sum_j w_j phi_j phi_j'.
template <class Number, class T>
inline void observed_hessian(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                             LaplaceScratch<T>& s) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.P.width, wide = pass.P.stride, stride = pass.Theta.stride;
  for (std::int64_t p = 0; p < words.n; ++p) {
    const T* theta = pass.Theta.row(words.feature[p]);
    const Vec<T> scale = broadcast<T>(static_cast<T>(
        __builtin_sqrt(static_cast<double>(words.w[p])) / static_cast<double>(s.z[p])));
    for (std::int64_t k = 0; k < stride; k += kLanes<T>)
      store<T>(s.shares + p * stride + k, scale * load(theta + k) * load(s.e + k));
  }
  gram(s.shares, words.n, stride, K, s.gram);
  for (std::int64_t k = 0; k < K; ++k) {
    double* H = s.H + k * wide;
    for (std::int64_t l = k / lanes * lanes; l < wide; l += lanes)
      store<double>(H + l, load(H + l) + load_double(s.gram + k * stride + l));
    H[k] -= s.sum[k];
  }
}

// Newton's step from gradient and Hessian; returns what it promises, gradient * step.
template <class Number, class T>
inline double newton_step(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                          double total, LaplaceScratch<T>& s) {
  const std::int64_t K = pass.P.width, wide = pass.P.stride;
  for (std::int64_t k = 0; k < K; ++k)
    s.gradient[k] = s.sum[k] - words.length * static_cast<double>(s.e[k]) / total - s.Pdelta[k];
  complete_hessian(pass, words.length, total, s);
  observed_hessian(pass, words, s);
  if (!cholesky(s.H, K, wide)) {
    complete_hessian(pass, words.length, total, s);
    cholesky(s.H, K, wide);
  }
  cholesky_solve(s.H, K, wide, s.gradient, s.step);
  return dot(s.gradient, s.step, wide);
}

// Newton with halved steps where f would not rise; leaves e, z, weight, sum of the last point.
template <class Number, class T>
inline LaplacePoint climb(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                          LaplaceScratch<T>& s, LaplaceSums& sums) {
  const std::int64_t wide = pass.P.stride;
  // f is a sum of logs of numbers in T: differences below this are rounding.
  const double noise = (sizeof(T) == 4 ? 3e-7 : 1e-14) * (words.length + 1);
  LaplacePoint here = evaluate_at(pass, words, s.eta, s);
  expected_counts(pass, words, s);
  for (int inner = 0; inner < pass.max_inner; ++inner) {
    stop_point(words.n * wide + wide * wide * wide);
    const double promise = newton_step(pass, words, here.total, s);
    if (!(promise > pass.inner_tol * (words.length + 1))) return here;
    sums.inner += 1;
    double size = 1;
    LaplacePoint next = here;
    for (int halving = 0; halving < 30; ++halving, size *= 0.5) {
      for (std::int64_t k = 0; k < wide; ++k) s.trial[k] = s.eta[k] + size * s.step[k];
      next = evaluate_at(pass, words, s.trial, s);
      if (next.f >= here.f + 1e-4 * size * promise - noise) break;
    }
    for (std::int64_t k = 0; k < wide; ++k) s.eta[k] = s.trial[k];
    here = next;
    expected_counts(pass, words, s);
  }
  sums.unsettled += 1;
  return here;
}

// Sigma_d, the value of the document, and its share of the sums. S_d = Sigma_d + delta delta'.
template <class Number, class T>
inline double close_document(const LaplacePass<T>& pass, const LaplaceWords<Number>& words,
                             const LaplacePoint& at, std::int64_t i, LaplaceScratch<T>& s,
                             LaplaceSums& sums) {
  constexpr int lanes = kLanes<double>;
  const std::int64_t K = pass.P.width, wide = pass.P.stride;
  complete_hessian(pass, words.length, at.total, s);
  cholesky(s.H, K, wide);
  double half_log_det = 0;
  for (std::int64_t k = 0; k < K; ++k) half_log_det += __builtin_log(s.H[k * wide + k]);
  const bool wants_variance = pass.variance_out.data != nullptr;
  if (sums.S != nullptr || wants_variance) {
    cholesky_inverse(s.H, K, wide, s.inverse, s.H);
    if (wants_variance)
      for (std::int64_t k = 0; k < K; ++k) pass.variance_out.row(i)[k] = s.H[k * wide + k];
  }
  if (sums.S != nullptr) {
    double all = 0, own = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      const double* Sigma = s.H + k * wide;
      double* S = sums.S + k * wide;
      Vec<double> squares{};
      for (std::int64_t l = k / lanes * lanes; l < wide; l += lanes) {
        const Vec<double> value = load(Sigma + l) + s.delta[k] * load(s.delta + l);
        squares += value * value;
        store<double>(S + l, load(S + l) + value);
      }
      all += sum<double>(squares);
      for (std::int64_t l = k / lanes * lanes; l <= k; ++l) {
        const double value = Sigma[l] + s.delta[k] * s.delta[l];
        own += value * value;
      }
      sums.eta[k] += s.eta[k];
    }
    sums.squares += 2 * (all - own);
  }
  return at.f + pass.half_log_det_P - half_log_det;
}

template <class Number, class T>
inline void laplace_document(const LaplacePass<T>& pass, const Number* numbers, std::int64_t i,
                             std::int64_t last, LaplaceScratch<T>& s, LaplaceSums& sums) {
  const std::int64_t begin = pass.W.indptr[i], K = pass.P.width, wide = pass.P.stride;
  const Number* w = numbers + begin;
  const LaplaceWords<Number> words{pass.W.indices + begin, w, pass.W.size(i),
                                   pass.W.indptr[last] - begin, length_of(w, pass.W.size(i))};
  for (std::int64_t k = 0; k < K; ++k) s.eta[k] = pass.eta_in.row(i)[k];
  for (std::int64_t k = K; k < wide; ++k) s.eta[k] = s.step[k] = s.delta[k] = s.gradient[k] = 0;
  const LaplacePoint at = climb(pass, words, s, sums);
  double value = close_document(pass, words, at, i, s, sums);
  if (pass.log_scale != nullptr)
    value += scale_of_words(words.w, words.feature, pass.log_scale, words.n);
  sums.value += value;
  if (pass.doc_value != nullptr) pass.doc_value[i] = value;
  double mean = 0;  // 0 but for rounding, which must not add up from pass to pass
  for (std::int64_t k = 0; k < K; ++k) mean += s.eta[k] / static_cast<double>(K);
  for (std::int64_t k = 0; k < K; ++k) {
    pass.eta_out.row(i)[k] = s.eta[k] - mean;
    pass.c_out.row(i)[k] = static_cast<T>(s.sum[k]);
  }
  if (pass.weight_out == nullptr) return;
  T* e_out = pass.e_out.row(i - pass.first_doc);
  for (std::int64_t k = 0; k < pass.Theta.stride; ++k) e_out[k] = s.e[k];
  for (std::int64_t p = 0; p < words.n; ++p) pass.weight_out[pass.place[begin + p]] = s.weight[p];
}

// Not inline, as in kernels/expect.hpp.
template <class Number, class T>
[[gnu::noinline]] void laplace_numbers(const LaplacePass<T>& pass, const Number* numbers,
                                       std::int64_t first, std::int64_t last, LaplaceScratch<T>& s,
                                       LaplaceSums& sums) {
  for (std::int64_t i = first; i < last; ++i) laplace_document(pass, numbers, i, last, s, sums);
}

template <class T>
void laplace_documents(const LaplacePass<T>& pass, std::int64_t first, std::int64_t last,
                       LaplaceScratch<T>& s, LaplaceSums& sums) {
  if (pass.W.weight == nullptr)
    laplace_numbers(pass, pass.W.data, first, last, s, sums);
  else
    laplace_numbers(pass, pass.W.weight, first, last, s, sums);
}

}  // namespace dcomp::DCOMP_ISA
