// What the samplers that give each token a component share at the border.
#pragma once

#include <memory>
#include <optional>

#include "corpus.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp::bindings {

using Numbers = Vector<const double>;
using Maybe = std::optional<Numbers>;

inline void require_blocks(const Vector<const std::int32_t>& block, std::int64_t J,
                           std::int64_t n_blocks) {
  require(static_cast<std::int64_t>(block.shape(0)) == J, "block must hold J numbers");
  for (std::int64_t j = 0; j < J; ++j)
    require(block.data()[j] >= 0 && block.data()[j] < n_blocks, "block must lie in [0, n_blocks)");
}

// The tokens of a corpus; a sampler adds the counts of an assignment of them.
class TokenSampler {
 public:
  std::int64_t n_tokens() const { return cells_->n_tokens(); }

  void entries(Vector<std::int64_t> out) {
    require_tokens(out.shape(0));
    cells_->entries(W(), out.data());
  }

  void in_entry_order(Vector<const std::uint16_t> z, Vector<std::uint16_t> out) {
    require_tokens(z.shape(0));
    require_tokens(out.shape(0));
    cells_->in_entry_order(W(), z.data(), out.data());
  }

 protected:
  TokenSampler(nb::object corpus, const Vector<const std::int32_t>& block, std::int64_t n_blocks)
      : corpus_(corpus) {
    require_blocks(block, W().n_features, n_blocks);
  }
  // Once all else is known to be in order: this takes a while.
  void cut(int n_parts) {
    require(n_parts >= 1 && n_parts <= kMostParts, "n_parts must lie in [1, " +
                                                       std::to_string(kMostParts) + "]; got " +
                                                       std::to_string(n_parts));
    cells_ = std::make_unique<TokenCells>(W(), n_parts);
  }

  const CsrView& W() const { return nb::cast<Corpus&>(corpus_).W(); }
  void require_tokens(std::size_t size) const {
    require(static_cast<std::int64_t>(size) == n_tokens(), "one number per token is needed");
  }
  void require_gamma(const Numbers& gamma) const {
    require(static_cast<std::int64_t>(gamma.shape(0)) == cells_->n_features(),
            "gamma must hold J numbers");
  }

  std::unique_ptr<TokenCells> cells_;

 private:
  nb::object corpus_;
};

// The part of a sampler's Python class that is TokenSampler's.
template <class Sampler>
void define_tokens(nb::class_<Sampler>& sampler) {
  sampler.def_prop_ro("n_tokens", &Sampler::n_tokens)
      .def("entries", &Sampler::entries, nb::arg("entry").noconvert())
      .def("in_entry_order", &Sampler::in_entry_order, nb::arg("z").noconvert(),
           nb::arg("out").noconvert());
}

}  // namespace dcomp::bindings
