// The logistic normal by Laplace's method, as Python calls it.
#pragma once

#include <nanobind/nanobind.h>

namespace dcomp::bindings {

void define_laplace(nanobind::module_& m);

}  // namespace dcomp::bindings
