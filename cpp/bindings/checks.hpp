// What a call is given, held against its rules before memory is touched. An error names the call,
// the argument, the rule and what was found.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>

#include "arrays.hpp"
#include "dcomp/gamma_view.hpp"
#include "dcomp/scan.hpp"

namespace dcomp::bindings {

// Components are numbered in 16 bits wherever tokens are given one, and 65,535 stands for none.
inline constexpr std::int64_t kMostComponents = 65535;
// More threads than the machine has would only cost memory, which each takes for itself.
inline int most_threads() {
  return std::max(64, static_cast<int>(std::thread::hardware_concurrency()));
}

// The memory of an argument, and whether the call writes to it.
struct Span {
  const char* name;
  const char* begin;
  std::size_t bytes;
  bool written;
};

template <class T, class... Rest>
Span span(const char* name, const nb::ndarray<T, Rest...>& array) {
  return {name, reinterpret_cast<const char*>(array.data()), array.size() * sizeof(T),
          !std::is_const_v<T>};
}
template <class Array>
Span span(const char* name, const std::optional<Array>& array) {
  return array ? span(name, *array) : Span{name, nullptr, 0, false};
}

class Call {
 public:
  explicit Call(const char* name) : name_(name) {}

  void require(bool holds, const char* rule) const {
    if (!holds) fail(rule);
  }
  // The same with what was given, a whole number.
  void require(bool holds, const char* rule, std::int64_t given) const {
    if (!holds) fail(rule + ("; got " + std::to_string(given)));
  }
  [[noreturn]] void fail(const std::string& what) const;

  // The number of threads to work with.
  int threads(int n_threads) const {
    require(n_threads >= 1, "n_threads must be at least 1", n_threads);
    return std::min(n_threads, most_threads());
  }
  void components(std::int64_t K) const {
    require(K >= 1 && K <= kMostComponents, "the number of components must lie in [1, 65535]", K);
  }
  void tolerance(const char* name, double value) const {
    if (!(value >= 0)) fail(name + (" must be 0 or more; got " + std::to_string(value)));
  }

  template <class... Of>
  void shape(const char* name, const nb::ndarray<Of...>& array,
             std::initializer_list<std::int64_t> wanted, const char* of) const {
    bool same = array.ndim() == wanted.size();
    std::size_t axis = 0;
    for (const std::int64_t size : wanted)
      same = same && static_cast<std::int64_t>(array.shape(axis++)) == size;
    if (same) return;
    std::string found;
    for (axis = 0; axis < array.ndim(); ++axis)
      found += (axis == 0 ? "" : ", ") + std::to_string(array.shape(axis));
    wrong_shape(name, wanted, of, found);
  }
  template <class Array>
  void shape(const char* name, const std::optional<Array>& array,
             std::initializer_list<std::int64_t> wanted, const char* of) const {
    if (array) shape(name, *array, wanted, of);
  }

  // All numbers in [low, high], of which `rule` says what that is.
  template <class T, class... Rest>
  void within(const char* name, const nb::ndarray<T, Rest...>& array, std::remove_const_t<T> low,
              std::remove_const_t<T> high, const char* rule) const {
    using Number = std::remove_const_t<T>;
    const std::int64_t at =
        first_outside<Number>(array.data(), static_cast<std::int64_t>(array.size()), low, high);
    if (at < 0) return;
    const std::int64_t width =
        array.ndim() < 2 ? 0 : static_cast<std::int64_t>(array.shape(array.ndim() - 1));
    wrong_number(name, rule, std::to_string(array.data()[at]), at, width);
  }
  template <class Array>
  void positive(const char* name, const Array& array) const {
    using Number = std::remove_const_t<typename Array::Scalar>;
    using Limits = std::numeric_limits<Number>;
    within(name, array, Limits::denorm_min(), Limits::max(), "positive and finite");
  }
  template <class Array>
  void not_negative(const char* name, const Array& array) const {
    using Number = std::remove_const_t<typename Array::Scalar>;
    within(name, array, Number(0), std::numeric_limits<Number>::max(), "0 or more, and finite");
  }
  template <class Array>
  void finite(const char* name, const Array& array) const {
    using Number = std::remove_const_t<typename Array::Scalar>;
    using Limits = std::numeric_limits<Number>;
    within(name, array, Limits::lowest(), Limits::max(), "finite");
  }

  // Logarithms of what may be 0.
  void logs(const char* name, const Vector<const double>& array) const {
    using Limits = std::numeric_limits<double>;
    within(name, array, -Limits::infinity(), Limits::max(), "finite or minus infinity");
  }

  void blocks(const Vector<const std::int32_t>& block, std::int64_t J, std::int64_t n_blocks) const;
  // Numbers of documents in the whole corpus.
  void documents(const char* name, const Vector<const std::int64_t>& number, std::int64_t I) const {
    shape(name, number, {I}, "documents");
    within(name, number, 0, kMostDocuments - 1, "numbers of documents, from 0 on");
  }

  // The prior of the loadings, (J) or, where each component has its own, (J, K).
  GammaView gamma(const GammaArray& array, std::int64_t J, std::int64_t K) const;

  // What is written must not lie in what else is used.
  void apart(std::initializer_list<Span> spans) const;

 private:
  [[noreturn]] void wrong_shape(const char* name, std::initializer_list<std::int64_t> wanted,
                                const char* of, const std::string& found) const;
  [[noreturn]] void wrong_number(const char* name, const char* rule, const std::string& found,
                                 std::int64_t at, std::int64_t width) const;

  const char* name_;
};

}  // namespace dcomp::bindings
