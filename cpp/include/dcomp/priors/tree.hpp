// TM: scores from a tree of components, BJ04 3.4. q is a Beta per internal node and a Dirichlet
// over its children, all of them given by c: E[log m_k] is a sum of digamma differences along the
// path.
#pragma once

#include "dcomp/priors/concept.hpp"
#include "dcomp/tree.hpp"

namespace dcomp::DCOMP_ISA {

// In double: a path adds up many terms, and their cost is small beside that of the words.
template <class T>
class TreeScores {
 public:
  explicit TreeScores(const PriorView<T>& prior)
      : prior_(prior),
        tree_(*prior.tree),
        K_(whole(tree_.K)),
        H_(whole(tree_.H)),
        room_(new double[static_cast<std::size_t>(5 * K_ + 10 * H_)]) {
    for (std::int64_t at = 0; at < 5 * K_ + 10 * H_; ++at) room_[at] = 1;  // padding too
    S_ = room_;
    branch_ = room_ + K_;
    psi_branch_ = room_ + 2 * K_;
    e_log_ = room_ + 3 * K_;
    mean_ = room_ + 4 * K_;
    stop_ = room_ + 5 * K_;
    go_ = stop_ + H_;
    both_ = stop_ + 2 * H_;
    total_ = stop_ + 3 * H_;
    psi_ = stop_ + 4 * H_;
    pass_ = stop_ + 8 * H_;
    pass_mean_ = stop_ + 9 * H_;
  }
  ~TreeScores() { delete[] room_; }
  TreeScores(const TreeScores&) = delete;
  TreeScores& operator=(const TreeScores&) = delete;

  void shift(std::int64_t, T* out) const {
    for (std::int64_t k = 0; k < prior_.padded; ++k) out[k] = 0;
  }

  double weights(Scratch<T>& s) const {
    for (std::int64_t k = 0; k < prior_.padded; ++k) s.a[k] = s.c[k];
    expected_logs(s.a);
    double top = -1e300;
    for (std::int64_t k = 0; k < tree_.K; ++k) top = e_log_[k] > top ? e_log_[k] : top;
    for (std::int64_t k = 0; k < tree_.K; k += kLanes<double>) {
      const Vec<double> e = exp<double>(load(e_log_ + k) - top);
      store_double(s.e + k, max<double>(e, broadcast<double>(kWeightFloor<T>)));
    }
    for (std::int64_t k = tree_.K; k < prior_.padded; ++k) s.e[k] = kWeightFloor<T>;
    return top;
  }

  // a: the counts that `weights` was called with. The prior's part of the bound is the ratio of the
  // normalisers of posterior and prior, less sum_k c_k E[log m_k].
  double close(std::int64_t, const T* a, ScoreSums sums, double* common) const {
    expected_logs(a);
    Vec<double> nodes{}, children{};
    for (std::int64_t h = 0; h < H_; h += kLanes<double>)  // the padding is lnG(1) = 0
      nodes += log_gamma(load(stop_ + h)) + log_gamma(load(go_ + h)) - log_gamma(load(both_ + h)) -
               log_gamma(load(total_ + h));
    for (std::int64_t k = 0; k < K_; k += kLanes<double>) children += log_gamma(load(branch_ + k));
    double value = prior_.constant + sum<double>(nodes) + sum<double>(children);
    means();
    for (std::int64_t k = 0; k < tree_.K; ++k) {
      value -= static_cast<double>(a[k]) * e_log_[k];
      sums.log[k] += e_log_[k];
      sums.mean[k] += mean_[k];
    }
    *common = 0;
    return value;
  }

 private:
  static std::int64_t whole(std::int64_t n) {
    return (n + kLanes<double> - 1) / kLanes<double> * kLanes<double>;
  }

  void expected_logs(const T* c) const {
    for (std::int64_t k = 0; k < tree_.K; ++k) S_[k] = static_cast<double>(c[k]);
    for (std::int64_t at = tree_.K - 1; at > 0; --at)
      S_[tree_.parent[tree_.order[at]]] += S_[tree_.order[at]];
    for (std::int64_t k = 1; k < tree_.K; ++k) branch_[k] = tree_.b[k] + S_[k];  // 1 at the root
    for (std::int64_t h = 0; h < tree_.H; ++h) {
      const std::int32_t node = tree_.inner[h];
      const auto own = static_cast<double>(c[node]);
      // Rounding must not make a total of nothing negative.
      const double rest = S_[node] > own ? S_[node] - own : 0.0;
      stop_[h] = tree_.a1[node] + own;
      go_[h] = tree_.a2[node] + rest;
      both_[h] = stop_[h] + go_[h];
      total_[h] = tree_.b_total[h] + rest;
    }
    for (std::int64_t k = 0; k < K_; k += kLanes<double>)
      store<double>(psi_branch_ + k, digamma<double>(load(branch_ + k)));
    for (std::int64_t h = 0; h < 4 * H_; h += kLanes<double>)  // stop, go, both, total
      store<double>(psi_ + h, digamma<double>(load(stop_ + h)));
    for (std::int64_t at = 0; at < tree_.K; ++at) {
      const std::int32_t node = tree_.order[at], h = tree_.slot[node];
      const double reach =
          at == 0 ? 0.0 : pass_[tree_.slot[tree_.parent[node]]] + psi_branch_[node];
      e_log_[node] = reach;
      if (h < 0) continue;
      e_log_[node] += psi_[h] - psi_[2 * H_ + h];
      pass_[h] = reach + psi_[H_ + h] - psi_[2 * H_ + h] - psi_[3 * H_ + h];
    }
  }

  void means() const {
    for (std::int64_t at = 0; at < tree_.K; ++at) {
      const std::int32_t node = tree_.order[at], h = tree_.slot[node];
      const double reach =
          at == 0 ? 1.0 : pass_mean_[tree_.slot[tree_.parent[node]]] * branch_[node];
      mean_[node] = h < 0 ? reach : reach * stop_[h] / both_[h];
      if (h >= 0) pass_mean_[h] = reach * go_[h] / (both_[h] * total_[h]);
    }
  }

  const PriorView<T>& prior_;
  const TreeView& tree_;
  std::int64_t K_, H_;  // rounded up to whole vectors
  double* room_;
  double *S_, *branch_, *psi_branch_, *e_log_, *mean_;               // (K)
  double *stop_, *go_, *both_, *total_, *psi_, *pass_, *pass_mean_;  // (H), psi of four rows
};

}  // namespace dcomp::DCOMP_ISA
