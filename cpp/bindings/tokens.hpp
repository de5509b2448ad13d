// What the samplers that give each token a component share at the border.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "corpus.hpp"
#include "dcomp/tokens.hpp"
#include "stop.hpp"

namespace dcomp::bindings {

using Numbers = Vector<const double>;
using Maybe = std::optional<Numbers>;

// An error unless the features' counts are there, which this needs.
inline void require_loaded(bool loaded, const char* what) {
  if (!loaded)
    throw std::runtime_error(
        std::string(what) +
        " needs the features' counts, and they are unloaded: load those of the "
        "whole corpus, or count z");
}

// The tokens of a corpus; a sampler adds the counts of an assignment of them. Calls let go of the
// GIL, so that two threads might meet in one sampler: the second is told.
class TokenSampler {
 public:
  std::int64_t n_tokens() const { return cells_->n_tokens(); }

  void entries(Vector<std::int64_t> out) {
    const Use use(*this, "entries", Needs::nothing);
    require_tokens("entry", out);
    const Released release;
    cells_->entries(W(), out.data());
  }

  void in_entry_order(Vector<const std::uint16_t> z, Vector<std::uint16_t> out) {
    const Use use(*this, "in_entry_order", Needs::nothing);
    require_tokens("z", z);
    require_tokens("out", out);
    use.apart({span("out", out), span("z", z)});
    const Released release;
    cells_->in_entry_order(W(), z.data(), out.data());
  }

 protected:
  enum class Needs { nothing, counts };

  // A call of a method, alone in the sampler for as long as it lives.
  class Use : public Call {
   public:
    Use(TokenSampler& of, const char* method, Needs needs) : Call(method), of_(of) {
      if (of.in_use_.exchange(true))
        throw std::runtime_error(std::string(method) +
                                 ": another thread is using this sampler; it serves one at a time");
      if (needs == Needs::nothing || of.is_counted_) return;
      of.in_use_ = false;
      throw std::runtime_error(std::string(method) +
                               ": there are no counts: z was never counted here, or a call that "
                               "changes them was stopped; count z");
    }
    ~Use() { of_.in_use_ = false; }
    Use(const Use&) = delete;

   private:
    TokenSampler& of_;
  };

  // A change of the counts, which are void unless it is done.
  class Change {
   public:
    explicit Change(TokenSampler& of) : of_(of), was_counted_(of.is_counted_) {
      of_.is_counted_ = false;
    }
    void done() { of_.is_counted_ = was_counted_; }
    void done_anew() { of_.is_counted_ = true; }

   private:
    TokenSampler& of_;
    bool was_counted_;
  };

  TokenSampler(const char* name, nb::object corpus, const Vector<const std::int32_t>& block,
               std::int64_t n_blocks)
      : corpus_(corpus), held_(held(corpus)) {
    Call(name).blocks(block, W().n_features, n_blocks);
  }
  // Once all else is known to be in order: this takes a while.
  void cut(int n_parts) {
    if (n_parts < 1 || n_parts > kMostParts)
      throw std::invalid_argument("n_parts must lie in [1, " + std::to_string(kMostParts) +
                                  "]; got " + std::to_string(n_parts));
    const CsrView& counts = W();
    const Released release;
    cells_ = std::make_unique<TokenCells>(counts, n_parts);
  }

  const CsrView& W() const { return held_->W(); }
  template <class Array>
  void require_tokens(const char* name, const Array& array) const {
    Call("a sampler").shape(name, array, {n_tokens()}, "tokens");
  }
  void require_gamma(const Numbers& gamma) const {
    const Call call("a sampler");
    call.shape("gamma", gamma, {cells_->n_features()}, "features");
    call.positive("gamma", gamma);
  }

  // Counts of features (n_features, width) that are to take the place of this part's own. `room`
  // (J): the most tokens that a row may have, null where any number will do.
  void require_whole(const Matrix<const std::int32_t>& n, std::int64_t width,
                     const std::vector<std::int32_t>& block, std::int64_t n_blocks,
                     const std::vector<std::int64_t>* room) const {
    const std::int64_t J = cells_->n_features();
    Call("load").shape("n", n, {J, width}, "features and what each is counted by");
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
    Call("load").require(most <= std::numeric_limits<std::int32_t>::max(),
                         "the tokens of a component in n must be fewer than 2^31", most);
  }

  std::unique_ptr<TokenCells> cells_;

 private:
  static const Corpus* held(const nb::object& corpus) {
    try {
      return nb::cast<const Corpus*>(corpus, false);
    } catch (const nb::cast_error&) {
      throw nb::type_error("corpus must be a Corpus");
    }
  }

  nb::object corpus_;  // kept alive for
  const Corpus* held_;
  std::atomic<bool> in_use_{false};
  bool is_counted_ = false;
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
