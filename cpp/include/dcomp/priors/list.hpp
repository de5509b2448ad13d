// The score priors that exist, and their parameters as plain numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/tree.hpp"

namespace dcomp {

// Each in two modes: "expect", q(scores) of mean field, and "maximise", the mode of the scores.
enum class Prior { dirichlet = 0, gamma = 1, dirichlet_mode = 2, gamma_mode = 3, tree = 4 };
inline constexpr int kPriors = 5;
inline constexpr const char* kPriorNames[kPriors] = {"DM", "GP", "DM", "GP", "TM"};
inline constexpr const char* kPriorModes[kPriors] = {"expect", "expect", "maximise", "maximise",
                                                     "expect"};
inline constexpr bool has_beta(Prior prior) {
  return prior == Prior::gamma || prior == Prior::gamma_mode;
}
inline constexpr bool is_mode(Prior prior) {
  return prior == Prior::dirichlet_mode || prior == Prior::gamma_mode;
}

// alpha, beta: K numbers each (beta for GP only); tree in place of both for TM. exposure: total
// over blocks of each document, or null where it is 1 everywhere. power: of the scores in the
// allocation, below 1 for tempered EM (dirichlet_mode only).
struct ScorePrior {
  Prior kind = Prior::dirichlet;
  const double* alpha = nullptr;
  const double* beta = nullptr;
  const double* exposure = nullptr;
  std::int64_t n_components = 0;
  double power = 1;
  const TreeView* tree = nullptr;
};

// The same, laid out for vectors: padded to whole vectors, with what is constant worked out once.
template <class T>
struct PriorView {
  const T* alpha_t = nullptr;     // alpha, less 1 for a mode; padding 1
  const T* shift = nullptr;       // E[log score] - psi(a) at exposure 1, padding -1e30; for a mode
                                  // the factor of a in the score, padding 0
  const double* alpha = nullptr;  // padding 1
  const double* beta = nullptr;   // padding 1
  const double* is_real = nullptr;  // 1 for a component, 0 for padding
  const double* exposure = nullptr;
  double constant = 0;  // the terms of the bound that no document changes
  std::int64_t padded = 0;
  double power = 1;
  const TreeView* tree = nullptr;
};

// Owner of what a PriorView points to.
template <class T>
class PreparedPrior {
 public:
  PreparedPrior(const ScorePrior& prior, std::int64_t padded);
  PriorView<T> view() const;

 private:
  std::vector<T> alpha_t_, shift_;
  std::vector<double> alpha_, beta_, is_real_;
  const double* exposure_;
  const TreeView* tree_;
  double constant_ = 0, power_ = 1;
};

}  // namespace dcomp
