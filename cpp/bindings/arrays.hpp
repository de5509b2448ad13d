// NumPy arrays at the border: what is accepted, checked once, and turned into views.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <new>
#include <stdexcept>
#include <string>

#include "dcomp/counts.hpp"
#include "dcomp/matrix.hpp"

namespace dcomp::bindings {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// The prior of the loadings, with one axis or two.
using GammaArray = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

inline void require(bool holds, const std::string& rule) {
  if (!holds) throw std::invalid_argument(rule);
}

template <class T>
Rows<T> rows(const Matrix<T>& m) {
  const auto width = static_cast<std::int64_t>(m.shape(1));
  return {m.data(), static_cast<std::int64_t>(m.shape(0)), width, width};
}

// The same with K meaningful numbers per row, the rest padding.
template <class T>
Rows<T> padded_rows(const Matrix<T>& m, std::int64_t K) {
  Rows<T> r = rows(m);
  r.width = K;
  return r;
}

// A new NumPy array of that shape, not initialised. Its rows are gathered at random, so large ones
// ask for large pages: fewer misses of the address translation.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> new_matrix(std::int64_t n_rows, std::int64_t width) {
  constexpr std::align_val_t kLine{64};
  const auto r = static_cast<std::size_t>(n_rows), w = static_cast<std::size_t>(width);
  const std::size_t bytes = r * w * sizeof(T) + 64;
  auto* data = static_cast<T*>(::operator new(bytes, kLine));
#if defined(__linux__)
  constexpr std::size_t page = std::size_t{1} << 21;
  const std::size_t skip = (page - reinterpret_cast<std::size_t>(data) % page) % page;
  if (bytes >= 8 * page) madvise(reinterpret_cast<char*>(data) + skip, bytes - skip, MADV_HUGEPAGE);
#endif
  nb::capsule owner(data, [](void* p) noexcept { ::operator delete(p, kLine); });
  return {data, {r, w}, owner};
}

}  // namespace dcomp::bindings
