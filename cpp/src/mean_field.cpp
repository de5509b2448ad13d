#include "dcomp/mean_field.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

// Tasks of fixed size, so that sums are cut in the same places whatever the number of threads.
constexpr std::int64_t kDocsPerTask = 32, kEntriesPerTask = std::int64_t{1} << 15;
constexpr std::int64_t kSlotsPerTask = 64, kColumnsPerTask = 1024;
// Rows of Theta turned in one task: fewer are done before a thread has begun.
constexpr std::int64_t kTurnedPerTask = std::int64_t{1} << 13;
// Documents folded in before their tasks' sums are added up: bounds the memory of those sums.
constexpr std::int64_t kDocsPerRound = std::int64_t{1} << 13;

std::int64_t n_tasks(std::int64_t n, std::int64_t per_task) {
  return (n + per_task - 1) / per_task;
}

// To whole vectors, however wide.
std::int64_t round_up(std::int64_t n) { return (n + 15) / 16 * 16; }

// What a worker must have room for.
struct Room {
  std::int64_t entries = 0;  // of the longest document, or places where those are more
  std::int64_t columns = 0;  // numbers of a document's columns
  bool has_dense = false;    // whether any document has a place for every feature

  Room(const CsrView& W, std::int64_t K, int max_inner) {
    const bool few = is_few(W, K);
    for (std::int64_t i = 0; i < W.n_docs; ++i) {
      const std::int64_t n = W.size(i);
      const bool dense = few && is_dense(n, W.n_features);
      has_dense |= dense;
      entries = std::max(entries, round_up(dense ? W.n_features : n));
      if (few && !dense) columns = std::max(columns, K * round_up(n));
    }
    if (!few && max_inner >= kGatherFrom) columns = kGatherSize;
  }
};

// Scratch for every thread.
template <class T>
class Workers {
 public:
  Workers(int n_threads, std::int64_t padded, const Room& room)
      : rows_(n_threads * 5 * padded),
        entries_(n_threads * 3 * room.entries),
        columns_(n_threads * room.columns),
        sums_(n_threads * padded),
        chosen_(n_threads * padded) {
    for (int t = 0; t < n_threads; ++t) {
      T* row = rows_.data() + t * 5 * padded;
      T* entry = entries_.data() + t * 3 * room.entries;
      scratch_.push_back({row, row + padded, row + 2 * padded, row + 3 * padded, row + 4 * padded,
                          entry, entry + room.entries, entry + 2 * room.entries,
                          columns_.data() + t * room.columns, chosen_.data() + t * padded,
                          sums_.data() + t * padded});
    }
  }
  Scratch<T>& operator[](int worker) { return scratch_[static_cast<std::size_t>(worker)]; }

 private:
  AlignedVector<T> rows_, entries_, columns_;
  AlignedVector<double> sums_;
  AlignedVector<std::int32_t> chosen_;
  std::vector<Scratch<T>> scratch_;
};

// Where the tasks over documents [first, last) begin, and `last`: by documents and, where they are
// long, by entries, so that a few long ones are work for several threads too.
std::vector<std::int64_t> task_starts(const CsrView& W, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> starts{first};
  for (std::int64_t i = first + 1; i < last; ++i)
    if (i - starts.back() >= kDocsPerTask ||
        W.indptr[i] - W.indptr[starts.back()] >= kEntriesPerTask)
      starts.push_back(i);
  if (last > first) starts.push_back(last);
  return starts;
}

