// The library's mean field on owned memory: what the cases below call.
#pragma once

#include <string>
#include <vector>

#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/mean_field.hpp"
#include "random_counts.hpp"

namespace dcomp::test {

template <class T>
struct Matrix {
  std::int64_t n_rows = 0, width = 0, stride = 0;
  std::vector<T> values;

  Matrix() = default;
  Matrix(std::int64_t rows, std::int64_t columns, std::int64_t from_row_to_row = 0)
      : n_rows(rows),
        width(columns),
        stride(from_row_to_row > 0 ? from_row_to_row : columns),
        values(static_cast<std::size_t>(rows * stride), T(0)) {}

  T& operator()(std::int64_t i, std::int64_t k) {
    return values[static_cast<std::size_t>(i * stride + k)];
  }
  T operator()(std::int64_t i, std::int64_t k) const {
    return values[static_cast<std::size_t>(i * stride + k)];
  }
  Rows<T> rows() { return {values.data(), n_rows, width, stride}; }
  Rows<const T> view() const { return {values.data(), n_rows, width, stride}; }

  template <class To>
  Matrix<To> as() const {
    Matrix<To> out(n_rows, width);
    for (std::int64_t i = 0; i < n_rows; ++i)
      for (std::int64_t k = 0; k < width; ++k) out(i, k) = static_cast<To>((*this)(i, k));
    return out;
  }
};

// Random numbers in (low, high), exact in float, so that both precisions start from one value.
inline Matrix<double> random_matrix(std::int64_t rows, std::int64_t columns, double low,
                                    double high, std::uint64_t seed) {
  Random random(seed);
  Matrix<double> out(rows, columns);
  for (double& value : out.values)
    value = static_cast<double>(static_cast<float>(low + (high - low) * random.uniform()));
  return out;
}

// A model's key with the way its scores enter.
struct Kind {
  const char* key;
  ScoreMode mode;
  friend bool operator==(const Kind& a, const Kind& b) {
    return std::string(a.key) == b.key && a.mode == b.mode;
  }
};
inline constexpr Kind kDirichlet{"DM", ScoreMode::expect}, kGamma{"GP", ScoreMode::expect},
    kDirichletMode{"DM", ScoreMode::maximise}, kGammaMode{"GP", ScoreMode::maximise};

struct Model {
  Kind kind = kDirichlet;
  std::vector<double> alpha, beta;  // (K)
  std::vector<double> exposure;     // (I), or empty where it is 1
  std::vector<double> gamma;        // (J)
  std::vector<std::int32_t> block;  // (J)
  std::int64_t n_blocks = 1;
  Treatment treatment = Treatment::mean;

  std::int64_t n_components() const { return static_cast<std::int64_t>(alpha.size()); }
  bool has_beta() const { return kind == kGamma || kind == kGammaMode; }
  ScorePrior prior() const {
    ScorePrior out;
    out.which = prior_named(kind.key);
    out.n_components = n_components();
    out.parameter[0] = alpha.data();
    if (has_beta()) out.parameter[1] = beta.data();
    if (!exposure.empty()) out.exposure = exposure.data();
    out.mode = kind.mode;
    return out;
  }
};

inline Model make_model(const Kind& kind, std::int64_t K, std::int64_t n_features) {
  Model model;
  model.kind = kind;
  for (std::int64_t k = 0; k < K; ++k) {
    model.alpha.push_back(0.25 + 0.125 * static_cast<double>(k % 4));
    model.beta.push_back(0.5 + 0.25 * static_cast<double>(k % 3));
  }
  model.gamma.assign(static_cast<std::size_t>(n_features), 0.5);
  model.block.assign(static_cast<std::size_t>(n_features), 0);
  return model;
}

template <class T>
struct Loadings {
  Matrix<T> Theta;
  std::vector<double> log_scale;
  double objective = 0;
};

template <class T>
Loadings<T> loadings(const Model& model, const Matrix<T>& n, int n_threads = 1) {
  Loadings<T> out;
  out.Theta = Matrix<T>(n.n_rows, n.width, padded_width<T>(n.width));
  out.log_scale.resize(static_cast<std::size_t>(n.n_rows));
  out.objective =
      update_loadings<T>(model.treatment, n.view(), model.gamma.data(), model.block.data(),
                         model.n_blocks, out.Theta.rows(), out.log_scale.data(), n_threads);
  return out;
}

struct Schedule {
  int max_inner = 1;
  double inner_tol = 0;
  int n_threads = 1;
};

template <class T>
struct Pass {
  Matrix<T> c, n;
  ExpectSums sums;
  std::vector<double> bound;  // of each document; fold_in only
};

template <class T>
ExpectInput<T> input_of(const Model& model, const OwnedCounts& W, const Loadings<T>& theta,
                        const Schedule& schedule) {
  return {W.view(),      theta.Theta.view(), theta.log_scale.data(),
          model.prior(), schedule.max_inner, schedule.inner_tol};
}

template <class T>
Pass<T> expect_pass(const Model& model, const OwnedCounts& W, const Loadings<T>& theta,
                    const Matrix<T>& c, const Schedule& schedule) {
  Pass<T> out;
  out.c = Matrix<T>(c.n_rows, c.width);
  out.n = Matrix<T>(W.n_features, c.width);
  out.sums = expect<T>(input_of(model, W, theta, schedule), CorpusIndex(W.view()), c.view(),
                       out.c.rows(), out.n.rows(), schedule.n_threads);
  return out;
}

template <class T>
Pass<T> fold_in_pass(const Model& model, const OwnedCounts& W, const Loadings<T>& theta,
                     const Matrix<T>& c, const Schedule& schedule) {
  Pass<T> out;
  out.c = Matrix<T>(c.n_rows, c.width);
  out.bound.resize(static_cast<std::size_t>(c.n_rows));
  out.sums = fold_in<T>(input_of(model, W, theta, schedule), c.view(), out.c.rows(),
                        out.bound.data(), schedule.n_threads);
  return out;
}

template <class T>
std::vector<double> log_predictive_of(const OwnedCounts& W, const Loadings<T>& theta,
                                      const Matrix<T>& scores, int n_threads = 1) {
  std::vector<double> out(static_cast<std::size_t>(W.n_docs()));
  log_predictive<T>(W.view(), theta.Theta.view(), theta.log_scale.data(), scores.view(), out.data(),
                    n_threads);
  return out;
}

}  // namespace dcomp::test
