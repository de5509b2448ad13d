// A collapsed Gibbs sweep at a temperature, for annealed importance sampling
// (reference/evidence.py): it leaves r^(1-t) [g p(w | z)]^t as it is, r the urn of
// Dirichlet(alpha).
//
// Per token the weight of a component is that of the urn times the t-th power of what the model
// has more than it:  (alpha_k + c_k) [F_k p0_k^[c_k = 0] (gamma_j + n_jk) / (gamma_g + N_gk)]^t.
#pragma once

#include "dcomp/kernels/sample.hpp"
#include "dcomp/kernels/tempered_pass.hpp"
#include "dcomp/priors/allocation.hpp"

namespace dcomp::DCOMP_ISA {

inline Vec<float> load_counts(const std::int32_t* p) {
  return __builtin_convertvector(
      *reinterpret_cast<const typename VectorOf<float>::bits_unaligned*>(p), Vec<float>);
}

// The running sums by lane of the weights, in s.part; returns their total.
inline float tempered_weights(const TemperedPass& pass, std::int64_t i, std::int32_t j, double t,
                              const TemperedScratch& s) {
  constexpr int lanes = kLanes<float>;
  const std::int32_t g = pass.block[j];
  const std::int32_t *c = pass.c.row(i), *n = pass.n.row(j), *total = pass.total.row(g);
  const float *log_F = pass.log_F + i * pass.stride, *log_p0 = pass.log_p0 + i * pass.stride;
  const float gamma = pass.gamma[j], gamma_total = pass.gamma_total[g],
              power = static_cast<float>(t);
  Vec<float> top = broadcast<float>(-1e30F);
  for (std::int64_t k = 0; k < pass.padded; k += lanes) {
    const Vec<float> phi = (load_counts(n + k) + gamma) / (load_counts(total + k) + gamma_total);
    const Vec<float> p0 = load_counts(c + k) > 0.5F ? Vec<float>{} : load(log_p0 + k);
    const Vec<float> x = power * (load(log_F + k) + p0 + log<float>(phi));
    store<float>(s.power + k, x);
    top = max<float>(top, x);
  }
  const float largest = largest_lane<float>(top);
  Vec<float> run{};
  for (std::int64_t k = 0; k < pass.padded; k += lanes) {
    run += (load(pass.alpha + k) + load_counts(c + k)) * exp<float>(load(s.power + k) - largest);
    store<float>(s.part + k, run);
  }
  return sum<float>(run);
}

inline void tempered_sweep(const TemperedPass& pass, double t, Stream& rng,
                           const TemperedScratch& s) {
  std::uint16_t* z = pass.z;
  // Per token: a document may be long, and one entry of it may be, too.
  const std::int64_t per_look = std::max<std::int64_t>(1, kMuchWork / pass.padded);
  std::int64_t left = per_look;
  for (std::int64_t i = 0; i < pass.W.n_docs; ++i)
    for (std::int64_t p = pass.W.indptr[i]; p < pass.W.indptr[i + 1]; ++p) {
      const std::int32_t j = pass.W.indices[p];
      std::int32_t *c = pass.c.row(i), *n = pass.n.row(j), *total = pass.total.row(pass.block[j]);
      for (std::int32_t copy = 0; copy < pass.W.data[p]; ++copy, ++z) {
        --c[*z], --n[*z], --total[*z];
        const float mass = tempered_weights(pass, i, j, t, s);
        const float u = static_cast<float>(rng.uniform32()) * mass;
        *z = static_cast<std::uint16_t>(place_of_draw(s.part, pass.padded, u));
        ++c[*z], ++n[*z], ++total[*z];
        if (--left == 0) {
          stop_point();
          left = per_look;
        }
      }
    }
}

}  // namespace dcomp::DCOMP_ISA
