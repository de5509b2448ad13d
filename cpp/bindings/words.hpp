// Texts and sequences at the border.
#pragma once

#include <nanobind/nanobind.h>

namespace dcomp::bindings {

void define_words(nanobind::module_& m);

}  // namespace dcomp::bindings
