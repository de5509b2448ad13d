// A score prior as Python hands it to every kernel.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checks.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp::bindings {

// Which prior, its parameters by name, the documents' total exposure and the tree's parents where
// it has them. Names, lengths and numbers are checked once, when it is made.
class Prior {
 public:
  using Numbers = Vector<const double>;
  using Parameters = std::map<std::string, Numbers>;

  Prior(const std::string& key, const Parameters& parameters,
        const std::optional<Numbers>& exposure,
        const std::optional<Vector<const std::int32_t>>& tree, const std::string& mode,
        double power, const std::optional<Vector<const std::int32_t>>& group,
        const std::optional<Matrix<const std::uint8_t>>& allowed);
  Prior(const Prior&) = delete;

  const std::string& key() const { return key_; }
  std::int64_t n_components() const { return prior_.n_components; }

  // For n_docs documents and K components, which it must be of.
  ScorePrior view(std::int64_t K, std::int64_t n_docs) const;
  // The same as a prior whose predictive is linear, which it must be.
  ScorePrior linear(std::int64_t K, std::int64_t n_docs) const;
  // An error unless kernels were compiled for this way to allocate words.
  void require_mode(const std::string& mode) const;

 private:
  void take(const Parameters& parameters, const std::vector<std::string>& names);
  void take_allowed(const std::optional<Vector<const std::int32_t>>& group,
                    const std::optional<Matrix<const std::uint8_t>>& allowed, bool restricts);
  void take_tree(const std::optional<Vector<const std::int32_t>>& parent, bool wanted);

  // For what draws: without it a gamma has no shape, or no rate.
  void require_positive(const std::string& what) const;

  std::string key_;
  std::vector<std::string> names_;
  std::vector<std::vector<double>> parameters_;  // copies: who made it may change the arrays
  std::optional<Numbers> exposure_;
  std::vector<std::int32_t> group_;    // copies, as parameters are
  std::vector<std::uint8_t> allowed_;  // (groups, K)
  std::optional<Tree> tree_;
  TreeView tree_view_;
  ScorePrior prior_;
};

void define_score_prior(nb::module_& m);

}  // namespace dcomp::bindings
