#include "dcomp/lines.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <vector>

#include "dcomp/parallel.hpp"
#include "dcomp/random.hpp"

namespace dcomp {

namespace {

using Numbers = std::vector<double>;
using Places = std::vector<std::int64_t>;

constexpr int kExpectations = 20, kNewtonSteps = 60;
constexpr double kActive = 0.5;  // words at the mode, below which single splits move a score well
constexpr double kWidth = 3;     // of a slice's first bracket, in deviations by the curvature
constexpr double kLogWidth = 5;  // the same on the scale of log odds
constexpr int kStepsOut = 64, kShrinks = 400;
constexpr double kSmallest = 1e-290;  // scores that are not zero stay above
constexpr double kBroad = 0.2;        // how often a birth is proposed near the prior

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Lower triangle of A = L L', in place; false where A is not positive.
bool factorise(Numbers& A, std::int64_t n) {
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      double sum = A[at(i * n + j)];
      for (std::int64_t k = 0; k < j; ++k) sum -= A[at(i * n + k)] * A[at(j * n + k)];
      if (i == j && !(sum > 0)) return false;
      A[at(i * n + j)] = i == j ? std::sqrt(sum) : sum / A[at(j * n + j)];
    }
  }
  return true;
}

// x with L x = x.
void solve_lower(const Numbers& L, std::int64_t n, double* x) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < i; ++k) x[i] -= L[at(i * n + k)] * x[k];
    x[i] /= L[at(i * n + i)];
  }
}

// x with L' x = x.
void solve_upper(const Numbers& L, std::int64_t n, double* x) {
  for (std::int64_t i = n - 1; i >= 0; --i) {
    for (std::int64_t k = i + 1; k < n; ++k) x[i] -= L[at(k * n + i)] * x[k];
    x[i] /= L[at(i * n + i)];
  }
}

// A direction over some components, and what it changes of Theta l.
struct Line {
  Places on;
  Numbers d, v;
};

// One document: its words, the loadings of its words, its mode and the curvature there.
class Document {
 public:
  Document(const LineInput& input, std::int64_t i)
      : K_(input.rate.width), n_(input.W.size(i)), alpha_(input.alpha), b_(input.rate.row(i)) {
    const std::int64_t begin = input.W.indptr[i];
    for (std::int64_t p = begin; p < begin + n_; ++p) {
      w_.push_back(input.W.data[p]);
      const float* row = input.Theta.row(input.W.indices[p]);
      theta_.insert(theta_.end(), row, row + K_);
    }
    find_mode();
  }

  std::int64_t K() const { return K_; }
  std::int64_t n() const { return n_; }
  double w(std::int64_t j) const { return w_[at(j)]; }
  const double* theta(std::int64_t j) const { return theta_.data() + j * K_; }
  double alpha(std::int64_t k) const { return alpha_[k]; }
  double b(std::int64_t k) const { return b_[k]; }
  const Numbers& mode() const { return mode_; }
  const Places& active() const { return active_; }
  // The size of a score below which it is at the edge: half a deviation, the others held.
  double floor(std::int64_t k) const { return floor_[at(k)]; }
  double P(std::int64_t k, std::int64_t h) const { return P_[at(k * K_ + h)]; }

  void rates(const Numbers& l, Numbers& y) const {
    y.assign(at(n_), 0.0);
    for (std::int64_t j = 0; j < n_; ++j) {
      const double* row = theta(j);
      double sum = 0;
      for (std::int64_t k = 0; k < K_; ++k) sum += row[k] * l[at(k)];
      y[at(j)] = std::max(sum, DBL_MIN);
    }
  }

