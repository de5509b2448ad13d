// A score prior's parameters as plain numbers: what every kernel is told of it.
//
// Which parameters there are, and what is done with them, is the prior's own business: one header
// each in priors/.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/tree.hpp"

namespace dcomp {

inline constexpr int kMostParameters = 4;

// How the scores enter the allocation of words: by q(scores) of mean field, or by their mode.
enum class ScoreMode { expect = 0, maximise = 1 };

struct ScorePrior {
  int which = 0;                                  // its place in priors/list.hpp
  std::int64_t n_components = 0;                  // K
  const double* parameter[kMostParameters] = {};  // (K) each, in the order that the prior names
  const double* exposure = nullptr;  // (I): total over blocks; null where it is 1, or has no
                                     // meaning
  const TreeView* tree = nullptr;    // where components are the nodes of one
  ScoreMode mode = ScoreMode::expect;
  double power = 1;  // of the scores in the allocation, below 1 for tempered EM
};

// The same for the allocation, laid out for vectors, with what is constant worked out once.
template <class T>
struct PriorView {
  const T* shape = nullptr;  // a - c, where a is the parameter of the scores given c; padding 1
  const T* shift = nullptr;  // what turns a into log weights or, for a mode, weights
  const double* parameter[kMostParameters] = {};  // padding 1
  const double* is_real = nullptr;                // 1 for a component, 0 for padding
  const double* exposure = nullptr;
  double constant = 0;  // the terms of the bound that no document changes
  std::int64_t padded = 0;
  double power = 1;
  const TreeView* tree = nullptr;
};

// Owner of what a PriorView points to. The prior's own `prepare` fills shape, shift and constant.
template <class T>
class PreparedPrior {
 public:
  PreparedPrior(const ScorePrior& prior, std::int64_t padded);
  PriorView<T> view() const;

  std::vector<T> shape, shift;  // (padded)
  double constant = 0;

 private:
  std::vector<double> parameters_, is_real_;
  const double* exposure_;
  const TreeView* tree_;
  double power_;
};

}  // namespace dcomp
