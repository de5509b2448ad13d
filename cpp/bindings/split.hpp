// Splitting documents in two, as Python calls it.
#pragma once

#include <nanobind/nanobind.h>

namespace dcomp::bindings {

void define_split(nanobind::module_& m);

}  // namespace dcomp::bindings
