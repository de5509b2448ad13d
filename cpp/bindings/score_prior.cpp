#include "score_prior.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "dcomp/compiled.hpp"
#include "dcomp/counts.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp::bindings {

namespace {

template <class Items, class Text>
std::string listed(const Items& items, const Text& text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + std::string(text(item));
  return out;
}

int which_of(const std::string& key) {
  const int which = prior_named(key);
  const auto keys = listed(score_priors(), [](const auto& prior) { return prior.key; });
  require(which >= 0, "the key of a score prior must be one of " + keys + "; got '" + key + "'");
  return which;
}

std::string number(std::size_t n) { return std::to_string(n); }

// The parameter that is a probability.
constexpr const char* kShare = "rho";
// The one that exposures are added to.
constexpr const char* kRate = "beta";

// As `require`, for rules that are put together only where they are broken.
template <class Rule>
void require_else(bool holds, const Rule& rule) {
  if (!holds) throw std::invalid_argument(rule());
}

}  // namespace

Prior::Prior(const std::string& key, const Parameters& parameters,
             const std::optional<Numbers>& exposure,
             const std::optional<Vector<const std::int32_t>>& tree, const std::string& mode,
             double power, const std::optional<Vector<const std::int32_t>>& group,
             const std::optional<Matrix<const std::uint8_t>>& allowed)
    : key_(key), exposure_(exposure) {
  prior_.which = which_of(key);
  const PriorDescription& about = score_priors()[static_cast<std::size_t>(prior_.which)];
  take(parameters, about.parameters);
  take_tree(tree, about.has_tree);
  take_allowed(group, allowed, about.restricts);
  require(!exposure || !about.normalised,
          "model " + key + " takes the lengths of documents as given: it must have no exposure");
  if (exposure) Call("ScorePrior").not_negative("exposure", *exposure);
  require(mode == "expect" || mode == "maximise",
          "mode must be 'expect' or 'maximise'; got '" + mode + "'");
  prior_.mode = mode == "expect" ? ScoreMode::expect : ScoreMode::maximise;
  prior_.power = power;
  if (power == 1) return;
  require(mode == "maximise" && power > 0 && power < 1,
          "power must be 1, or lie between 0 and 1 with mode 'maximise'");
  require_mode("temper");
}

void Prior::take(const Parameters& parameters, const std::vector<std::string>& names) {
  const bool named = parameters.size() == names.size() &&
                     std::all_of(names.begin(), names.end(),
                                 [&](const std::string& name) { return parameters.count(name); });
  const auto itself = [](const std::string& name) { return name; };
  require(named, "model " + key_ + " must have the parameters " + listed(names, itself) + "; got " +
                     listed(parameters, [](const auto& item) { return item.first; }));
  const Call call("ScorePrior");
  names_ = names;
  for (const std::string& name : names) {
    const Numbers& numbers = parameters.at(name);
    parameters_.emplace_back(numbers.data(), numbers.data() + numbers.size());
    const std::size_t K = parameters_[0].size();
    require(K >= 1 && numbers.size() == K,
            "every parameter of model " + key_ + " must hold a number per component, at least 1; " +
                names[0] + " holds " + number(K) + ", " + name + " " + number(numbers.size()));
    if (name == kShare)
      call.within(name.c_str(), numbers, 0, std::nextafter(1.0, 0.0), "in [0, 1)");
    else
      call.not_negative(name.c_str(), numbers);
  }
  for (std::size_t p = 0; p < names.size(); ++p) prior_.parameter[p] = parameters_[p].data();
  prior_.n_components = static_cast<std::int64_t>(parameters_[0].size());
  call.components(prior_.n_components);
}

void Prior::require_positive(const std::string& what) const {
  // A flat prior has the rate 0, to which an exposure is added; it is 1 where none is given.
  const bool exposed =
      !exposure_ || std::find(exposure_->data(), exposure_->data() + exposure_->size(), 0.0) ==
                        exposure_->data() + exposure_->size();
  for (std::size_t p = 0; p < names_.size(); ++p) {
    const std::vector<double>& numbers = parameters_[p];
    const auto zero = std::find(numbers.begin(), numbers.end(), 0.0);
    const bool may_be_zero = names_[p] == kShare || (names_[p] == kRate && exposed);
    require_else(may_be_zero || zero == numbers.end(), [&] {
      return what + " needs " + names_[p] + " of model " + key_ +
             " above 0; found 0 at component " +
             number(static_cast<std::size_t>(zero - numbers.begin()));
    });
  }
}

