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

// Which components a document may use (MODELS.md section 11): documents of one group may use the
// same.
struct AllowedView {
  const std::int32_t* group = nullptr;  // (I); null where all may use all
  const std::uint8_t* may = nullptr;    // (n_groups, K)
  std::int64_t n_groups = 0, K = 0;

  // Inlined, because kernels of every instruction set call it.
  [[gnu::always_inline]] bool all() const { return group == nullptr; }
  [[gnu::always_inline]] bool operator()(std::int64_t i, std::int64_t k) const {
    return group == nullptr || may[group[i] * K + k] != 0;
  }
};

struct ScorePrior {
  int which = 0;                                  // its place in priors/list.hpp
  std::int64_t n_components = 0;                  // K
  const double* parameter[kMostParameters] = {};  // (K) each, in the order that the prior names
  const double* exposure = nullptr;  // (I): total over blocks; null where it is 1, or has no
                                     // meaning
  AllowedView allowed;
  const TreeView* tree = nullptr;  // where components are the nodes of one
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
  // Where documents may not use all components: the group of each (I), and of each group what
  // is_real and constant are for all (n_groups, padded), (n_groups).
  const std::int32_t* group = nullptr;
  const double* real_of_group = nullptr;
  const double* constant_of_group = nullptr;

  // Inlined, because kernels of every instruction set call it.
  [[gnu::always_inline]] const double* real(std::int64_t i) const {
    return group == nullptr ? is_real : real_of_group + group[i] * padded;
  }
  [[gnu::always_inline]] double constant_of(std::int64_t i) const {
    return group == nullptr ? constant : constant_of_group[group[i]];
  }
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
  void restrict_to(const ScorePrior& prior);

  std::vector<double> parameters_, is_real_, real_of_group_, constant_of_group_;
  const std::int32_t* group_ = nullptr;
  const double* exposure_;
  const TreeView* tree_;
  double power_;
};

}  // namespace dcomp
