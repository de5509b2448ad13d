// Score priors outside of the kernels: what is worked out once per sweep, compiled once for all
// machines, by the same list and the same headers that the kernels are compiled from.
#define DCOMP_ISA host

#include <algorithm>
#include <cmath>

#include "dcomp/compiled.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/gibbs.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/priors/list.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

using namespace host;

constexpr std::int64_t kRowsPerTask = 64;

// Null where the prior has no such mode, as in the tables of the kernels.
struct PriorFunctions {
  void (*prepare_f32[2])(const ScorePrior&, PreparedPrior<float>&) = {};  // by ScoreMode
  void (*prepare_f64[2])(const ScorePrior&, PreparedPrior<double>&) = {};
  double (*log_moments)(const ScorePrior&, const CountView&, const std::int32_t*, int) = nullptr;
  void (*add_means)(const ScorePrior&, const CountView&, const std::int32_t*, float*,
                    int) = nullptr;
  bool has_zeros = false;
  // For `n_rows` exposures from the first on, into rows of `padded` numbers; a0 where has_zeros.
  void (*fill_weights)(const ScorePrior&, std::int64_t n_rows, std::int64_t padded, float* a0,
                       float* a, float* F) = nullptr;
  void (*fill_logs)(const ScorePrior&, std::int64_t n_rows, std::int64_t padded, float* F,
                    float* present) = nullptr;
  void (*fill_first)(const ScorePrior&, std::int64_t n_rows, std::int64_t padded, float* weight,
                     double* log_largest) = nullptr;
  std::vector<double> (*shapes)(const ScorePrior&) = nullptr;
  TreeWeights (*tree_weights)(const ScorePrior&, TreeLayout&) = nullptr;
};

template <class P>
double log_moments(const ScorePrior& prior, const CountView& c, const std::int32_t* component,
                   int n_threads) {
  const typename P::Moments moments(prior, component);
  return sum_over_tasks(
      c.n_rows, kRowsPerTask, n_threads,
      [&](std::int64_t first, std::int64_t last, int) { return moments.sum(c, first, last); });
}

template <class P>
void add_means(const ScorePrior& prior, const CountView& c, const std::int32_t* component,
               float* out, int n_threads) {
  const typename P::Means means(prior, component);
  sum_over_tasks(c.n_rows, kRowsPerTask, n_threads,
                 [&](std::int64_t first, std::int64_t last, int) {
                   means.add(c, first, last, out);
                   return 0.0;
                 });
}

double exposure_of(const ScorePrior& prior, std::int64_t row) {
  return prior.exposure == nullptr ? 1.0 : prior.exposure[row];
}

template <class P>
void fill_weights(const ScorePrior& prior, std::int64_t n_rows, std::int64_t padded, float* a0,
                  float* a, float* F) {
  const typename P::Predictive predictive(prior);
  for (std::int64_t row = 0; row < n_rows; ++row, a0 += padded, a += padded, F += padded)
    for (std::int64_t k = 0; k < prior.n_components; ++k) {
      const LinearWeight weight = predictive.weight(k, exposure_of(prior, row));
      a[k] = static_cast<float>(weight.a);
      F[k] = static_cast<float>(weight.F);
      if constexpr (P::Predictive::has_zeros) a0[k] = static_cast<float>(weight.present * weight.a);
      if (prior.allowed(row, k)) continue;
      a[k] = 0;
      if constexpr (P::Predictive::has_zeros) a0[k] = 0;
    }
}

template <class P>
void fill_logs(const ScorePrior& prior, std::int64_t n_rows, std::int64_t padded, float* F,
               float* present) {
  const typename P::Predictive predictive(prior);
  for (std::int64_t row = 0; row < n_rows; ++row, F += padded, present += padded)
    for (std::int64_t k = 0; k < prior.n_components; ++k) {
      const LinearLogs logs = predictive.logs(k, exposure_of(prior, row));
      F[k] = prior.allowed(row, k) ? static_cast<float>(logs.F) : -1e30F;
      present[k] = static_cast<float>(logs.present);
    }
}

