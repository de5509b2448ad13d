#include "dcomp/mean_field.hpp"

#include <algorithm>
#include <cmath>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

// Tasks of fixed size, so that sums are cut in the same places whatever the number of threads.
constexpr std::int64_t kDocsPerTask = 32;
constexpr std::int64_t kSlotsPerTask = 64;
// Documents folded in before their tasks' sums are added up: bounds the memory of those sums.
constexpr std::int64_t kDocsPerRound = std::int64_t{1} << 13;

std::int64_t n_tasks(std::int64_t n, std::int64_t per_task) {
  return (n + per_task - 1) / per_task;
}

// Scratch for every thread.
template <class T>
class Workers {
 public:
  Workers(int n_threads, std::int64_t padded, std::int64_t max_entries, int max_inner)
      : rows_(n_threads * 5 * padded),
        entries_(n_threads * 2 * round_up(max_entries)),
        columns_(max_inner >= kGatherFrom ? n_threads * kGatherSize : 0),
        sums_(n_threads * padded),
        chosen_(n_threads * padded) {
    for (int t = 0; t < n_threads; ++t) {
      T* row = rows_.data() + t * 5 * padded;
      T* entry = entries_.data() + t * 2 * round_up(max_entries);
      scratch_.push_back({row, row + padded, row + 2 * padded, row + 3 * padded, row + 4 * padded,
                          entry, entry + round_up(max_entries),
                          max_inner >= kGatherFrom ? columns_.data() + t * kGatherSize : nullptr,
                          chosen_.data() + t * padded, sums_.data() + t * padded});
    }
  }
  Scratch<T>& operator[](int worker) { return scratch_[static_cast<std::size_t>(worker)]; }

 private:
  static std::int64_t round_up(std::int64_t n) { return (n + 15) / 16 * 16; }
  AlignedVector<T> rows_, entries_, columns_;
  AlignedVector<double> sums_;
  AlignedVector<std::int32_t> chosen_;
  std::vector<Scratch<T>> scratch_;
};

std::int64_t longest(const CsrView& W) {
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < W.n_docs; ++i) n = std::max(n, W.size(i));
  return n;
}

// Runs the documents [first, last) in fixed tasks and adds their sums in task order.
template <class T>
void run_documents(const DocumentPass<T>& pass, const ScorePrior& prior, std::int64_t first,
                   std::int64_t last, Workers<T>& workers, int n_threads, ExpectSums& total) {
  const std::int64_t padded = pass.Theta.stride, tasks = n_tasks(last - first, kDocsPerTask);
  AlignedVector<double> sums(static_cast<std::size_t>(tasks * 2 * padded));
  std::vector<DocumentSums> part(static_cast<std::size_t>(tasks));
  const AllocationKernels<T>& of = kernels<T>().priors[prior.which];
  const auto kernel = prior.mode == ScoreMode::expect ? of.expect : of.maximise;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    DocumentSums& mine = part[static_cast<std::size_t>(t)];
    mine.log = sums.data() + t * 2 * padded;
    mine.mean = mine.log + padded;
    const std::int64_t begin = first + t * kDocsPerTask;
    kernel(pass, begin, std::min(begin + kDocsPerTask, last), workers[worker], mine);
  });
  for (const DocumentSums& p : part) {
    total.bound += p.bound;
    total.inner += p.inner;
    for (std::size_t k = 0; k < total.log.size(); ++k) {
      total.log[k] += p.log[k];
      total.mean[k] += p.mean[k];
    }
  }
}

template <class T>
DocumentPass<T> document_pass(const ExpectInput<T>& input, const PreparedPrior<T>& prior,
                              const Rows<const T>& c_in, const Rows<T>& c_out) {
  DocumentPass<T> pass;
  pass.W = input.W;
  pass.Theta = input.Theta;
  pass.log_scale = input.log_scale;
  pass.prior = prior.view();
  pass.c_in = c_in;
  pass.c_out = c_out;
  pass.max_inner = input.max_inner;
  pass.inner_tol = input.inner_tol;
  return pass;
}

