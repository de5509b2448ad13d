#include "checks.hpp"

#include <algorithm>

namespace dcomp::bindings {

namespace {

std::string listed(std::initializer_list<std::int64_t> numbers) {
  std::string out;
  for (const std::int64_t n : numbers) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

}  // namespace

void Call::fail(const std::string& what) const {
  throw std::invalid_argument(std::string(name_) + ": " + what);
}

void Call::wrong_shape(const char* name, std::initializer_list<std::int64_t> wanted, const char* of,
                       const std::string& found) const {
  fail(std::string(name) + " must have the shape (" + listed(wanted) + "), " + of + "; got (" +
       found + ")");
}

void Call::wrong_number(const char* name, const char* rule, const std::string& found,
                        std::int64_t at, std::int64_t width) const {
  const std::string place =
      width == 0 ? std::to_string(at)
                 : "row " + std::to_string(at / width) + ", column " + std::to_string(at % width);
  fail(std::string(name) + " must be " + rule + "; found " + found + " at " + place);
}

void Call::blocks(const Vector<const std::int32_t>& block, std::int64_t J,
                  std::int64_t n_blocks) const {
  // Each has a feature: more of them would take memory for nothing.
  require(n_blocks >= 1 && n_blocks <= std::max<std::int64_t>(J, 1),
          "n_blocks must lie in [1, features]", n_blocks);
  shape("block", block, {J}, "features");
  within("block", block, 0, static_cast<std::int32_t>(n_blocks - 1), "in [0, n_blocks)");
}

GammaView Call::gamma(const GammaArray& array, std::int64_t J, std::int64_t K) const {
  const bool own = array.ndim() == 2;
  if (own)
    shape("gamma", array, {J, K}, "features and components");
  else
    shape("gamma", array, {J}, "features");
  positive("gamma", array);
  return own ? GammaView(array.data(), K) : GammaView(array.data());
}

void Call::apart(std::initializer_list<Span> spans) const {
  const std::less<const char*> before;
  for (const Span* a = spans.begin(); a != spans.end(); ++a)
    for (const Span* b = a + 1; b != spans.end(); ++b) {
      if (!(a->written || b->written) || a->bytes == 0 || b->bytes == 0) continue;
      if (before(a->begin, b->begin + b->bytes) && before(b->begin, a->begin + a->bytes))
        fail(std::string((a->written ? a : b)->name) +
             " is written to and must not share memory with " + (a->written ? b : a)->name);
    }
}

}  // namespace dcomp::bindings
