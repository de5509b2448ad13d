#include "dcomp/laplace.hpp"

#include <algorithm>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kDocsPerTask = 16;
constexpr std::int64_t kSlotsPerTask = 64;
// Sums of S take K^2 numbers per task: with many components tasks grow, so that those of one slab
// stay below this size. It depends on K and the slab alone, never on the threads.
constexpr std::int64_t kSumsSize = std::int64_t{1} << 23;

std::int64_t n_tasks(std::int64_t n, std::int64_t per_task) {
  return (n + per_task - 1) / per_task;
}

std::int64_t docs_per_task(std::int64_t n_docs, std::int64_t sums_per_task) {
  const std::int64_t most = std::max<std::int64_t>(kSumsSize / sums_per_task, 16);
  return std::max(kDocsPerTask, n_tasks(n_docs, most));
}

// The precision with rows padded for vectors of double.
class PaddedPrecision {
 public:
  explicit PaddedPrecision(const Rows<const double>& P)
      : width_(P.width),
        stride_(padded_width<double>(P.width)),
        data_(static_cast<std::size_t>(width_ * stride_), 0.0) {
    for (std::int64_t k = 0; k < width_; ++k)
      std::copy_n(P.row(k), width_, data_.data() + k * stride_);
  }
  Rows<const double> view() const { return {data_.data(), width_, width_, stride_}; }

 private:
  std::int64_t width_, stride_;
  AlignedVector<double> data_;
};

template <class T>
class Workers {
 public:
  Workers(int n_threads, std::int64_t stride, std::int64_t K, std::int64_t wide,
          std::int64_t longest) {
    const std::int64_t entries = (longest + 15) / 16 * 16;
    const std::int64_t of_t = stride * (1 + entries + K) + 2 * entries;
    const std::int64_t of_double = stride + 6 * wide + 2 * K * wide;
    t_.resize(static_cast<std::size_t>(n_threads * of_t), T(0));
    double_.resize(static_cast<std::size_t>(n_threads * of_double), 0.0);
    for (int thread = 0; thread < n_threads; ++thread) {
      T* t = t_.data() + thread * of_t;
      double* d = double_.data() + thread * of_double;
      const auto take_t = [&t](std::int64_t n) { return (t += n) - n; };
      const auto take = [&d](std::int64_t n) { return (d += n) - n; };
      LaplaceScratch<T> s{};
      s.e = take_t(stride);
      s.z = take_t(entries);
      s.weight = take_t(entries);
      s.shares = take_t(entries * stride);
      s.gram = take_t(K * stride);
      s.sum = take(stride);
      for (double** row : {&s.eta, &s.trial, &s.delta, &s.Pdelta, &s.gradient, &s.step})
        *row = take(wide);
      s.H = take(K * wide);
      s.inverse = take(K * wide);
      scratch_.push_back(s);
    }
  }
  LaplaceScratch<T>& operator[](int worker) { return scratch_[static_cast<std::size_t>(worker)]; }

 private:
  AlignedVector<T> t_;
  AlignedVector<double> double_;
  std::vector<LaplaceScratch<T>> scratch_;
};

std::int64_t longest(const CsrView& W) {
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < W.n_docs; ++i) n = std::max(n, W.size(i));
  return n;
}

template <class T>
LaplacePass<T> make_pass(const LaplaceInput<T>& input, const PaddedPrecision& P,
                         const Rows<const double>& eta_in, const Rows<double>& eta_out,
                         const Rows<T>& c_out) {
  LaplacePass<T> pass;
  pass.W = input.W;
  pass.Theta = input.Theta;
  pass.log_scale = input.log_scale;
  pass.mu0 = input.mu0;
  pass.P = P.view();
  pass.half_log_det_P = input.half_log_det_P;
  pass.eta_in = eta_in;
  pass.eta_out = eta_out;
  pass.c_out = c_out;
  pass.max_inner = input.max_inner;
  pass.inner_tol = input.inner_tol;
  return pass;
}

