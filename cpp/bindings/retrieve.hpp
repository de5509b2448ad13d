// Inverted lists, as Python makes and asks them.
#pragma once

#include <nanobind/nanobind.h>

namespace dcomp::bindings {

void define_retrieve(nanobind::module_& m);

}  // namespace dcomp::bindings