  // The Cholesky factor of the curvature of these components, the others held.
  Numbers curvature_of(const Places& on) const {
    const auto size = static_cast<std::int64_t>(on.size());
    Numbers A(at(size * size));
    for (double ridge = 0;; ridge = ridge > 0 ? 10 * ridge : 1e-12) {
      for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t h = 0; h <= i; ++h)
          A[at(i * size + h)] = P(on[at(i)], on[at(h)]) * (i == h ? 1 + ridge : 1.0);
      if (ridge > 1 || factorise(A, size)) return A;
    }
  }

  void span(Line& line) const {
    line.v.assign(at(n_), 0.0);
    for (std::int64_t j = 0; j < n_; ++j) {
      const double* row = theta(j);
      double sum = 0;
      for (std::size_t i = 0; i < line.on.size(); ++i) sum += row[line.on[i]] * line.d[i];
      line.v[at(j)] = sum;
    }
  }

 private:
  // Of alpha log l - b l + w log(Theta l), the density of log l: it is concave in l, so that there
  // is one mode, whatever alpha is.
  double height(const Numbers& l, const Numbers& y) const {
    double sum = 0;
    for (std::int64_t k = 0; k < K_; ++k) sum += alpha_[k] * std::log(l[at(k)]) - b_[k] * l[at(k)];
    for (std::int64_t j = 0; j < n_; ++j) sum += w_[at(j)] * std::log(y[at(j)]);
    return sum;
  }

  void expect(Numbers& l, Numbers& y) const {
    Numbers c(at(K_), 0.0);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t k = 0; k < K_; ++k) c[at(k)] += w_[at(j)] / y[at(j)] * theta(j)[k];
    for (std::int64_t k = 0; k < K_; ++k)
      l[at(k)] = std::max((alpha_[k] + l[at(k)] * c[at(k)]) / b_[k], kSmallest);
    rates(l, y);
  }

  void curve(const Numbers& l, const Numbers& y, Numbers& g) {
    P_.assign(at(K_ * K_), 0.0);
    for (std::int64_t k = 0; k < K_; ++k) {
      g[at(k)] = alpha_[k] / l[at(k)] - b_[k];
      P_[at(k * K_ + k)] = alpha_[k] / l[at(k)] / l[at(k)];
    }
    for (std::int64_t j = 0; j < n_; ++j) {
      const double* row = theta(j);
      const double ratio = w_[at(j)] / y[at(j)], square = ratio / y[at(j)];
      for (std::int64_t k = 0; k < K_; ++k) {
        g[at(k)] += ratio * row[k];
        for (std::int64_t h = 0; h <= k; ++h) P_[at(k * K_ + h)] += square * row[k] * row[h];
      }
    }
    for (std::int64_t k = 0; k < K_; ++k)
      for (std::int64_t h = 0; h < k; ++h) P_[at(h * K_ + k)] = P_[at(k * K_ + h)];
  }

  // EM to come near, then Newton's steps that stay positive and climb.
  void find_mode() {
    double words = 0;
    for (const double w : w_) words += w;
    Numbers l(at(K_)), y, g(at(K_)), trial, y_trial;
    for (std::int64_t k = 0; k < K_; ++k)
      l[at(k)] = (alpha_[k] + words / static_cast<double>(K_)) / b_[k];
    rates(l, y);
    for (int step = 0; step < kExpectations; ++step) {
      stop_point(n_ * K_);
      expect(l, y);
    }
    double now = height(l, y);
    for (int step = 0; step < kNewtonSteps; ++step) {
      stop_point();
      curve(l, y, g);
      // In units of l itself: the curvature of components of 1e-200 and of 1e6 words side by side.
      Numbers A(at(K_ * K_)), move(at(K_));
      for (std::int64_t k = 0; k < K_; ++k) {
        move[at(k)] = g[at(k)] * l[at(k)];
        for (std::int64_t h = 0; h <= k; ++h)
          A[at(k * K_ + h)] = P(k, h) * l[at(k)] * l[at(h)] * (k == h ? 1 + 1e-12 : 1.0);
      }
      const Numbers slope = move;
      if (!factorise(A, K_)) break;
      solve_lower(A, K_, move.data());
      solve_upper(A, K_, move.data());
      double gain = 0, size = 1;
      for (std::int64_t k = 0; k < K_; ++k) {
        gain += slope[at(k)] * move[at(k)];
        if (move[at(k)] < 0) size = std::min(size, -0.9 / move[at(k)]);
      }
      if (!(gain > 1e-6)) break;
      bool climbs = false;
      for (int half = 0; half < 30 && !climbs; ++half, size /= 2) {
        trial = l;
        for (std::int64_t k = 0; k < K_; ++k)
          trial[at(k)] = std::max(l[at(k)] * (1 + size * move[at(k)]), kSmallest);
        rates(trial, y_trial);
        const double then = height(trial, y_trial);
        climbs = then > now + 1e-4 * size * gain;
        if (climbs) now = then;
      }
      if (!climbs) break;
      l.swap(trial);
      y.swap(y_trial);
    }
    curve(l, y, g);
    mode_ = l;
    for (std::int64_t k = 0; k < K_; ++k) floor_.push_back(0.5 / std::sqrt(P(k, k)));
    for (std::int64_t k = 0; k < K_; ++k)
      if (l[at(k)] * (g[at(k)] + b_[k]) - alpha_[k] > kActive) active_.push_back(k);
  }

  std::int64_t K_, n_;
  const double *alpha_, *b_;
  Numbers w_, theta_, mode_, P_, floor_;
  Places active_;
};

