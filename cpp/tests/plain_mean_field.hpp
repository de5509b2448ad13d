// Mean field for DM and GP once more, in scalar double and in logs: BJ06 (13)-(19), line by line.
#pragma once

#include <algorithm>
#include <cmath>

#include "fitting.hpp"
#include "plain_special.hpp"

namespace dcomp::test {

inline double psi(double x) { return static_cast<double>(plain_digamma(x)); }
inline double log_gamma(double x) { return static_cast<double>(plain_log_gamma(x)); }

struct PlainLoadings {
  Matrix<double> log_weight;  // (J, K): log theta, or E[log theta]
  double objective = 0;       // log density of the prior at theta, or minus its divergence from q
};

inline PlainLoadings plain_loadings(const Model& model, const Matrix<double>& n) {
  const std::int64_t J = n.n_rows, K = n.width, G = model.n_blocks;
  const bool vb = model.treatment == Treatment::vb;
  // The prior is Dirichlet(gamma + more); a point theta is its posterior's mode.
  const double more = model.treatment == Treatment::mean ? 1 : 0;
  const double less = vb ? 0 : 1;
  PlainLoadings out{Matrix<double>(J, K), 0};
  for (std::int64_t k = 0; k < K; ++k)
    for (std::int64_t g = 0; g < G; ++g) {
      double total = 0, prior_total = 0;
      for (std::int64_t j = 0; j < J; ++j) {
        if (model.block[static_cast<std::size_t>(j)] != g) continue;
        const double prior = model.gamma[static_cast<std::size_t>(j)] + more;
        total += n(j, k) + prior - less;
        prior_total += prior;
      }
      out.objective += log_gamma(prior_total) - (vb ? log_gamma(total) : 0);
      for (std::int64_t j = 0; j < J; ++j) {
        if (model.block[static_cast<std::size_t>(j)] != g) continue;
        const double prior = model.gamma[static_cast<std::size_t>(j)] + more;
        const double q = n(j, k) + prior - less;
        const double log_weight = vb ? psi(q) - psi(total) : std::log(q / total);  // (15)
        out.log_weight(j, k) = log_weight;
        out.objective -= log_gamma(prior);
        if (vb) out.objective += log_gamma(q) + (prior - q) * log_weight;
        if (!vb && prior != 1) out.objective += (prior - 1) * log_weight;
      }
    }
  return out;
}

struct PlainPass {
  Matrix<double> c, n;
  std::vector<double> bound;
  std::vector<double> log, mean;  // (K): sums of E[log score] and E[score]
  std::int64_t inner = 0;
};

// One document's update, from c to c.
class PlainDocument {
 public:
  PlainDocument(const Model& model, const OwnedCounts& W, const Matrix<double>& log_weight,
                std::int64_t i)
      : model_(model),
        W_(W),
        log_weight_(log_weight),
        begin_(static_cast<std::size_t>(W.indptr[static_cast<std::size_t>(i)])),
        end_(static_cast<std::size_t>(W.indptr[static_cast<std::size_t>(i) + 1])),
        exposure_(model.exposure.empty() ? 1 : model.exposure[static_cast<std::size_t>(i)]) {}

  std::vector<double> e_log, mean;
  double bound = 0;

  // Adds its share of n where n is given.
  std::vector<double> update(const std::vector<double>& c, Matrix<double>* n) {
    scores(c);
    std::vector<double> next(c.size(), 0.0), x(c.size());
    for (std::size_t p = begin_; p < end_; ++p) {
      const std::int64_t j = W_.indices[p];
      for (std::size_t k = 0; k < c.size(); ++k)
        x[k] = log_weight_(j, static_cast<std::int64_t>(k)) + e_log[k];
      const double top = *std::max_element(x.begin(), x.end());
      double Z = 0;
      for (double& value : x) Z += value = std::exp(value - top);
      bound += W_.data[p] * (top + std::log(Z));
      for (std::size_t k = 0; k < c.size(); ++k) {
        const double v = W_.data[p] * x[k] / Z;  // (13), (17)
        next[k] += v;
        if (n != nullptr) (*n)(j, static_cast<std::int64_t>(k)) += v;
      }
    }
    return next;
  }

 private:
  // q(scores) given c, and the bound (16) or (19) without its sum over words.
  void scores(const std::vector<double>& c) {
    const std::size_t K = c.size();
    e_log.assign(K, 0.0);
    mean.assign(K, 0.0);
    bound = 0;
    double a_total = 0, alpha_total = 0;
    for (std::size_t k = 0; k < K; ++k) {
      a_total += model_.alpha[k] + c[k];
      alpha_total += model_.alpha[k];
    }
    for (std::size_t k = 0; k < K; ++k) {
      const double alpha = model_.alpha[k], a = alpha + c[k];
      if (model_.kind == kGamma) {
        const double beta = model_.beta[k], b = beta + exposure_;
        e_log[k] = psi(a) - std::log(b);  // (14)
        mean[k] = a / b;
        bound += alpha * std::log(beta) - a * std::log(b);
      } else {
        e_log[k] = psi(a) - psi(a_total);  // (18)
        mean[k] = a / a_total;
      }
      bound += log_gamma(a) - log_gamma(alpha) + (alpha - a) * e_log[k];
    }
    if (model_.kind == kDirichlet) bound += log_gamma(alpha_total) - log_gamma(a_total);
  }

  const Model& model_;
  const OwnedCounts& W_;
  const Matrix<double>& log_weight_;
  std::size_t begin_, end_;
  double exposure_;
};

// One pass over the documents; n belongs to the last update of each, and so does the bound.
inline PlainPass plain_pass(const Model& model, const OwnedCounts& W,
                            const Matrix<double>& log_weight, const Matrix<double>& c,
                            const Schedule& schedule) {
  const std::int64_t I = W.n_docs(), K = model.n_components();
  PlainPass out;
  out.c = Matrix<double>(I, K);
  out.n = Matrix<double>(W.n_features, K);
  out.log.assign(static_cast<std::size_t>(K), 0.0);
  out.mean.assign(static_cast<std::size_t>(K), 0.0);
  for (std::int64_t i = 0; i < I; ++i) {
    PlainDocument document(model, W, log_weight, i);
    std::vector<double> now, next;
    for (std::int64_t k = 0; k < K; ++k) next.push_back(c(i, k));
    for (int inner = 0; inner < schedule.max_inner; ++inner) {
      now = next;
      next = document.update(now, nullptr);
      ++out.inner;
      if (now == next) break;  // an empty document is at its fixed point at once
    }
    document.update(now, &out.n);
    for (std::int64_t k = 0; k < K; ++k) {
      const auto at = static_cast<std::size_t>(k);
      out.c(i, k) = next[at];
      out.log[at] += document.e_log[at];
      out.mean[at] += document.mean[at];
    }
    out.bound.push_back(document.bound);
  }
  return out;
}

inline std::vector<double> plain_log_predictive(const OwnedCounts& W,
                                                const Matrix<double>& log_weight,
                                                const Matrix<double>& scores) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < W.n_docs(); ++i) {
    double total = 0, sum = 0;
    for (std::int64_t k = 0; k < scores.width; ++k) total += scores(i, k);
    for (auto p = static_cast<std::size_t>(W.indptr[static_cast<std::size_t>(i)]);
         p < static_cast<std::size_t>(W.indptr[static_cast<std::size_t>(i) + 1]); ++p) {
      double mixed = 0;
      for (std::int64_t k = 0; k < scores.width; ++k)
        mixed += scores(i, k) / total * std::exp(log_weight(W.indices[p], k));
      sum += W.data[p] * std::log(mixed);
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace dcomp::test