ExpectSums empty_sums(std::int64_t K) {
  ExpectSums sums;
  sums.log.assign(static_cast<std::size_t>(K), 0.0);
  sums.mean.assign(static_cast<std::size_t>(K), 0.0);
  return sums;
}

}  // namespace

template <class T>
ExpectSums expect(const ExpectInput<T>& input, const CorpusIndex& index, const Rows<const T>& c_in,
                  const Rows<T>& c_out, const Rows<T>& n, int n_threads) {
  const std::int64_t padded = input.Theta.stride, K = c_in.width;
  const PreparedPrior<T> prior(input.prior, padded);
  Workers<T> workers(n_threads, padded, longest(input.W), input.max_inner);
  AlignedVector<T> e(index.max_slab_docs() * padded), weight(index.max_slab_entries());
  ExpectSums total = empty_sums(K);

  for (const Slab& slab : index.slabs()) {
    DocumentPass<T> documents = document_pass(input, prior, c_in, c_out);
    documents.log_scale = nullptr;
    documents.e_out = {e.data(), slab.last_doc - slab.first_doc, K, padded};
    documents.weight_out = weight.data();
    documents.place = index.place();
    documents.first_doc = slab.first_doc;
    run_documents(documents, input.prior, slab.first_doc, slab.last_doc, workers, n_threads, total);

    const FeaturePass<T> features{input.Theta,
                                  {e.data(), slab.last_doc - slab.first_doc, K, padded},
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
  for (std::int64_t j = 0; j < input.W.n_features; ++j)
    total.bound += index.total(j) * input.log_scale[j];
  return total;
}

template <class T>
ExpectSums fold_in(const ExpectInput<T>& input, const Rows<const T>& c_in, const Rows<T>& c_out,
                   double* bound, int n_threads) {
  const std::int64_t padded = input.Theta.stride;
  const PreparedPrior<T> prior(input.prior, padded);
  Workers<T> workers(n_threads, padded, longest(input.W), input.max_inner);
  ExpectSums total = empty_sums(c_in.width);
  DocumentPass<T> pass = document_pass(input, prior, c_in, c_out);
  pass.doc_bound = bound;
  for (std::int64_t first = 0; first < input.W.n_docs; first += kDocsPerRound)
    run_documents(pass, input.prior, first, std::min(first + kDocsPerRound, input.W.n_docs),
                  workers, n_threads, total);
  return total;
}

template <class T>
void log_predictive(const CsrView& W, const Rows<const T>& Theta, const double* log_scale,
                    const Rows<const T>& scores, double* out, int n_threads) {
  Workers<T> workers(n_threads, Theta.stride, longest(W), 1);
  const auto kernel = kernels<T>().log_predictive;
  parallel_for(n_threads, n_tasks(W.n_docs, kDocsPerTask), [&](std::int64_t t, int worker) {
    Scratch<T>& s = workers[worker];
    const std::int64_t last = std::min((t + 1) * kDocsPerTask, W.n_docs);
    for (std::int64_t i = t * kDocsPerTask; i < last; ++i) {
      double total = 0;
      for (std::int64_t k = 0; k < scores.width; ++k)
        total += static_cast<double>(scores.row(i)[k]);
      // Without priors a document of no words has no scores: then no component is preferred.
      const double even = 1 / static_cast<double>(scores.width);
      for (std::int64_t k = 0; k < scores.width; ++k)
        s.e[k] = static_cast<T>(total > 0 ? static_cast<double>(scores.row(i)[k]) / total : even);
      out[i] = kernel(W, Theta, log_scale, i, s.e, s.z);
    }
  });
}

#define DCOMP_INSTANTIATE(T)                                                                     \
  template ExpectSums expect<T>(const ExpectInput<T>&, const CorpusIndex&, const Rows<const T>&, \
                                const Rows<T>&, const Rows<T>&, int);                            \
  template ExpectSums fold_in<T>(const ExpectInput<T>&, const Rows<const T>&, const Rows<T>&,    \
                                 double*, int);                                                  \
  template void log_predictive<T>(const CsrView&, const Rows<const T>&, const double*,           \
                                  const Rows<const T>&, double*, int);
DCOMP_INSTANTIATE(float)
DCOMP_INSTANTIATE(double)

}  // namespace dcomp