void Prior::take_allowed(const std::optional<Vector<const std::int32_t>>& group,
                         const std::optional<Matrix<const std::uint8_t>>& allowed, bool restricts) {
  require(group.has_value() == allowed.has_value(), "group and allowed must be given together");
  if (!group) return;
  require(restricts, "documents of model " + key_ + " may use all components");
  const Call call("ScorePrior");
  const auto n_groups = static_cast<std::int64_t>(allowed->shape(0));
  call.require(n_groups >= 1, "allowed must have a row", n_groups);
  call.shape("allowed", *allowed, {n_groups, prior_.n_components}, "groups and components");
  call.within("group", *group, 0, static_cast<std::int32_t>(n_groups - 1), "the rows of allowed");
  group_.assign(group->data(), group->data() + group->size());
  allowed_.assign(allowed->data(), allowed->data() + allowed->size());
  for (std::int64_t g = 0; g < n_groups; ++g) {
    const std::uint8_t* row = allowed_.data() + g * prior_.n_components;
    call.require(std::any_of(row, row + prior_.n_components, [](std::uint8_t may) { return may; }),
                 "a row of allowed must allow a component; none does in row", g);
  }
  prior_.allowed = {group_.data(), allowed_.data(), n_groups, prior_.n_components};
}

void Prior::take_tree(const std::optional<Vector<const std::int32_t>>& parent, bool wanted) {
  require(parent.has_value() == wanted, "model " + key_ +
                                            (wanted ? " must have the parents of a "
                                                      "tree"
                                                    : " must have no tree"));
  if (!parent) return;
  const std::int64_t K = prior_.n_components;
  require(static_cast<std::int64_t>(parent->shape(0)) == K,
          "the tree must have a parent per component (" + std::to_string(K) + "); got " +
              number(parent->shape(0)));
  const char* problem = check_tree(parent->data(), K);
  require(*problem == '\0', problem);
  require_positive("a tree");
  tree_.emplace(parent->data(), prior_.parameter[0], prior_.parameter[1], prior_.parameter[2], K);
  tree_view_ = tree_->view();
  prior_.tree = &tree_view_;
}

ScorePrior Prior::view(std::int64_t K, std::int64_t n_docs) const {
  require_else(prior_.n_components == K, [&] {
    return "the score prior must be of " + std::to_string(K) + " components; it is of " +
           std::to_string(prior_.n_components);
  });
  ScorePrior out = prior_;
  require_else(group_.empty() || static_cast<std::int64_t>(group_.size()) == n_docs, [&] {
    return "group must hold one number per document (" + std::to_string(n_docs) + "); got " +
           number(group_.size());
  });
  if (!exposure_) return out;
  require_else(static_cast<std::int64_t>(exposure_->shape(0)) == n_docs, [&] {
    return "exposure must hold one number per document (" + std::to_string(n_docs) + "); got " +
           number(exposure_->shape(0));
  });
  out.exposure = exposure_->data();
  return out;
}

ScorePrior Prior::linear(std::int64_t K, std::int64_t n_docs) const {
  require(predicts_linearly(prior_),
          "the score prior must have weights F (a + c) of components; that of model " + key_ +
              " has none");
  require_positive("a draw");
  return view(K, n_docs);
}

void Prior::require_mode(const std::string& mode) const {
  if (mode == "sample" || mode == "collapse") require_positive("a draw");
  if (is_compiled(key_, mode)) return;
  std::vector<std::string> modes;
  for (const Cell& cell : compiled())
    if (cell.key == key_) modes.emplace_back(cell.mode);
  require(false, "the score prior must be one to " + mode + "; that of model " + key_ + " can " +
                     listed(modes, [](const std::string& name) { return name; }));
}

void define_score_prior(nb::module_& m) {
  nb::class_<Prior>(m, "ScorePrior")
      .def(nb::init<const std::string&, const Prior::Parameters&,
                    const std::optional<Prior::Numbers>&,
                    const std::optional<Vector<const std::int32_t>>&, const std::string&, double,
                    const std::optional<Vector<const std::int32_t>>&,
                    const std::optional<Matrix<const std::uint8_t>>&>(),
           nb::arg("key"), nb::arg("parameters"), nb::arg("exposure").none() = nb::none(),
           nb::arg("tree").none() = nb::none(), nb::arg("mode") = "expect", nb::arg("power") = 1.0,
           nb::arg("group").none() = nb::none(), nb::arg("allowed").none() = nb::none())
      .def_prop_ro("key", &Prior::key)
      .def_prop_ro("n_components", &Prior::n_components)
      .def(
          "weights",
          [](const Prior& self, std::int64_t n_docs) {
            const std::int64_t K = self.n_components();
            Call("weights").require(n_docs >= 0 && n_docs < kMostDocuments,
                                    "n_docs must be at least 0, and below 2^46", n_docs);
            const PreparedWeights weights(self.linear(K, n_docs), n_docs, K);
            const ScoreWeights from = weights.view();
            const auto copy = [&](const float* values) {
              auto out = new_matrix<float>(weights.n_rows(), K);
              std::copy_n(values, weights.n_rows() * K, out.data());
              return out;
            };
            return std::make_tuple(copy(from.a0), copy(from.a), copy(from.F));
          },
          nb::arg("n_docs"),
          "a0, a, F of the token samplers: one row for all documents or one for each.");
}

}  // namespace dcomp::bindings
