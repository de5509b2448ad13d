// The Python face of structured components.
#pragma once

#include "arrays.hpp"

namespace dcomp::bindings {

void define_structured(nb::module_& m);

}  // namespace dcomp::bindings