// The scores of a document on their way.
class Walk {
 public:
  Walk(const LineInput& input, std::int64_t i)
      : input_(input), i_(i), of_(input, i), l_(of_.mode()), c_(at(of_.K())) {}

  void start(const std::int32_t* c, Stream& rng) {
    if (c != nullptr)
      c_.assign(c, c + of_.K());
    else
      split(rng);
  }

  void sweep(Stream& rng) {
    stop_point();
    draw_given_words(rng);
    if (of_.n() > 0 && of_.active().size() > 0) {
      of_.rates(l_, y_);
      if (input_.log_zero != nullptr)
        for (const std::int64_t k : of_.active()) toggle(k, rng);
      along_axes(rng);
      for (const std::int64_t k : of_.active())
        if (l_[at(k)] > 0) along_score(k, rng);
      along_pairs(rng);
    }
    split(rng);
  }

  void record(std::int32_t* c, float* scores) const {
    double total = 1;
    if (input_.normalised) {
      total = 0;
      for (const double l : l_) total += l;
    }
    for (std::int64_t k = 0; k < of_.K(); ++k) {
      c[k] = c_[at(k)];
      const double value = std::clamp(l_[at(k)] / total, double{FLT_MIN}, double{FLT_MAX});
      scores[k] = l_[at(k)] == 0 ? 0.0F : static_cast<float>(value);
    }
  }

 private:
  // BJ06 table III.
  void draw_given_words(Stream& rng) {
    for (std::int64_t k = 0; k < of_.K(); ++k) {
      if (input_.log_zero != nullptr && c_[at(k)] == 0 && rng.uniform() < input_.zero.row(i_)[k]) {
        l_[at(k)] = 0;
        continue;
      }
      const double log_l = draw_log_gamma(rng, of_.alpha(k) + c_[at(k)]) - std::log(of_.b(k));
      l_[at(k)] = std::max(std::exp(log_l), kSmallest);
    }
  }

  // Every count over the components, in proportion to theta l.
  void split(Stream& rng) {
    std::fill(c_.begin(), c_.end(), 0);
    for (std::int64_t j = 0; j < of_.n(); ++j) {
      const double* row = of_.theta(j);
      double left = 0;
      for (std::int64_t k = 0; k < of_.K(); ++k) left += row[k] * l_[at(k)];
      auto count = static_cast<std::int32_t>(of_.w(j));
      std::int64_t last = -1;
      for (std::int64_t k = 0; k < of_.K() && count > 0; ++k) {
        const double weight = row[k] * l_[at(k)];
        if (!(weight > 0)) continue;
        last = k;
        const std::int32_t share =
            weight >= left ? count : draw_binomial(rng, count, weight / left);
        c_[at(k)] += share;
        count -= share;
        left -= weight;
      }
      if (count > 0) c_[at(std::max<std::int64_t>(last, 0))] += count;
    }
  }

  // What the words add to the log density by t along a line.
  double words(const Line& line, double t) const {
    stop_point(16 * of_.n());  // logarithms
    double sum = 0;
    for (std::int64_t j = 0; j < of_.n(); ++j) {
      const double ratio = t * line.v[at(j)] / y_[at(j)];
      if (ratio <= -1) return -HUGE_VAL;
      sum += of_.w(j) * std::log1p(ratio);
    }
    return sum;
  }

  // log of the density at l + t d over that at l.
  double height(const Line& line, double t) const {
    double sum = 0;
    for (std::size_t i = 0; i < line.on.size(); ++i) {
      const std::int64_t k = line.on[i];
      const double l = l_[at(k)] + t * line.d[i];
      if (!(l > of_.floor(k))) return -HUGE_VAL;
      sum += (of_.alpha(k) - 1) * std::log(l / l_[at(k)]) - of_.b(k) * line.d[i] * t;
    }
    return sum + words(line, t);
  }