template <class P>
void fill_first(const ScorePrior& prior, std::int64_t n_rows, std::int64_t padded, float* weight,
                double* log_largest) {
  const typename P::Predictive predictive(prior);
  std::vector<double> log_a, log_weight;
  for (std::int64_t k = 0; k < prior.n_components; ++k)
    log_a.push_back(std::log(predictive.weight(k, 1.0).a));
  for (std::int64_t row = 0; row < n_rows; ++row, weight += padded) {
    log_weight = log_a;
    for (std::size_t k = 0; k < log_a.size(); ++k) {
      const LinearLogs logs =
          predictive.logs(static_cast<std::int64_t>(k), exposure_of(prior, row));
      log_weight[k] += logs.F;
      log_weight[k] += logs.present;
      if (!prior.allowed(row, static_cast<std::int64_t>(k))) log_weight[k] = -HUGE_VAL;
    }
    const double top = *std::max_element(log_weight.begin(), log_weight.end());
    for (std::size_t k = 0; k < log_a.size(); ++k)
      weight[k] = static_cast<float>(std::exp(log_weight[k] - top));
    log_largest[row] = top;
  }
}

template <class P>
std::vector<double> shapes_of(const ScorePrior& prior) {
  const typename P::Predictive predictive(prior);
  std::vector<double> out;
  for (std::int64_t k = 0; k < prior.n_components; ++k) out.push_back(predictive.weight(k, 1.0).a);
  return out;
}

template <class P>
constexpr PriorFunctions functions() {
  PriorFunctions out;
  if constexpr (Expects<P>) {
    out.prepare_f32[0] = &P::template Expect<float>::prepare;
    out.prepare_f64[0] = &P::template Expect<double>::prepare;
  }
  if constexpr (Maximises<P>) {
    out.prepare_f32[1] = &P::template Maximise<float>::prepare;
    out.prepare_f64[1] = &P::template Maximise<double>::prepare;
  }
  if constexpr (HasMoments<P>) out.log_moments = &log_moments<P>;
  if constexpr (HasMeans<P>) out.add_means = &add_means<P>;
  if constexpr (PredictsLinearly<P>) {
    out.has_zeros = P::Predictive::has_zeros;
    out.fill_weights = &fill_weights<P>;
    out.fill_logs = &fill_logs<P>;
    out.fill_first = &fill_first<P>;
    out.shapes = &shapes_of<P>;
  }
  if constexpr (PredictsByTree<P>)
    out.tree_weights = [](const ScorePrior& prior, TreeLayout& layout) {
      return typename P::Predictive(prior).weights(layout);
    };
  return out;
}

template <class P>
PriorDescription describe() {
  return {P::key,
          {std::begin(P::parameters), std::end(P::parameters)},
          P::normalised,
          P::has_tree,
          restricts<P>()};
}

template <class List>
struct Table;
template <class... P>
struct Table<PriorList<P...>> {
  static constexpr PriorFunctions functions[] = {dcomp::functions<P>()...};
  static std::vector<PriorDescription> descriptions() { return {describe<P>()...}; }
};

const PriorFunctions& functions_of(const ScorePrior& prior) {
  return Table<ScorePriors>::functions[prior.which];
}

}  // namespace

const std::vector<PriorDescription>& score_priors() {
  static const std::vector<PriorDescription> all = Table<ScorePriors>::descriptions();
  return all;
}

int prior_named(const std::string& key) {
  const auto& all = score_priors();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& prior) { return key == prior.key; });
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

template <class T>
PreparedPrior<T>::PreparedPrior(const ScorePrior& prior, std::int64_t padded)
    : shape(static_cast<std::size_t>(padded), T(1)),
      // A weight of padding is 0: the exponential of this, or the factor of a mode.
      shift(static_cast<std::size_t>(padded), prior.mode == ScoreMode::expect ? T(-1e30) : T(0)),
      parameters_(static_cast<std::size_t>(kMostParameters * padded), 1.0),
      is_real_(static_cast<std::size_t>(padded), 0.0),
      exposure_(prior.exposure),
      tree_(prior.tree),
      power_(prior.power) {
  for (int p = 0; p < kMostParameters && prior.parameter[p] != nullptr; ++p)
    std::copy_n(prior.parameter[p], prior.n_components, parameters_.begin() + p * padded);
  std::fill_n(is_real_.begin(), prior.n_components, 1.0);
  const PriorFunctions& of = functions_of(prior);
  const auto mode = static_cast<int>(prior.mode);
  if constexpr (sizeof(T) == sizeof(float))
    of.prepare_f32[mode](prior, *this);
  else
    of.prepare_f64[mode](prior, *this);
  if (!prior.allowed.all()) restrict_to(prior);
}

