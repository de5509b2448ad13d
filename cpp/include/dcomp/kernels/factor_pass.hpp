// What the kernel of non-negative factorisation is given, the same for every instruction set.
#pragma once

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"

namespace dcomp {

enum class FactorUpdate { multiplicative = 0, coordinates = 1 };

// One side of W ~ X F': rows of W with their x, all against F, whose columns sum to 1.
template <class T>
struct FactorPass {
  CsrView W;
  Rows<const T> F;     // (columns of W, padded K)
  Rows<const T> x_in;  // (rows of W, K)
  Rows<T> x_out;
  FactorUpdate update = FactorUpdate::coordinates;
  int max_rounds = 1;
  double tol = 0;  // rounds end when sum_k |change of x_k| <= tol * sum_p w_p
};

// Numbers that the gathered columns of one row may take; the longest row must fit once at least.
inline constexpr std::int64_t kColumnMemory = std::int64_t{1} << 19;

template <class T>
struct FactorScratch {
  T *x, *y, *w, *weight;  // x a padded row, the others the longest row of W
  T* columns;
  std::int64_t columns_size;
  double* gradient;      // one padded row
  std::int32_t* active;  // one padded row
};

struct FactorSums {
  double before = 0, after = 0;  // sum_p w_p log y_p
  double residual = 0;           // the largest breach of the conditions of a minimum, before
  std::int64_t rounds = 0;
};

}  // namespace dcomp