  void move(const Line& line, double t) {
    for (std::size_t i = 0; i < line.on.size(); ++i) {
      double& l = l_[at(line.on[i])];
      l = std::max(l + t * line.d[i], kSmallest);
    }
    for (std::int64_t j = 0; j < of_.n(); ++j)
      y_[at(j)] = std::max(y_[at(j)] + t * line.v[at(j)], DBL_MIN);
  }

  // A slice through the density on a line (Neal 2003).
  void slice(const Line& line, Stream& rng) {
    double low = -HUGE_VAL, high = HUGE_VAL;
    for (std::size_t i = 0; i < line.on.size(); ++i) {
      const double limit = (of_.floor(line.on[i]) - l_[at(line.on[i])]) / line.d[i];
      if (line.d[i] > 0) low = std::max(low, limit);
      if (line.d[i] < 0) high = std::min(high, limit);
    }
    const double t =
        slice_of([&](double t) { return height(line, t); }, 0.0, kWidth, low, high, rng);
    move(line, t);
  }

  // A draw from the slice around x through a log density, stepping out and shrinking in.
  template <class Height>
  static double slice_of(const Height& height, double x, double width, double low, double high,
                         Stream& rng) {
    const double level = height(x) + std::log(rng.uniform());
    double left = x - width * rng.uniform(), right = left + width;
    int out = static_cast<int>(kStepsOut * rng.uniform()), rest = kStepsOut - 1 - out;
    for (; out > 0 && left > low && height(left) > level; --out) left -= width;
    for (; rest > 0 && right < high && height(right) > level; --rest) right += width;
    left = std::max(left, low);
    right = std::min(right, high);
    for (int shrink = 0; shrink < kShrinks; ++shrink) {
      const double trial = left + (right - left) * rng.uniform();
      if (height(trial) > level) return trial;
      (trial < x ? left : right) = trial;
    }
    return x;
  }

  // Words handed from one component to another, on the scale log(p / (R - p)) of the place p on the
  // whole way R: where one of them is all but absent, its logarithm moves, not the score itself.
  void hand_over(const Line& line, Stream& rng) {
    const std::size_t to = line.d[0] > 0 ? 0 : 1, from = 1 - to;
    const std::int64_t k = line.on[to], h = line.on[from];
    const double up = line.d[to], down = -line.d[from];
    const double done = l_[at(k)] / up, R = done + l_[at(h)] / down;
    const auto height = [&](double x) {
      const double log_p = -softplus(-x), log_rest = -softplus(x);
      const double p = R * std::exp(log_p), rest = R * std::exp(log_rest);
      double sum = of_.alpha(k) * log_p + of_.alpha(h) * log_rest - of_.b(k) * up * p -
                   of_.b(h) * down * rest;
      return sum + words(line, p - done);
    };
    const double x0 = std::log(l_[at(k)] / up) - std::log(l_[at(h)] / down);
    const double x = slice_of(height, x0, kLogWidth, -HUGE_VAL, HUGE_VAL, rng);
    if (x == x0) return;
    const double p = R * std::exp(-softplus(-x));
    move(line, p - done);
    l_[at(k)] = std::max(up * p, kSmallest);
    l_[at(h)] = std::max(down * R * std::exp(-softplus(x)), kSmallest);
  }

  static double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

  // The active components but k whose scores are of the size that the curvature speaks of. A line
  // moves none of them out of this set, and so can choose its way by it: seen from where it ends,
  // the set is the same. Near a corner, where some scores are as good as absent, a line that held
  // these too could not move.
  Places bulk(std::int64_t but = -1) const {
    Places on;
    for (const std::int64_t k : of_.active())
      if (k != but && l_[at(k)] > of_.floor(k)) on.push_back(k);
    return on;
  }

  // Directions that the curvature at the mode makes independent: for a Gaussian, one pass forgets
  // where it began.
  void along_axes(Stream& rng) {
    const Places on = bulk();
    if (on != axes_of_) {
      axes_of_ = on;
      axes_.clear();
      const auto size = static_cast<std::int64_t>(on.size());
      const Numbers L = of_.curvature_of(on);
      for (std::int64_t i = 0; i < size; ++i) {
        Line line{on, Numbers(at(size), 0.0), {}};
        line.d[at(i)] = 1;
        solve_upper(L, size, line.d.data());
        of_.span(line);
        axes_.push_back(std::move(line));
      }
    }
    for (const Line& line : axes_) slice(line, rng);
  }

