#pragma once

#include "corpus.hpp"

namespace dcomp::bindings {

void define_samplers(nb::module_& m);

}  // namespace dcomp::bindings
