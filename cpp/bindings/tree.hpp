// A tree of components with its priors, as Python hands it to the kernels.
#pragma once

#include <variant>

#include "arrays.hpp"
#include "dcomp/tree.hpp"

namespace dcomp::bindings {

class TreePrior {
 public:
  TreePrior(Vector<const std::int32_t> parent, Vector<const double> a1, Vector<const double> a2,
            Vector<const double> b)
      : tree_(checked(parent, a1, a2, b)), view_(tree_.view()) {}
  TreePrior(const TreePrior&) = delete;

  const Tree& tree() const { return tree_; }
  const TreeView& view() const { return view_; }
  std::int64_t K() const { return view_.K; }

 private:
  static Tree checked(const Vector<const std::int32_t>& parent, const Vector<const double>& a1,
                      const Vector<const double>& a2, const Vector<const double>& b) {
    const std::size_t K = parent.shape(0);
    require(a1.shape(0) == K && a2.shape(0) == K && b.shape(0) == K,
            "a1, a2 and b must hold a number per node");
    const char* problem = check_tree(parent.data(), static_cast<std::int64_t>(K));
    require(*problem == '\0', problem);
    for (std::size_t k = 0; k < K; ++k)
      require(a1.data()[k] > 0 && a2.data()[k] > 0 && b.data()[k] > 0,
              "a1, a2 and b must be positive");
    return Tree(parent.data(), a1.data(), a2.data(), b.data(), static_cast<std::int64_t>(K));
  }

  Tree tree_;
  TreeView view_;
};

// alpha of the flat priors, or a tree in its place.
using AlphaOrTree = std::variant<Vector<const double>, const TreePrior*>;

}  // namespace dcomp::bindings
