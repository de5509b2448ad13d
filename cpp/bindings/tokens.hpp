// What the samplers that give each token a component share at the border.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp::bindings {

using Numbers = Vector<const double>;
using Maybe = std::optional<Numbers>;

// Whether an array, if there is one, has this shape.
template <class T>
bool is_or_none(const std::optional<Matrix<T>>& m, std::int64_t n_rows, std::int64_t width) {
  return !m || (static_cast<std::int64_t>(m->shape(0)) == n_rows &&
                static_cast<std::int64_t>(m->shape(1)) == width);
}

inline void require_blocks(const Vector<const std::int32_t>& block, std::int64_t J,
                           std::int64_t n_blocks) {
  require(static_cast<std::int64_t>(block.shape(0)) == J, "block must hold J numbers");
  for (std::int64_t j = 0; j < J; ++j)
    require(block.data()[j] >= 0 && block.data()[j] < n_blocks, "block must lie in [0, n_blocks)");
}

// An error unless the features' counts are there, which this needs.
inline void require_loaded(bool loaded, const char* what) {
  if (!loaded)
    throw std::runtime_error(
        std::string(what) +
        " needs the features' counts, and they are unloaded: load those of the "
        "whole corpus, or count z");
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

  // Counts of features (n_features, width) that are to take the place of this part's own. `room`
  // (J): the most tokens that a row may have, null where any number will do.
  void require_whole(const Matrix<const std::int32_t>& n, std::int64_t width,
                     const std::vector<std::int32_t>& block, std::int64_t n_blocks,
                     const std::vector<std::int64_t>* room) const {
    const std::int64_t J = cells_->n_features();
    require(static_cast<std::int64_t>(n.shape(0)) == J &&
                static_cast<std::int64_t>(n.shape(1)) == width,
            "n must be (n_features, " + std::to_string(width) + ") with " + std::to_string(J) +
                " features; got (" + std::to_string(n.shape(0)) + ", " +
                std::to_string(n.shape(1)) + ")");
    const std::vector<std::int64_t> own = cells_->tokens_of_features();
    std::vector<std::int64_t> total(static_cast<std::size_t>(n_blocks * width), 0);
    for (std::int64_t j = 0; j < J; ++j) {
      const auto at = static_cast<std::size_t>(j);
      const std::int32_t* row = n.data() + j * width;
      std::int64_t* of_block = total.data() + block[at] * width;
      std::int64_t tokens = 0;
      for (std::int64_t k = 0; k < width; ++k) {
        if (row[k] < 0)
          throw std::invalid_argument("n must hold no negative numbers; feature " +
                                      std::to_string(j) + " has " + std::to_string(row[k]));
        tokens += row[k];
        of_block[k] += row[k];
      }
      const auto has = [&](const char* rule, std::int64_t limit) {
        return rule + std::to_string(limit) + "; feature " + std::to_string(j) + " has " +
               std::to_string(tokens) + " in n";
      };
      if (tokens < own[at])
        throw std::invalid_argument(has("n must hold the tokens of this part, here ", own[at]));
      if (room != nullptr && tokens > (*room)[at])
        throw std::invalid_argument(
            has("n must hold no more tokens than feature_totals, here ", (*room)[at]));
    }
    const std::int64_t most = total.empty() ? 0 : *std::max_element(total.begin(), total.end());
    require(most <= std::numeric_limits<std::int32_t>::max(),
            "the tokens of a component in n must be fewer than 2^31; got " + std::to_string(most));
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
