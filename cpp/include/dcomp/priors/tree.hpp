// TM: scores from a tree of components, BJ04 3.4. Given c, a Beta per internal node and a Dirichlet
// over its children, all of them independent: everything follows from the subtree totals of c, by
// products and sums along the paths.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "dcomp/priors/concept.hpp"
#include "dcomp/random.hpp"
#include "dcomp/rising_factorial.hpp"
#include "dcomp/special.hpp"
#include "dcomp/tree_layout.hpp"

namespace dcomp::DCOMP_ISA {

struct TreeScores {
  static constexpr const char* key = "TM";
  static constexpr const char* parameters[] = {"a1", "a2", "b"};
  static constexpr bool normalised = true, has_tree = true;

  // E[log m_k] is a sum of digamma differences along the path. In double: a path adds up many
  // terms, and their cost is small beside that of the words.
  template <class T>
  class Expect {
   public:
    static void prepare(const ScorePrior& prior, PreparedPrior<T>& out) {
      out.constant = log_normalisers(*prior.tree);
    }
    explicit Expect(const PriorView<T>& prior)
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
    ~Expect() { delete[] room_; }
    Expect(const Expect&) = delete;
    Expect& operator=(const Expect&) = delete;

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

    // a: the counts that `weights` was called with. The prior's part of the bound is the ratio of
    // the normalisers of posterior and prior, less sum_k c_k E[log m_k].
    double close(std::int64_t, const T* a, ScoreSums sums, double* common) const {
      expected_logs(a);
      Vec<double> nodes{}, children{};
      for (std::int64_t h = 0; h < H_; h += kLanes<double>)  // the padding is lnG(1) = 0
        nodes += log_gamma(load(stop_ + h)) + log_gamma(load(go_ + h)) -
                 log_gamma(load(both_ + h)) - log_gamma(load(total_ + h));
      for (std::int64_t k = 0; k < K_; k += kLanes<double>)
        children += log_gamma(load(branch_ + k));
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

  struct Draw {
    static constexpr int room = 2;
    const TreeView& tree;

    explicit Draw(const ScorePrior& prior) : tree(*prior.tree) {}
    void operator()(std::int64_t, const std::int32_t* c, Stream& rng, double* out) const {
      double* S = out + tree.K;
      for (std::int64_t k = 0; k < tree.K; ++k) S[k] = c[k];
      for (std::int64_t at = tree.K - 1; at > 0; --at)
        S[tree.parent[tree.order[at]]] += S[tree.order[at]];
      out[0] = 0;
      for (std::int64_t h = 0; h < tree.H; ++h) divide(h, c, S, rng, out);
    }

   private:
    // What reaches internal node h among itself and its children.
    void divide(std::int64_t h, const std::int32_t* c, const double* S, Stream& rng,
                double* out) const {
      const std::int32_t node = tree.inner[h];
      const double reach = out[node];
      const double stays = draw_log_gamma(rng, tree.a1[node] + c[node]);
      const double goes = draw_log_gamma(rng, tree.a2[node] + S[node] - c[node]);
      const double both = log_add(stays, goes);
      out[node] = reach + stays - both;
      double top = -HUGE_VAL, sum = 0;
      for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at) {
        const std::int32_t child = tree.order[at];
        out[child] = draw_log_gamma(rng, tree.b[child] + S[child]);
        top = top < out[child] ? out[child] : top;
      }
      for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
        sum += std::exp(out[tree.order[at]] - top);
      // In this order, because next to a top of -1e38 the log of a sum is nothing.
      for (std::int32_t at = tree.below[h]; at < tree.below[h + 1]; ++at)
        out[tree.order[at]] = reach + (goes - both) + (out[tree.order[at]] - top - std::log(sum));
    }
    static double log_add(double x, double y) {
      const double top = x < y ? y : x, rest = x < y ? x : y;
      return top + std::log1p(std::exp(rest - top));
    }
  };

  // E[prod m^c]: Beta and Dirichlet ratios over the internal nodes.
  class Moments {
   public:
    Moments(const ScorePrior& prior, const std::int32_t* component)
        : tree_(*prior.tree),
          component_(component),
          stop_(tree_.H),
          go_(tree_.H),
          both_(tree_.H),
          total_(tree_.H),
          branch_(tree_.K),
          rank_(static_cast<std::size_t>(tree_.K)) {
      for (std::int32_t at = 0; at < tree_.K; ++at) rank_[tree_.order[at]] = at;
      for (std::int64_t h = 0; h < tree_.H; ++h) {
        const std::int32_t node = tree_.inner[h];
        stop_.set(h, tree_.a1[node]);
        go_.set(h, tree_.a2[node]);
        both_.set(h, tree_.a1[node] + tree_.a2[node]);
        total_.set(h, tree_.b_total[h]);
      }
      for (std::int64_t k = 0; k < tree_.K; ++k) branch_.set(k, tree_.b[k]);
    }

