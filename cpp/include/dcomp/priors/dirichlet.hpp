// DM: m ~ Dirichlet(alpha), and given c Dirichlet(alpha + c). BJ06 (17)-(19), tables III and IV.
#pragma once

#include <cmath>
#include <vector>

#include "dcomp/priors/allocation.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/random.hpp"
#include "dcomp/rising_factorial.hpp"

namespace dcomp::DCOMP_ISA {

struct DirichletScores {
  static constexpr const char* key = "DM";
  static constexpr const char* parameters[] = {"alpha"};
  static constexpr bool normalised = true, has_tree = false, restricts = true;

  // q(m) = Dirichlet(a).
  template <class T>
  struct Expect {
    PriorView<T> prior;

    static void prepare(const ScorePrior& from, PreparedPrior<T>& out) {
      prepare_dirichlet(from, 0, T(0), out);
    }
    double weights(Scratch<T>& s) const { return expected_weights(prior, s); }
    void shift(std::int64_t i, T* out) const {
      copy_shift(prior, out);
      forbid_shift(prior, i, kNoLog<T>, out);
    }

    // BJ06 (19) without its combinatoric term and without sum_j w_j log Z_j.
    double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
      constexpr int lanes = kLanes<double>;
      const double* alpha = prior.parameter[0];
      const double* is_real = prior.real(i);
      Vec<double> a_sum{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes)
        a_sum += load(is_real + k) * load_double(a + k);
      const double total = sum<double>(a_sum);
      const double psi_total = digamma<double>(broadcast<double>(total))[0];
      Vec<double> part{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes) {
        const Vec<double> a_k = load_double(a + k);
        const Vec<double> real = load(is_real + k);
        const Vec<double> e_log = digamma<double>(a_k) - psi_total;  // (18)
        part += real * (log_gamma(a_k) + (load(alpha + k) - a_k) * e_log);
        store<double>(sums.log + k, load(sums.log + k) + real * e_log);
        store<double>(sums.mean + k, load(sums.mean + k) + real * a_k * (1 / total));
      }
      *common = -psi_total;
      return prior.constant_of(i) - log_gamma(broadcast<double>(total))[0] + sum<double>(part);
    }
  };

  // m_k = (alpha_k - 1 + c_k) / sum.
  template <class T>
  struct Maximise {
    static constexpr bool tempers = true;
    PriorView<T> prior;

    static void prepare(const ScorePrior& from, PreparedPrior<T>& out) {
      prepare_dirichlet(from, 1, T(1), out);
    }
    double weights(Scratch<T>& s) const { return mode_weights(prior, s); }
    void shift(std::int64_t i, T* out) const {
      copy_shift(prior, out);
      forbid_shift(prior, i, T(0), out);
    }

    // log Dirichlet(m; alpha).
    double close(std::int64_t i, const T* a, ScoreSums sums, double* common) const {
      constexpr int lanes = kLanes<double>;
      const double* is_real = prior.real(i);
      Vec<double> a_sum{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes)
        a_sum += load(is_real + k) * load_double(a + k);
      const double total = max<double>(broadcast<double>(sum<double>(a_sum)),
                                       broadcast<double>(static_cast<double>(kWeightFloor<T>)))[0];
      Vec<double> part{};
      for (std::int64_t k = 0; k < prior.padded; k += lanes) {
        const Vec<double> real = load(is_real + k), m = load_double(a + k) * (1 / total);
        part += real * powered_log(load(prior.parameter[0] + k), m);
        store<double>(sums.mean + k, load(sums.mean + k) + real * m);
      }
      *common = -prior.power * log<double>(broadcast<double>(total))[0];
      return prior.constant_of(i) + sum<double>(part);
    }
  };

  // Gammas in place of m: their sum is divided by where it matters.
  struct Draw {
    static constexpr int room = 1;
    const double* alpha;
    std::int64_t K;
    AllowedView allowed;

    explicit Draw(const ScorePrior& prior)
        : alpha(prior.parameter[0]), K(prior.n_components), allowed(prior.allowed) {}
    void operator()(std::int64_t i, const std::int32_t* c, Stream& rng, double* out) const {
      for (std::int64_t k = 0; k < K; ++k) out[k] = draw_log_gamma(rng, alpha[k] + c[k]);
      forbid_draws(allowed, i, K, out);
    }
  };

  // E[prod m^c] = G(sum alpha) / G(sum alpha + L) prod_k G(alpha_k + c_k) / G(alpha_k).
  class Moments {
   public:
    Moments(const ScorePrior& prior, const std::int32_t*)
        : rising_(prior.parameter[0], prior.parameter[0] + prior.n_components),
          group_(prior.allowed.group) {
      for (std::int64_t k = 0; k < prior.n_components; ++k) sum_alpha_ += prior.parameter[0][k];
      const AllowedView& allowed = prior.allowed;
      for (std::int64_t g = 0; g < allowed.n_groups; ++g) {
        double sum = 0;
        for (std::int64_t k = 0; k < prior.n_components; ++k)
          if (allowed.may[g * prior.n_components + k] != 0) sum += prior.parameter[0][k];
        sum_of_group_.push_back(sum);
      }
    }

    double sum(const CountView& c, std::int64_t first, std::int64_t last) const {
      double sum = 0;
      for (std::int64_t i = first; i < last; ++i) {
        double value = 0;
        std::int64_t length = 0;
        c.visit(i, [&](std::int64_t k, std::int32_t count) {
          length += count;
          value += rising_[static_cast<std::size_t>(k)](count);
        });
        const double a =
            group_ == nullptr ? sum_alpha_ : sum_of_group_[static_cast<std::size_t>(group_[i])];
        value += log_gamma_of(a) - log_gamma_of(a + static_cast<double>(length));
        sum += value;
      }
      return sum;
    }

   private:
    std::vector<RisingFactorial> rising_;
    const std::int32_t* group_;
    std::vector<double> sum_of_group_;  // of the alpha that a document may use
    double sum_alpha_ = 0;
  };

  struct Predictive {
    static constexpr bool has_zeros = false;
    const double* alpha;

    explicit Predictive(const ScorePrior& prior) : alpha(prior.parameter[0]) {}
    LinearWeight weight(std::int64_t k, double) const { return {alpha[k], 1, 1}; }
    LinearLogs logs(std::int64_t, double) const { return {0, 0}; }
  };

 private:
  // `less`: what the parameter of the scores has less than alpha + c.
  template <class T>
  static void prepare_dirichlet(const ScorePrior& prior, double less, T shift,
                                PreparedPrior<T>& out) {
    const double* alpha = prior.parameter[0];
    double sum_alpha = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(prior.n_components); ++k) {
      out.shape[k] = static_cast<T>(alpha[k] - less);
      out.shift[k] = shift;
      sum_alpha += alpha[k];
      out.constant -= std::lgamma(alpha[k]);
    }
    out.constant += std::lgamma(sum_alpha);
  }
};

}  // namespace dcomp::DCOMP_ISA
