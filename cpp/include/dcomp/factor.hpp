// Non-negative factorisation under the Kullback-Leibler loss, as a library.
#pragma once

#include "dcomp/kernels/factor_pass.hpp"

namespace dcomp {

// x_in -> x_out for every row of W, on any number of threads with one answer.
template <class T>
FactorSums factor(const FactorPass<T>& pass, int n_threads);

}  // namespace dcomp