  // d_k = 1, and the others of the bulk make up for it as the curvature says; k comes last.
  Line compensated(std::int64_t k) const {
    Line line{bulk(k), {}, {}};
    const auto size = static_cast<std::int64_t>(line.on.size());
    line.d.resize(at(size));
    if (size > 0) {
      const Numbers L = of_.curvature_of(line.on);
      for (std::int64_t i = 0; i < size; ++i) line.d[at(i)] = -of_.P(k, line.on[at(i)]);
      solve_lower(L, size, line.d.data());
      solve_upper(L, size, line.d.data());
    }
    line.on.push_back(k);
    line.d.push_back(1.0);
    of_.span(line);
    return line;
  }

  // One score on its logarithmic scale, from next to nothing to all that there is to have.
  void along_score(std::int64_t k, Stream& rng) {
    const Line line = compensated(k);
    const double now = l_[at(k)], x0 = std::log(now);
    const auto density = [&](double x) {
      const double there = std::exp(x), t = there - now;
      double sum = of_.alpha(k) * x - of_.b(k) * there;
      for (std::size_t i = 0; i + 1 < line.on.size(); ++i) {
        const std::int64_t h = line.on[i];
        const double l = l_[at(h)] + t * line.d[i];
        if (!(l > of_.floor(h))) return -HUGE_VAL;
        sum += (of_.alpha(h) - 1) * std::log(l / l_[at(h)]) - of_.b(h) * line.d[i] * t;
      }
      return sum + words(line, t);
    };
    const double x = slice_of(density, x0, kLogWidth, -HUGE_VAL, HUGE_VAL, rng);
    if (x == x0) return;
    move(line, std::exp(x) - now);
    l_[at(k)] = std::max(std::exp(x), kSmallest);
  }

  // Some pairs, chosen blindly.
  void along_pairs(Stream& rng) {
    Places on;
    for (const std::int64_t k : of_.active())
      if (l_[at(k)] > 0) on.push_back(k);
    const auto most = static_cast<double>(on.size());
    for (std::size_t round = 0; round + 1 < on.size(); ++round) {
      const auto first = static_cast<std::size_t>(rng.uniform() * most);
      auto second = static_cast<std::size_t>(rng.uniform() * (most - 1));
      if (second >= first) ++second;
      Line line{{on[first], on[second]}, {draw_normal(rng), draw_normal(rng)}, {}};
      solve_upper(of_.curvature_of(line.on), 2, line.d.data());
      if (!(line.d[0] * line.d[1] < 0)) continue;
      of_.span(line);
      hand_over(line, rng);
    }
  }

  // An exact zero made or unmade: along the line on which the others make up for component k, its
  // score is proposed from a mixture that depends on nothing but which of the others are there.
  void toggle(std::int64_t k, Stream& rng) {
    if (input_.log_zero[k] == -HUGE_VAL) return;
    const Line line = compensated(k);
    const auto size = static_cast<std::int64_t>(line.on.size()) - 1;
    const auto pull = [&](std::int64_t h) {  // (P d)_h
      double sum = of_.P(k, h);
      for (std::int64_t i = 0; i < size; ++i) sum += of_.P(h, line.on[at(i)]) * line.d[at(i)];
      return sum;
    };
    const double precision = std::max(pull(k), 1e-12 * of_.P(k, k));
    double centre = 0;
    for (const std::int64_t h : of_.active())  // what was there at the mode and is not now
      if (h != k && !(l_[at(h)] > of_.floor(h))) centre += pull(h) * of_.mode()[at(h)];
    centre = of_.mode()[at(k)] + centre / precision;
    const Birth birth(of_.alpha(k), centre, precision);
    const bool is_birth = l_[at(k)] == 0;
    const double x = is_birth ? birth.draw(rng) : l_[at(k)];
    // The state without component k is the base of both ways.
    const Numbers before = l_, rates = y_;
    if (!is_birth) {
      shift(line, -x, k);
      if (!positive(line, k)) {
        l_ = before;
        y_ = rates;
        return;
      }
    }
    const double gain = birth_height(line, k, x) - input_.log_zero[k] - birth.log_density(x);
    const bool accepted = std::log(rng.uniform()) < (is_birth ? gain : -gain);
    if (is_birth && accepted) {
      shift(line, x, k);
      l_[at(k)] = x;
    } else if (!is_birth && accepted) {
      l_[at(k)] = 0;
    } else {
      l_ = before;
      y_ = rates;
    }
  }

