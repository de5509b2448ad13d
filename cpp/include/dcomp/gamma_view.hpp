// The Dirichlet prior of the loadings: gamma_j for all components, or gamma_jk for each its own
// (MODELS.md section 11).
#pragma once

#include <cstdint>

namespace dcomp {

struct GammaView {
  const double* data = nullptr;
  std::int64_t row = 1, column = 0;

  GammaView() = default;
  // (J), the same for all components.
  GammaView(const double* of_features) : data(of_features) {}
  // (J, K).
  GammaView(const double* own, std::int64_t K) : data(own), row(K), column(1) {}

  // Inlined, because kernels of every instruction set call it.
  [[gnu::always_inline]] bool is_own() const { return column != 0; }
  [[gnu::always_inline]] double operator()(std::int64_t j, std::int64_t k) const {
    return data[j * row + k * column];
  }
};

}  // namespace dcomp
