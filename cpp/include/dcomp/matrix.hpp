// A view of row-major numbers: what the kernels know of a matrix.
#pragma once

#include <cstdint>

namespace dcomp {

template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t n_rows = 0;
  std::int64_t width = 0;   // numbers that mean something
  std::int64_t stride = 0;  // numbers from one row to the next; padding lies between

  // Always inline: this header is shared by all instruction sets (simd.hpp says why it matters).
  [[gnu::always_inline]] T* row(std::int64_t i) const { return data + i * stride; }
};

}  // namespace dcomp