// Runs the documents [first, last) in fixed tasks and adds their sums in task order.
template <class T>
void run_documents(const DocumentPass<T>& pass, const ScorePrior& prior, std::int64_t first,
                   std::int64_t last, Workers<T>& workers, int n_threads, ExpectSums& total) {
  const std::vector<std::int64_t> starts = task_starts(pass.W, first, last);
  const std::int64_t padded = pass.Theta.stride, tasks = std::ssize(starts) - 1;
  AlignedVector<double> sums(static_cast<std::size_t>(tasks * 2 * padded));
  std::vector<DocumentSums> part(static_cast<std::size_t>(tasks));
  const AllocationKernels<T>& of = kernels<T>().priors[prior.which];
  const auto kernel = prior.mode == ScoreMode::expect ? of.expect : of.maximise;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    const auto at = static_cast<std::size_t>(t);
    part[at].log = sums.data() + t * 2 * padded;
    part[at].mean = part[at].log + padded;
    kernel(pass, starts[at], starts[at + 1], workers[worker], part[at]);
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

// Theta with features side by side, for documents of few components that have a place for each;
// ones behind them, so that a place of no feature has a Z to divide by.
template <class T>
AlignedVector<T> turned(const Rows<const T>& Theta, int n_threads) {
  const std::int64_t stride = round_up(Theta.n_rows);
  AlignedVector<T> out(static_cast<std::size_t>(Theta.width * stride), T(1));
  parallel_for(n_threads, n_tasks(Theta.n_rows, kTurnedPerTask), [&](std::int64_t t, int) {
    const std::int64_t last = std::min((t + 1) * kTurnedPerTask, Theta.n_rows);
    for (std::int64_t j = t * kTurnedPerTask; j < last; ++j)
      for (std::int64_t k = 0; k < Theta.width; ++k) out[k * stride + j] = Theta.row(j)[k];
  });
  return out;
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

// n of a slab: feature by feature, from the list of its entries.
template <class T>
void collect_entries(const FeaturePass<T>& pass, const CorpusIndex& index, const Slab& slab,
                     Workers<T>& workers, int n_threads) {
  const std::int64_t slots = slab.last_slot - slab.first_slot;
  const auto kernel = kernels<T>().collect_feature;
  parallel_for(n_threads, n_tasks(slots, kSlotsPerTask), [&](std::int64_t t, int worker) {
    const std::int64_t first = slab.first_slot + t * kSlotsPerTask;
    const std::int64_t last = std::min(first + kSlotsPerTask, slab.last_slot);
    for (std::int64_t s = first; s < last; ++s)
      kernel(pass, index.feature(s), index.start(s) - slab.first_entry,
             index.start(s + 1) - slab.first_entry, workers[worker].sum);
  });
}

// What a pass is told, and what it adds to.
template <class T>
struct Passing {
  const ExpectInput<T>& input;
  const PreparedPrior<T>& prior;
  const CorpusIndex& index;
  Rows<const T> c_in;
  Rows<T> c_out, n;
  const AlignedVector<T>& columns;  // Theta turned, where that is wanted
  int n_threads;

  DocumentPass<T> documents(AlignedVector<T>& e, std::int64_t first, std::int64_t last) const {
    DocumentPass<T> pass = document_pass(input, prior, c_in, c_out);
    pass.log_scale = nullptr;
    pass.e_out = {e.data(), last - first, c_in.width, input.Theta.stride};
    pass.first_doc = first;
    pass.turned = columns.data();
    pass.turned_stride = round_up(input.W.n_features);
    return pass;
  }
};

// Slab by slab, with a weight for every entry.
template <class T>
void expect_slabs(const Passing<T>& over, Workers<T>& workers, ExpectSums& total) {
  const CorpusIndex& index = over.index;
  const std::int64_t padded = over.input.Theta.stride;
  AlignedVector<T> e(index.max_slab_docs() * padded), weight(index.max_slab_entries());
  for (const Slab& slab : index.slabs()) {
    DocumentPass<T> documents = over.documents(e, slab.first_doc, slab.last_doc);
    documents.weight_out = weight.data();
    documents.place = index.place();
    run_documents(documents, over.input.prior, slab.first_doc, slab.last_doc, workers,
                  over.n_threads, total);
    const FeaturePass<T> features{over.input.Theta,
                                  {e.data(), documents.e_out.n_rows, over.n.width, padded},
                                  weight.data(),
                                  index.document() + slab.first_entry,
                                  over.n};
    collect_entries(features, index, slab, workers, over.n_threads);
  }
}

// All documents and then all features, which a table of bytes needs no weights for.
template <class T>
void expect_table(const Passing<T>& over, const Rows<const std::uint8_t>& table,
                  Workers<T>& workers, ExpectSums& total) {
  const Rows<const T>& Theta = over.input.Theta;
  const std::int64_t n_docs = table.n_rows, K = over.n.width, stride = round_up(table.width);
  AlignedVector<T> e(n_docs * Theta.stride);
  DocumentPass<T> documents = over.documents(e, 0, n_docs);
  documents.table = table;
  run_documents(documents, over.input.prior, 0, n_docs, workers, over.n_threads, total);

  AlignedVector<double> sum(K * stride);
  const TablePass<T> features{
      table, {e.data(), n_docs, K, Theta.stride}, over.columns.data(), sum.data(), stride};
  const auto kernel = kernels<T>().collect_few;
  parallel_for(over.n_threads, n_tasks(stride, kColumnsPerTask), [&](std::int64_t t, int) {
    const std::int64_t first = t * kColumnsPerTask;
    kernel(features, first, std::min(first + kColumnsPerTask, stride));
    for (std::int64_t j = first; j < std::min(first + kColumnsPerTask, over.n.n_rows); ++j)
      for (std::int64_t k = 0; k < K; ++k)
        over.n.row(j)[k] =
            static_cast<T>(static_cast<double>(Theta.row(j)[k]) * sum[k * stride + j]);
  });
}

// No more threads than there are tasks, which are of documents or of features: each has its room.
int threads_for(const CsrView& W, int n_threads) {
  const std::int64_t most = std::max({std::int64_t{1}, W.n_docs, W.n_features});
  return static_cast<int>(std::min<std::int64_t>(n_threads, most));
}

}  // namespace

template <class T>
ExpectSums expect(const ExpectInput<T>& input, const CorpusIndex& index, const Rows<const T>& c_in,
                  const Rows<T>& c_out, const Rows<T>& n, int n_threads) {
  n_threads = threads_for(input.W, n_threads);
  const std::int64_t padded = input.Theta.stride, K = c_in.width;
  const PreparedPrior<T> prior(input.prior, padded);
  const Room room(input.W, K, input.max_inner);
  Workers<T> workers(n_threads, padded, room);
  ExpectSums total = empty_sums(K);
  const auto table = is_few(input.W, K) ? index.table(input.W) : Rows<const std::uint8_t>{};
  const bool by_table = table.data != nullptr;
  const auto columns =
      by_table || room.has_dense ? turned(input.Theta, n_threads) : AlignedVector<T>();
  const Passing<T> over{input, prior, index, c_in, c_out, n, columns, n_threads};
  if (by_table)
    expect_table(over, table, workers, total);
  else
    expect_slabs(over, workers, total);
  for (std::int64_t j = 0; j < input.W.n_features; ++j)
    total.bound += index.total(j) * input.log_scale[j];
  return total;
}

template <class T>
ExpectSums fold_in(const ExpectInput<T>& input, const Rows<const T>& c_in, const Rows<T>& c_out,
                   double* bound, int n_threads) {
  n_threads = threads_for(input.W, n_threads);
  const std::int64_t padded = input.Theta.stride;
  const PreparedPrior<T> prior(input.prior, padded);
  const Room room(input.W, c_in.width, input.max_inner);
  Workers<T> workers(n_threads, padded, room);
  ExpectSums total = empty_sums(c_in.width);
  DocumentPass<T> pass = document_pass(input, prior, c_in, c_out);
  const AlignedVector<T> columns =
      room.has_dense ? turned(input.Theta, n_threads) : AlignedVector<T>();
  pass.turned = columns.data();
  pass.turned_stride = round_up(input.W.n_features);
  pass.doc_bound = bound;
  for (std::int64_t first = 0; first < input.W.n_docs; first += kDocsPerRound)
    run_documents(pass, input.prior, first, std::min(first + kDocsPerRound, input.W.n_docs),
                  workers, n_threads, total);
  return total;
}

template <class T>
void log_predictive(const CsrView& W, const Rows<const T>& Theta, const double* log_scale,
                    const Rows<const T>& scores, double* out, int n_threads) {
  n_threads = threads_for(W, n_threads);
  Workers<T> workers(n_threads, Theta.stride, Room(W, kFewComponents + 1, 1));
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
