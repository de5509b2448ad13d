// A score prior with memory of its own, by the key of its model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dcomp/compiled.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp::test {

struct OwnPrior {
  std::string key;
  std::vector<std::vector<double>> parameters;  // (K) each, in the order that the prior names
  std::vector<double> exposure = {};            // (I), or empty where it is 1
  std::vector<std::int32_t> parent = {};        // (K) of a tree, or empty

  // Holds as long as this does, and as long as it is not changed.
  ScorePrior view() {
    ScorePrior prior;
    prior.which = prior_named(key);
    prior.n_components = static_cast<std::int64_t>(parameters[0].size());
    for (std::size_t p = 0; p < parameters.size(); ++p) prior.parameter[p] = parameters[p].data();
    if (!exposure.empty()) prior.exposure = exposure.data();
    if (parent.empty()) return prior;
    tree_ = std::make_unique<Tree>(parent.data(), parameters[0].data(), parameters[1].data(),
                                   parameters[2].data(), prior.n_components);
    tree_view_ = std::make_unique<TreeView>(tree_->view());
    prior.tree = tree_view_.get();
    return prior;
  }

  std::unique_ptr<Tree> tree_ = nullptr;
  std::unique_ptr<TreeView> tree_view_ = nullptr;
};

// The same number for all K components.
inline std::vector<double> even(std::int64_t K, double value) {
  return std::vector<double>(static_cast<std::size_t>(K), value);
}

// Any prior of the list, with parameters that mean something for all of them.
inline OwnPrior any_prior(const PriorDescription& about, std::int64_t K) {
  OwnPrior prior{about.key, {}};
  for (std::size_t p = 0; p < about.parameters.size(); ++p) {
    prior.parameters.push_back(even(K, 0.0));
    for (std::int64_t k = 0; k < K; ++k)
      prior.parameters.back()[static_cast<std::size_t>(k)] =
          0.2 + 0.1 * static_cast<double>(p) + 0.01 * static_cast<double>(k % 7);
  }
  if (about.has_tree)
    for (std::int32_t k = 0; k < K; ++k) prior.parent.push_back(k == 0 ? -1 : (k - 1) / 2);
  return prior;
}

}  // namespace dcomp::test
