#pragma once

#include "corpus.hpp"

namespace dcomp::bindings {

void define_evaluation(nb::module_& m);

}  // namespace dcomp::bindings