template <class T>
void PreparedPrior<T>::restrict_to(const ScorePrior& prior) {
  const AllowedView& allowed = prior.allowed;
  const std::size_t padded = shape.size();
  group_ = allowed.group;
  real_of_group_.assign(static_cast<std::size_t>(allowed.n_groups) * padded, 0.0);
  for (std::int64_t g = 0; g < allowed.n_groups; ++g) {
    // The constant of a group is that of a prior of its components alone.
    std::vector<double> of[kMostParameters];
    ScorePrior own = prior;
    own.allowed = {};
    own.n_components = 0;
    for (std::int64_t k = 0; k < prior.n_components; ++k) {
      if (allowed.may[g * prior.n_components + k] == 0) continue;
      real_of_group_[static_cast<std::size_t>(g) * padded + static_cast<std::size_t>(k)] = 1;
      ++own.n_components;
      for (int p = 0; p < kMostParameters && prior.parameter[p] != nullptr; ++p)
        of[p].push_back(prior.parameter[p][k]);
    }
    for (int p = 0; p < kMostParameters && prior.parameter[p] != nullptr; ++p)
      own.parameter[p] = of[p].data();
    constant_of_group_.push_back(PreparedPrior<T>(own, static_cast<std::int64_t>(padded)).constant);
  }
}

template <class T>
PriorView<T> PreparedPrior<T>::view() const {
  const auto padded = static_cast<std::int64_t>(shape.size());
  PriorView<T> view;
  view.shape = shape.data();
  view.shift = shift.data();
  for (int p = 0; p < kMostParameters; ++p) view.parameter[p] = parameters_.data() + p * padded;
  view.is_real = is_real_.data();
  view.exposure = exposure_;
  view.constant = constant;
  view.padded = padded;
  view.power = power_;
  view.tree = tree_;
  view.group = group_;
  view.real_of_group = real_of_group_.data();
  view.constant_of_group = constant_of_group_.data();
  return view;
}

template class PreparedPrior<float>;
template class PreparedPrior<double>;

double log_score_moments(const CountView& c, const ScorePrior& prior, const std::int32_t* component,
                         int n_threads) {
  return functions_of(prior).log_moments(prior, c, component, n_threads);
}

double log_urn_moments(const CountView& c, const std::vector<double>& a, int n_threads) {
  ScorePrior urn;
  urn.n_components = static_cast<std::int64_t>(a.size());
  urn.parameter[0] = a.data();
  return log_moments<DirichletScores>(urn, c, nullptr, n_threads);
}

bool has_score_means(const ScorePrior& prior) { return functions_of(prior).add_means != nullptr; }

void add_score_means(const CountView& c, const ScorePrior& prior, const std::int32_t* component,
                     float* out, int n_threads) {
  functions_of(prior).add_means(prior, c, component, out, n_threads);
}

bool predicts_linearly(const ScorePrior& prior) {
  return functions_of(prior).fill_weights != nullptr;
}

bool shares_weights(const ScorePrior& prior, std::int64_t n_docs) {
  if (!prior.allowed.all()) return false;
  const double* e = prior.exposure;
  return e == nullptr || std::all_of(e, e + n_docs, [&](double value) { return value == e[0]; });
}

PreparedWeights::PreparedWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded)
    : n_rows_(shares_weights(prior, n_docs) ? 1 : n_docs), padded_(padded) {
  const PriorFunctions& of = functions_of(prior);
  const auto size = static_cast<std::size_t>(n_rows_ * padded);
  a_.resize(size);
  F_.resize(size);
  if (of.has_zeros) a0_.resize(size);
  of.fill_weights(prior, n_rows_, padded, a0_.data(), a_.data(), F_.data());
}

ScoreWeights PreparedWeights::view() const {
  return {a0_.empty() ? a_.data() : a0_.data(), a_.data(), F_.data(), n_rows_ == 1 ? 0 : padded_};
}

LogWeights::LogWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded)
    : stride(shares_weights(prior, n_docs) ? 0 : padded) {
  const std::int64_t n_rows = stride == 0 ? 1 : n_docs;
  F.resize(static_cast<std::size_t>(n_rows * padded), -1e30F);
  present.resize(F.size(), 0.0F);
  functions_of(prior).fill_logs(prior, n_rows, padded, F.data(), present.data());
}

FirstWeights::FirstWeights(const ScorePrior& prior, std::int64_t n_docs, std::int64_t padded) {
  const std::int64_t n_rows = shares_weights(prior, n_docs) ? 1 : n_docs;
  weight.resize(static_cast<std::size_t>(n_rows * padded), 0.0F);
  log_largest.resize(static_cast<std::size_t>(n_rows));
  functions_of(prior).fill_first(prior, n_rows, padded, weight.data(), log_largest.data());
}

std::vector<double> shapes(const ScorePrior& prior) { return functions_of(prior).shapes(prior); }

TreeWeights tree_weights(const ScorePrior& prior, TreeLayout& layout) {
  return functions_of(prior).tree_weights(prior, layout);
}

}  // namespace dcomp