  // A mixture of two gammas: one with the centre and the curvature that the mode foretells, one as
  // broad as the prior.
  class Birth {
   public:
    Birth(double alpha, double centre, double precision) {
      const double scale = std::max(centre, 1 / std::sqrt(precision));
      shape_[0] = centre > 0 ? std::max(centre * centre * precision, alpha) : alpha;
      rate_[0] = shape_[0] / scale;
      shape_[1] = alpha;
      rate_[1] = alpha / scale;
    }
    double draw(Stream& rng) const {
      const int which = rng.uniform() < kBroad ? 1 : 0;
      return std::max(std::exp(draw_log_gamma(rng, shape_[which])) / rate_[which], kSmallest);
    }
    double log_density(double x) const {
      double value[2];
      int sign = 0;
      for (int i = 0; i < 2; ++i)
        value[i] = shape_[i] * std::log(rate_[i]) - lgamma_r(shape_[i], &sign) +
                   (shape_[i] - 1) * std::log(x) - rate_[i] * x;
      value[0] += std::log1p(-kBroad);
      value[1] += std::log(kBroad);
      const double top = std::max(value[0], value[1]);
      return top + std::log(std::exp(value[0] - top) + std::exp(value[1] - top));
    }

   private:
    double shape_[2], rate_[2];
  };

  // The others and the rates of words by t along the line; component k itself is set by who calls.
  void shift(const Line& line, double t, std::int64_t k) {
    for (std::size_t i = 0; i < line.on.size(); ++i)
      if (line.on[i] != k) l_[at(line.on[i])] += t * line.d[i];
    for (std::int64_t j = 0; j < of_.n(); ++j) y_[at(j)] += t * line.v[at(j)];
  }

  bool positive(const Line& line, std::int64_t k) const {
    for (const std::int64_t h : line.on)
      if (h != k && !(l_[at(h)] > of_.floor(h))) return false;
    for (const double y : y_)
      if (!(y > 0)) return false;
    return true;
  }

  // log of the density with component k at x over that without it, but for the prior's constant.
  double birth_height(const Line& line, std::int64_t k, double x) const {
    double sum = (of_.alpha(k) - 1) * std::log(x) - of_.b(k) * x;
    for (std::size_t i = 0; i < line.on.size(); ++i) {
      const std::int64_t h = line.on[i];
      if (h == k) continue;
      const double l = l_[at(h)] + x * line.d[i];
      if (!(l > of_.floor(h))) return -HUGE_VAL;
      sum += (of_.alpha(h) - 1) * std::log(l / l_[at(h)]) - of_.b(h) * line.d[i] * x;
    }
    return sum + words(line, x);
  }

  const LineInput& input_;
  std::int64_t i_;
  Document of_;
  Numbers l_, y_;
  std::vector<std::int32_t> c_;
  Places axes_of_;
  std::vector<Line> axes_;
};

}  // namespace

void sample_lines(const LineInput& input, const std::int32_t* c, std::int32_t* c_out,
                  float* scores_out, int n_threads) {
  const std::int64_t I = input.W.n_docs, K = input.rate.width;
  parallel_for(n_threads, I, [&](std::int64_t i, int) {
    Walk walk(input, i);
    const auto number = static_cast<std::uint64_t>(input.number[i]);
    std::uint32_t sweep = input.sweep;
    const auto stream = [&] { return Stream(input.seed, Purpose::lines, sweep++, number); };
    Stream first = stream();
    walk.start(c == nullptr ? nullptr : c + i * K, first);
    for (std::int64_t s = 0; s < input.skip; ++s) {
      Stream rng = stream();
      walk.sweep(rng);
    }
    for (std::int64_t kept = 0; kept < input.keep; ++kept) {
      for (std::int64_t s = 0; s < input.every; ++s) {
        Stream rng = stream();
        walk.sweep(rng);
      }
      const std::int64_t place = (kept * I + i) * K;
      walk.record(c_out + place, scores_out + place);
    }
  });
}

}  // namespace dcomp
