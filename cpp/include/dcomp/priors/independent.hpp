// Arithmetic of priors whose scores are independent given an exposure: the scores integrated out of
// a document's counts (MODELS.md section 2), component by component.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/count_table.hpp"
#include "dcomp/rising_factorial.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp::DCOMP_ISA {

// The logs that a document's exposure decides for one component: what a count of 0 adds, what any
// other count adds more, and what each token adds.
struct MomentLogs {
  double zero, present, token;
};

// P: shape(prior, k), the a of the rising factorial a (a + 1) ... (a + c - 1); and
// moment_logs(prior, k, e).
template <class P>
class IndependentMoments {
 public:
  IndependentMoments(const ScorePrior& prior, const std::int32_t*) : prior_(prior), common_(prior) {
    rising_.reserve(static_cast<std::size_t>(prior.n_components));
    for (std::int64_t k = 0; k < prior.n_components; ++k) rising_.emplace_back(P::shape(prior, k));
    common_.fill(prior, 1.0);
  }

  double sum(const CountView& c, std::int64_t first, std::int64_t last) const {
    double sum = 0;
    if (prior_.exposure == nullptr && prior_.allowed.all()) {
      for (std::int64_t i = first; i < last; ++i) sum += of_document(c, i, common_);
      return sum;
    }
    Logs own(prior_);
    for (std::int64_t i = first; i < last; ++i) {
      own.fill(prior_, prior_.exposure == nullptr ? 1.0 : prior_.exposure[i], i);
      sum += of_document(c, i, own);
    }
    return sum;
  }

 private:
  struct Logs {
    std::vector<MomentLogs> of;
    double sum_zero = 0;

    explicit Logs(const ScorePrior& prior) : of(static_cast<std::size_t>(prior.n_components)) {}
    // i: the document, -1 where it may be any.
    void fill(const ScorePrior& prior, double e, std::int64_t i = -1) {
      sum_zero = 0;
      for (std::int64_t k = 0; k < prior.n_components; ++k) {
        MomentLogs& logs = of[static_cast<std::size_t>(k)];
        logs = P::moment_logs(prior, k, e);
        if (i < 0 || prior.allowed(i, k)) sum_zero += logs.zero;
      }
    }
  };

  double of_document(const CountView& c, std::int64_t i, const Logs& logs) const {
    double value = logs.sum_zero;
    c.visit(i, [&](std::int64_t at, std::int32_t count) {
      const auto k = static_cast<std::size_t>(at);
      value += rising_[k](count) + logs.of[k].present + count * logs.of[k].token;
    });
    return value;
  }

  const ScorePrior prior_;
  std::vector<RisingFactorial> rising_;
  Logs common_;
};

}  // namespace dcomp::DCOMP_ISA
