// Structures of components to test on.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/kernels/structured_pass.hpp"

namespace dcomp::test {

inline constexpr RowKind kEvery[] = {RowKind::fixed, RowKind::shared, RowKind::document,
                                     RowKind::phi, RowKind::document_phi};

struct Shape {
  std::vector<std::int32_t> leaf, node, parent;
  std::int64_t K = 0, H = 0;
};

// K leaves in groups below internal nodes, these in groups again, up to a single one.
inline Shape tree_shape(std::int32_t K, std::int32_t group) {
  Shape shape;
  shape.K = K;
  std::int32_t first = 0, last = K;
  while (last - first > 1) {
    const std::int32_t above = last;
    for (std::int32_t h = first; h < last; ++h) shape.parent.push_back(above + (h - first) / group);
    first = last;
    last = shape.parent.back() + 1;
  }
  shape.parent.push_back(-1);
  shape.H = static_cast<std::int64_t>(shape.parent.size());
  for (std::int32_t c = 0; c < K; ++c)
    for (std::int32_t h = c; h >= 0; h = shape.parent[static_cast<std::size_t>(h)]) {
      shape.leaf.push_back(c);
      shape.node.push_back(h);
    }
  return shape;
}

inline Shape full_shape(std::int32_t K, std::int32_t H) {
  Shape shape;
  shape.K = K;
  shape.H = H;
  for (std::int32_t c = 0; c < K; ++c)
    for (std::int32_t h = 0; h < H; ++h) {
      shape.leaf.push_back(c);
      shape.node.push_back(h);
    }
  return shape;
}

}  // namespace dcomp::test