    // Of the nodes that a document has tokens at or below; the others add nothing.
    double sum(const CountView& c, std::int64_t first, std::int64_t last) const {
      std::vector<std::int32_t> own(static_cast<std::size_t>(tree_.K), 0), S(own), reached;
      double sum = 0;
      for (std::int64_t i = first; i < last; ++i) {
        reached.clear();
        c.visit(i, [&](std::int64_t k, std::int32_t count) {
          const std::int32_t of =
              component_ == nullptr ? static_cast<std::int32_t>(k) : component_[k];
          own[of] = count;
          for (std::int32_t node = of; node >= 0; node = tree_.parent[node]) {
            if (S[node] == 0) reached.push_back(rank_[node]);
            S[node] += count;
          }
        });
        std::sort(reached.begin(), reached.end());  // by the order of the tree: one sum, one answer
        for (auto at = reached.rbegin(); at != reached.rend(); ++at)
          if (*at > 0) sum += branch_(tree_.order[*at], S[tree_.order[*at]]);
        for (const std::int32_t at : reached) {
          const std::int32_t node = tree_.order[at], h = tree_.slot[node], D = S[node] - own[node];
          if (h < 0) continue;
          sum += stop_(h, own[node]) + go_(h, D) - both_(h, S[node]) - total_(h, D);
        }
        for (const std::int32_t at : reached) own[tree_.order[at]] = S[tree_.order[at]] = 0;
      }
      return sum;
    }

   private:
    // One table per parameter that differs: a tree has few of them.
    class RisingFactorials {
     public:
      explicit RisingFactorials(std::int64_t size) : of_(static_cast<std::size_t>(size)) {}
      RisingFactorials(const RisingFactorials&) = delete;
      void set(std::int64_t place, double a) {
        const auto found = by_value_.try_emplace(a, a).first;
        of_[static_cast<std::size_t>(place)] = &found->second;
      }
      double operator()(std::int64_t place, std::int32_t c) const {
        return (*of_[static_cast<std::size_t>(place)])(c);
      }

     private:
      std::map<double, RisingFactorial> by_value_;
      std::vector<const RisingFactorial*> of_;
    };

    const TreeView tree_;
    const std::int32_t* component_;
    RisingFactorials stop_, go_, both_, total_, branch_;
    std::vector<std::int32_t> rank_;  // of nodes in the order of the tree
  };

  // E[m_k | c], the product of the means along the path.
  class Means {
   public:
    Means(const ScorePrior& prior, const std::int32_t* component)
        : tree_(*prior.tree), component_(component) {}

    void add(const CountView& c, std::int64_t first, std::int64_t last, float* out) const {
      std::vector<double> own(static_cast<std::size_t>(tree_.K)), S(own), reach(own);
      for (std::int64_t i = first; i < last; ++i) {
        counts_by_node(c, i, component_, own);
        S = own;
        for (std::int64_t at = tree_.K - 1; at > 0; --at)
          S[tree_.parent[tree_.order[at]]] += S[tree_.order[at]];
        reach[0] = 1;
        for (std::int64_t h = 0; h < tree_.H; ++h) {
          const std::int32_t node = tree_.inner[h];
          const double D = S[node] - own[node], all = tree_.a1[node] + tree_.a2[node] + S[node];
          const double go = reach[node] * (tree_.a2[node] + D) / (all * (tree_.b_total[h] + D));
          for (std::int32_t at = tree_.below[h]; at < tree_.below[h + 1]; ++at)
            reach[tree_.order[at]] = go * (tree_.b[tree_.order[at]] + S[tree_.order[at]]);
          reach[node] *= (tree_.a1[node] + own[node]) / all;
        }
        float* row = out + i * tree_.K;
        for (std::size_t k = 0; k < reach.size(); ++k) row[k] += static_cast<float>(reach[k]);
      }
    }

   private:
    const TreeView tree_;
    const std::int32_t* component_;
  };

  struct Predictive {
    const TreeView& tree;

    explicit Predictive(const ScorePrior& prior) : tree(*prior.tree) {}
    TreeWeights weights(TreeLayout& layout) const { return layout.weights(tree); }
  };

 private:
  // ln of the normalisers of a tree's Betas and Dirichlets, less: what the bound of a document
  // begins with.
  static double log_normalisers(const TreeView& tree) {
    double value = 0;
    for (std::int64_t h = 0; h < tree.H; ++h) {
      const double a1 = tree.a1[tree.inner[h]], a2 = tree.a2[tree.inner[h]];
      value +=
          std::lgamma(a1 + a2) - std::lgamma(a1) - std::lgamma(a2) + std::lgamma(tree.b_total[h]);
    }
    for (std::int64_t k = 1; k < tree.K; ++k) value -= std::lgamma(tree.b[k]);
    return value;
  }

  template <class Number>
  static void counts_by_node(const CountView& c, std::int64_t i, const std::int32_t* component,
                             std::vector<Number>& own) {
    for (Number& count : own) count = 0;
    c.visit(i, [&](std::int64_t k, std::int32_t count) {
      own[static_cast<std::size_t>(component == nullptr ? k : component[k])] = count;
    });
  }
};

}  // namespace dcomp::DCOMP_ISA
