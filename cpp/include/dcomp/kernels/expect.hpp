// Allocation in expectation: the pass of BJ06 figure 5 over one document, by mean field or by EM
// with the scores at their mode, and the statistics of one feature.
#pragma once

#include <cmath>

#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/expect_few.hpp"
#include "dcomp/kernels/rows.hpp"
#include "dcomp/priors/concept.hpp"
#include "dcomp/special.hpp"

namespace dcomp::DCOMP_ISA {

// c_k = e_k sum_j (w_j / Z_j) theta_jk; returns sum_k |change|.
// Padding stays 0, because the padding of Theta is.
template <class T>
inline double update_c(std::int64_t padded, Scratch<T>& s) {
  Vec<double> change{};
  for (std::int64_t k = 0; k < padded; k += kLanes<double>) {
    const Vec<double> c = load_double(s.e + k) * load(s.sum + k);
    const Vec<double> difference = c - load_double(s.c + k);
    change += difference < 0.0 ? -difference : difference;
    store_double(s.c + k, c);
  }
  return sum<double>(change);
}

// The counts of a document are `Number`s: std::int32_t, or double where they are fractional.
template <class Number>
struct SumOf {
  using type = std::int64_t;
};
template <>
struct SumOf<double> {
  using type = double;
};
// sum_p w_p
template <class Number>
inline double length_of(const Number* w, std::int64_t n) {
  typename SumOf<Number>::type total = 0;
  for (std::int64_t p = 0; p < n; ++p) total += w[p];
  return static_cast<double>(total);
}

// sum_p w_p log z_p. z has room for whole vectors; its last one is filled up with ones here.
template <class Number, class T>
inline double weighted_log(const Number* w, T* z, std::int64_t n) {
  constexpr int lanes = kLanes<double>;
  std::int64_t whole = n / lanes * lanes;
  Vec<double> total{};
  for (std::int64_t p = 0; p < whole; p += lanes)
    total += load_double(w + p) * log<double>(load_double(z + p));
  double rest = 0;
  if (whole < n) {
    for (std::int64_t p = n; p < whole + lanes; ++p) z[p] = 1;
    const Vec<double> value = log<double>(load_double(z + whole));
    for (std::int64_t p = whole; p < n; ++p) rest += w[p] * value[p - whole];
  }
  return sum<double>(total) + rest;
}

// sum_p w_p log_scale_j(p): what the scaling of Theta's rows took from the words of a document.
template <class Number>
inline double scale_of_words(const Number* w, const std::int32_t* feature, const double* log_scale,
                             std::int64_t n) {
  double total = 0;
  for (std::int64_t p = 0; p < n; ++p) total += w[p] * log_scale[feature[p]];
  return total;
}

// One update of a document: e and Z from c, then the new c; returns the change and log of e's
// scale.
struct Update {
  double change, top;
};
template <class ScoresOf, class Number, class T>
inline Update update_by_rows(const DocumentPass<T>& pass, const ScoresOf& scores,
                             const std::int32_t* feature, const Number* w, std::int64_t n,
                             std::int64_t n_ahead, Scratch<T>& s) {
  const double top = scores.weights(s);
  inner_products(pass.Theta, feature, n, n_ahead, s.e, s.z);  // Z of (14), (18)
  for (std::int64_t p = 0; p < n; ++p) s.weight[p] = static_cast<T>(w[p]) / s.z[p];
  weighted_sum(pass.Theta, feature, s.weight, n, s.sum);
  return {update_c(pass.prior.padded, s), top};  // (13), (17)
}
// The same by columns, for the chosen components alone; the others keep their c.
template <class ScoresOf, class Number, class T>
inline Update update_by_columns(const ScoresOf& scores, const Columns<T>& columns, const Number* w,
                                std::int64_t n, std::int64_t n_chosen, Scratch<T>& s) {
  const double top = scores.weights(s);
  column_products(columns, s.chosen, n_chosen, s.e, s.z);
  for (std::int64_t p = 0; p < n; ++p) s.weight[p] = static_cast<T>(w[p]) / s.z[p];
  for (std::int64_t p = n; p < columns.stride; ++p) s.weight[p] = 0;
  double change = 0;
  for (std::int64_t q = 0; q < n_chosen; ++q) {
    const std::int64_t k = s.chosen[q];
    const double c =
        static_cast<double>(s.e[k]) * column_sum(columns.column(k), columns.stride, s.weight);
    const double difference = c - static_cast<double>(s.c[k]);
    change += difference < 0 ? -difference : difference;
    s.c[k] = static_cast<T>(c);
  }
  return {change, top};
}

// Lists the components that hold more than 1e-5 of the document; all of them if `all`.
template <class T>
inline std::int64_t choose_components(std::int64_t K, double length, bool all, Scratch<T>& s) {
  std::int64_t n_chosen = 0;
  for (std::int64_t k = 0; k < K; ++k)
    if (all || static_cast<double>(s.c[k]) > 1e-5 * length)
      s.chosen[n_chosen++] = static_cast<std::int32_t>(k);
  return n_chosen;
}

// The fixed point is approached at a steady rate; a jump ahead by the geometric series of the last
// step saves more than half of the updates. A component is never cut below a tenth of its value, so
// that the jump cannot close a door; whether the point is fixed is judged by plain updates alone.
template <class T>
inline void jump_ahead(std::int64_t padded, double rate, const T* c_before, Scratch<T>& s) {
  const double steps = rate < 0.95 ? rate / (1 - rate) : 19.0;
  for (std::int64_t k = 0; k < padded; k += kLanes<double>) {
    const Vec<double> c = load_double(s.c + k);
    const Vec<double> ahead = c + steps * (c - load_double(c_before + k));
    store_double(s.c + k, max<double>(ahead, 0.1 * c));
  }
}

// The change of c at which a document counts as settled. What is left to gain goes with the square
// of the change over the length: where documents come to rest, a long one has to be stiller than a
// short one, as far as T can tell.
template <class T>
inline double still(const DocumentPass<T>& pass, double length) {
  const double share = pass.inner_tol * length;
  if (pass.max_inner < kGatherFrom || length <= kLongFrom) return share;
  const double finest = kFinestChange<T> * length;
  const double change = pass.inner_tol * std::sqrt(kLongFrom * length);
  return change < finest ? (finest < share ? finest : share) : change;
}

// Numbers of a document, entries by components, from which on its updates are stop points: below,
// the task that it is in is soon over, unless updates are very many.
inline constexpr std::int64_t kLongDocument = std::int64_t{1} << 13;
inline constexpr int kManyUpdates = 1 << 10;

inline void pass_stop_point(std::int64_t numbers, int inner) {
  if (numbers > kLongDocument)
    stop_point(numbers);
  else if (inner % kManyUpdates == 0)
    stop_point();
}

// Updates a document until it settles or its number of updates is used up; returns the last one.
// One that starts cold jumps ahead.
template <class ScoresOf, class Number, class T>
inline Update fixed_point_by_rows(const DocumentPass<T>& pass, const ScoresOf& scores,
                                  const std::int32_t* feature, const Number* w, std::int64_t n,
                                  std::int64_t n_ahead, double length, Scratch<T>& s,
                                  DocumentSums& sums) {
  const std::int64_t padded = pass.Theta.stride;
  const bool starts_cold = pass.max_inner >= kGatherFrom;
  const double enough = still(pass, length);
  double last_change = 0;
  for (int inner = 1;; ++inner) {
    if (starts_cold)
      for (std::int64_t k = 0; k < padded; ++k) s.c_before[k] = s.c[k];
    pass_stop_point(n * padded, inner);
    const Update update = update_by_rows(pass, scores, feature, w, n, inner == 1 ? n_ahead : 0, s);
    sums.inner += 1;
    if (inner >= pass.max_inner || update.change <= enough) return update;
    const double rate = update.change / last_change;
    last_change = update.change;
    if (starts_cold && inner % kJumpEvery == 0 && rate > 0.3 && rate < 1)
      jump_ahead(padded, rate, s.c_before, s);
  }
}

// The same for a document that starts cold: with jumps ahead, and on the components that matter.
// The last update is always one of all components.
template <class ScoresOf, class Number, class T>
inline Update fixed_point_by_columns(const DocumentPass<T>& pass, const ScoresOf& scores,
                                     const std::int32_t* feature, const Number* w, std::int64_t n,
                                     double length, Scratch<T>& s, DocumentSums& sums) {
  const std::int64_t K = pass.Theta.width, padded = pass.Theta.stride;
  const Columns<T> columns = gather_columns(pass.Theta, feature, n, s.columns);
  std::int64_t n_chosen = choose_components(K, length, true, s);
  const double enough = still(pass, length);
  double last_change = 0;
  for (int inner = 1;; ++inner) {
    pass_stop_point(n * padded, inner);
    for (std::int64_t k = 0; k < padded; ++k) s.c_before[k] = s.c[k];
    const Update update = update_by_columns(scores, columns, w, n, n_chosen, s);
    sums.inner += 1;
    const bool settled = inner >= pass.max_inner || update.change <= enough;
    if (settled && n_chosen == K) return update;
    const double rate = update.change / last_change;
    last_change = update.change;
    if (!settled && inner % kJumpEvery == 0 && rate > 0.3 && rate < 1)
      jump_ahead(padded, rate, s.c_before, s);
    n_chosen = choose_components(K, length, settled, s);
  }
}

// What a document leaves behind when it has settled: its c, its e where statistics are collected,
// and its share of the sums; `log_words` is sum_j w_j log Z_j.
template <class ScoresOf, class Number, class T>
inline void close_document(const DocumentPass<T>& pass, const ScoresOf& scores, const Number* w,
                           std::int64_t i, double length, double top, double log_words,
                           Scratch<T>& s, DocumentSums& sums) {
  const std::int64_t begin = pass.W.indptr[i], n = pass.W.size(i), K = pass.c_in.width;
  for (std::int64_t k = 0; k < K; ++k) pass.c_out.row(i)[k] = s.c[k];
  double common = 0;
  const double prior_part = scores.close(i, s.a, {sums.log, sums.mean}, &common);
  double bound = prior_part + length * (top + common) + log_words;  // (16), (19)
  if (pass.log_scale != nullptr)
    bound += scale_of_words(w, pass.W.indices + begin, pass.log_scale, n);
  sums.bound += bound;
  if (pass.doc_bound != nullptr) pass.doc_bound[i] = bound;
  if (pass.e_out.data == nullptr) return;
  T* e_out = pass.e_out.row(i - pass.first_doc);
  for (std::int64_t k = 0; k < pass.Theta.stride; ++k) e_out[k] = s.e[k];
}

// Few components: always all of them, with jumps ahead where the document starts cold. What the
// last update is to leave behind is kept in `s`.
template <int K, Kept kKept, class ScoresOf, class T>
inline Update fixed_point_by_places(const DocumentPass<T>& pass, const ScoresOf& scores,
                                    const Places<T>& at, double length, Scratch<T>& s,
                                    DocumentSums& sums) {
  const std::int64_t padded = pass.Theta.stride;
  const bool starts_cold = pass.max_inner >= kGatherFrom;
  for (std::int64_t k = K; k < padded; ++k) s.sum[k] = 0;
  const double enough = still(pass, length);
  double last_change = 0;
  for (int inner = 1;; ++inner) {
    pass_stop_point(at.n * padded, inner);
    if (starts_cold)
      for (std::int64_t k = 0; k < padded; ++k) s.c_before[k] = s.c[k];
    const double top = scores.weights(s);
    allocate_places<K, kKept>(at, s.e, s.z, s.weight, s.sum);  // Z of (14), (18)
    const Update update{update_c(padded, s), top};             // (13), (17)
    sums.inner += 1;
    if (inner >= pass.max_inner || update.change <= enough) return update;
    const double rate = update.change / last_change;
    last_change = update.change;
    if (starts_cold && inner % kJumpEvery == 0 && rate > 0.3 && rate < 1)
      jump_ahead(padded, rate, s.c_before, s);
  }
}

template <class ScoresOf, class T>
  requires Allocation<ScoresOf, T>
inline void expect_document_few(const DocumentPass<T>& pass, const ScoresOf& scores, std::int64_t i,
                                std::int64_t last, Scratch<T>& s, DocumentSums& sums) {
  const std::int64_t begin = pass.W.indptr[i], n = pass.W.size(i);
  const std::int64_t n_ahead = pass.W.indptr[last] - begin;
  const std::int64_t K = pass.c_in.width, padded = pass.Theta.stride;
  const std::int32_t *feature = pass.W.indices + begin, *w = pass.W.data + begin;
  const bool dense = is_dense(n, pass.W.n_features);
  // A row of the table is read in the place of the entries, which take eight times the memory.
  const bool by_table = dense && pass.table.data != nullptr;
  const std::uint8_t* row = by_table ? pass.table.row(i - pass.first_doc) : nullptr;
  const Extent extent = by_table ? extent_of(row, pass.W.n_features) : extent_of(w, n);
  const double length = extent.length;
  for (std::int64_t k = 0; k < K; ++k) s.c[k] = pass.c_in.row(i)[k];
  for (std::int64_t k = K; k < padded; ++k) s.c[k] = 0;
  scores.shift(i, s.shift);
  const Places<T> at = by_table ? places_of_row(pass, row, s)
                       : dense  ? places_of_features(pass, feature, w, n, s)
                                : places_of_entries(pass, feature, w, n, n_ahead, s);
  Update update{};
  double log_words = 0;
  with_few(K, [&](auto few) {
    constexpr int size = few.size;
    if (!dense) {
      update = fixed_point_by_places<size, Kept::weights>(pass, scores, at, length, s, sums);
      log_words = log_of_places(at.w, s.z, at.n);
      return;
    }
    if constexpr (sizeof(T) == 4) {
      // The only update is the last one, of which the powers can be kept as it goes.
      if (pass.max_inner == 1 && extent.is_small) {
        update = fixed_point_by_places<size, Kept::powers>(pass, scores, at, length, s, sums);
        log_words = log_of_powers(s.z, at.n);
        return;
      }
    }
    update = fixed_point_by_places<size, Kept::nothing>(pass, scores, at, length, s, sums);
    log_words = log_of_dense<size>(at, extent, s.e, s.z);
  });
  close_document(pass, scores, w, i, length, update.top, log_words, s, sums);
  if (pass.weight_out == nullptr) return;
  if (dense) with_few(K, [&](auto few) { products_of_places<few.size, false>(at, s.e, s.z); });
  for (std::int64_t p = 0; p < n; ++p)
    pass.weight_out[pass.place[begin + p]] =
        dense ? static_cast<T>(w[p]) / s.z[feature[p]] : s.weight[p];
}

// numbers: of all entries, `pass.W.data` or `pass.W.weight`.
template <class ScoresOf, class Number, class T>
  requires Allocation<ScoresOf, T>
inline void expect_document(const DocumentPass<T>& pass, const ScoresOf& scores,
                            const Number* numbers, std::int64_t i, std::int64_t last, Scratch<T>& s,
                            DocumentSums& sums) {
  const std::int64_t begin = pass.W.indptr[i], n = pass.W.size(i);
  const std::int64_t n_ahead = pass.W.indptr[last] - begin;
  const std::int64_t K = pass.c_in.width, padded = pass.Theta.stride;
  const std::int32_t* feature = pass.W.indices + begin;
  const Number* w = numbers + begin;
  const double length = length_of(w, n);
  for (std::int64_t k = 0; k < K; ++k) s.c[k] = pass.c_in.row(i)[k];
  for (std::int64_t k = K; k < padded; ++k) s.c[k] = 0;
  scores.shift(i, s.shift);

  // The bound below needs a, e and Z of one and the same update: the loop leaves them so, with
  // the newer c already in s.c (MODELS.md section 3).
  const bool by_columns = pass.max_inner >= kGatherFrom && (n + kLanes<T>)*K <= kGatherSize;
  const Update update =
      by_columns ? fixed_point_by_columns(pass, scores, feature, w, n, length, s, sums)
                 : fixed_point_by_rows(pass, scores, feature, w, n, n_ahead, length, s, sums);

  close_document(pass, scores, w, i, length, update.top, weighted_log(w, s.z, n), s, sums);
  if (pass.weight_out == nullptr) return;
  for (std::int64_t p = 0; p < n; ++p) pass.weight_out[pass.place[begin + p]] = s.weight[p];
}

// Each of the three is a function of its own, and all of whole counts is inlined into it: left to
// itself the compiler finds both together too much and leaves calls in the loops, which costs a
// twentieth to a tenth.
template <class ScoresOf, class T>
[[gnu::noinline, gnu::flatten]] void expect_whole(const DocumentPass<T>& pass, std::int64_t first,
                                                  std::int64_t last, Scratch<T>& s,
                                                  DocumentSums& sums) {
  const ScoresOf scores{pass.prior};
  for (std::int64_t i = first; i < last; ++i)
    expect_document(pass, scores, pass.W.data, i, last, s, sums);
}
template <class ScoresOf, class T>
[[gnu::noinline]] void expect_few(const DocumentPass<T>& pass, std::int64_t first,
                                  std::int64_t last, Scratch<T>& s, DocumentSums& sums) {
  const ScoresOf scores{pass.prior};
  for (std::int64_t i = first; i < last; ++i) expect_document_few(pass, scores, i, last, s, sums);
}
template <class ScoresOf, class T>
[[gnu::noinline]] void expect_fractional(const DocumentPass<T>& pass, std::int64_t first,
                                         std::int64_t last, Scratch<T>& s, DocumentSums& sums) {
  const ScoresOf scores{pass.prior};
  for (std::int64_t i = first; i < last; ++i)
    expect_document(pass, scores, pass.W.weight, i, last, s, sums);
}

// ScoresOf: a prior's Expect<T> or Maximise<T>.
template <class ScoresOf, class T>
void expect_documents(const DocumentPass<T>& pass, std::int64_t first, std::int64_t last,
                      Scratch<T>& s, DocumentSums& sums) {
  if (is_few(pass.W, pass.c_in.width))
    expect_few<ScoresOf>(pass, first, last, s, sums);
  else if (pass.W.weight != nullptr)
    expect_fractional<ScoresOf>(pass, first, last, s, sums);
  else
    expect_whole<ScoresOf>(pass, first, last, s, sums);
}

// The statistics of one feature from its entries [begin, end): the sum of (15).
template <class T>
void collect_feature(const FeaturePass<T>& pass, std::int32_t j, std::int64_t begin,
                     std::int64_t end, double* sum) {
  weighted_sum(pass.e, pass.document + begin, pass.weight + begin, end - begin, sum);
  const T* theta = pass.Theta.row(j);
  T* n = pass.n.row(j);
  constexpr int lanes = kLanes<double>;
  std::int64_t k = 0;
  for (; k + lanes <= pass.n.width; k += lanes)
    store_double(n + k, load_double(n + k) + load_double(theta + k) * load(sum + k));
  for (; k < pass.n.width; ++k)
    n[k] = static_cast<T>(static_cast<double>(n[k]) + static_cast<double>(theta[k]) * sum[k]);
}

}  // namespace dcomp::DCOMP_ISA
