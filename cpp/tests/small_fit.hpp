#pragma once

#include <vector>

namespace dcomp::test {

// A few passes of DM and GP in both precisions: first the numbers of double, then as many of
// float.
std::vector<double> small_fit();

}  // namespace dcomp::test