// Runs the documents [first, last) in fixed tasks and adds their sums in task order; of_all: the
// sums of eta and S too.
template <class T>
void run_documents(const LaplacePass<T>& pass, std::int64_t first, std::int64_t last, bool of_all,
                   Workers<T>& workers, int n_threads, LaplaceTotals& total) {
  const std::int64_t K = pass.P.width, wide = pass.P.stride, size = of_all ? wide * (K + 1) : 0;
  const std::int64_t per_task = of_all ? docs_per_task(last - first, size) : kDocsPerTask;
  const std::int64_t tasks = n_tasks(last - first, per_task);
  AlignedVector<double> sums(static_cast<std::size_t>(tasks * size), 0.0);
  std::vector<LaplaceSums> part(static_cast<std::size_t>(tasks));
  const auto kernel = kernels<T>().laplace_documents.run;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    LaplaceSums& mine = part[static_cast<std::size_t>(t)];
    if (of_all) {
      mine.eta = sums.data() + t * size;
      mine.S = mine.eta + wide;
    }
    const std::int64_t begin = first + t * per_task;
    kernel(pass, begin, std::min(begin + per_task, last), workers[worker], mine);
  });
  for (const LaplaceSums& p : part) {
    total.value += p.value;
    total.squares += p.squares;
    total.inner += p.inner;
    total.unsettled += p.unsettled;
    for (std::int64_t k = 0; of_all && k < K; ++k) {
      total.eta[k] += p.eta[k];
      for (std::int64_t l = k; l < K; ++l) total.S[k * K + l] += p.S[k * wide + l];
    }
  }
}

}  // namespace

template <class T>
LaplaceTotals laplace(const LaplaceInput<T>& input, const CorpusIndex& index,
                      const Rows<const double>& eta_in, const Rows<double>& eta_out,
                      const Rows<T>& c_out, const Rows<T>& n, int n_threads) {
  const std::int64_t stride = input.Theta.stride, K = input.P.width;
  const PaddedPrecision P(input.P);
  Workers<T> workers(n_threads, stride, K, P.view().stride, longest(input.W));
  AlignedVector<T> e(index.max_slab_docs() * stride), weight(index.max_slab_entries());
  LaplaceTotals total;
  total.eta.assign(static_cast<std::size_t>(K), 0.0);
  total.S.assign(static_cast<std::size_t>(K * K), 0.0);

  for (const Slab& slab : index.slabs()) {
    LaplacePass<T> pass = make_pass(input, P, eta_in, eta_out, c_out);
    pass.log_scale = nullptr;
    pass.e_out = {e.data(), slab.last_doc - slab.first_doc, K, stride};
    pass.weight_out = weight.data();
    pass.place = index.place();
    pass.first_doc = slab.first_doc;
    run_documents(pass, slab.first_doc, slab.last_doc, true, workers, n_threads, total);

    const FeaturePass<T> features{input.Theta,
                                  {e.data(), slab.last_doc - slab.first_doc, K, stride},
                                  weight.data(),
                                  index.document() + slab.first_entry,
                                  n};
    const std::int64_t slots = slab.last_slot - slab.first_slot;
    const auto kernel = kernels<T>().collect_feature;
    parallel_for(n_threads, n_tasks(slots, kSlotsPerTask), [&](std::int64_t t, int worker) {
      const std::int64_t first = slab.first_slot + t * kSlotsPerTask;
      const std::int64_t last = std::min(first + kSlotsPerTask, slab.last_slot);
      for (std::int64_t s = first; s < last; ++s)
        kernel(features, index.feature(s), index.start(s) - slab.first_entry,
               index.start(s + 1) - slab.first_entry, workers[worker].sum);
    });
  }
  for (std::int64_t k = 0; k < K; ++k)
    for (std::int64_t l = 0; l < k; ++l) total.S[k * K + l] = total.S[l * K + k];
  for (std::int64_t j = 0; j < input.W.n_features; ++j)
    total.value += index.total(j) * input.log_scale[j];
  return total;
}

template <class T>
LaplaceTotals laplace_fold_in(const LaplaceInput<T>& input, const Rows<const double>& eta_in,
                              const Rows<double>& eta_out, const Rows<T>& c_out, double* value,
                              const Rows<double>& variance, int n_threads) {
  const PaddedPrecision P(input.P);
  Workers<T> workers(n_threads, input.Theta.stride, input.P.width, P.view().stride,
                     longest(input.W));
  LaplacePass<T> pass = make_pass(input, P, eta_in, eta_out, c_out);
  pass.doc_value = value;
  pass.variance_out = variance;
  LaplaceTotals total;
  run_documents(pass, 0, input.W.n_docs, false, workers, n_threads, total);
  return total;
}

#define DCOMP_INSTANTIATE(T)                                                                   \
  template LaplaceTotals laplace<T>(const LaplaceInput<T>&, const CorpusIndex&,                \
                                    const Rows<const double>&, const Rows<double>&,            \
                                    const Rows<T>&, const Rows<T>&, int);                      \
  template LaplaceTotals laplace_fold_in<T>(const LaplaceInput<T>&, const Rows<const double>&, \
                                            const Rows<double>&, const Rows<T>&, double*,      \
                                            const Rows<double>&, int);
DCOMP_INSTANTIATE(float)
DCOMP_INSTANTIATE(double)

}  // namespace dcomp
