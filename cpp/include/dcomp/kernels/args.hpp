// What a kernel is given: plain views, the same for every instruction set.
#pragma once

#include <cstdint>

#include "dcomp/counts.hpp"
#include "dcomp/gamma_view.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/score_prior.hpp"

namespace dcomp {

// Allocation weights are kept as theta_jk = value * exp(log_scale_j) with the largest value of a
// row 1, and no weight below this floor: float32 holds them without denormals, their products
// too, and Z_j is never zero. MODELS.md calls for floors in log space; this is that floor.
template <class T>
inline constexpr T kWeightFloor = sizeof(T) == 4 ? T(1e-18) : T(1e-150);

// A document that may get this many updates (one that starts cold, not one of a sweep) has its rows
// gathered into columns first, if they fit.
inline constexpr int kGatherFrom = 32;
inline constexpr std::int64_t kGatherSize = std::int64_t{1} << 18;
// Plain updates between two jumps ahead: the rate must be measured between plain ones.
inline constexpr int kJumpEvery = 3;
// Words from which a document that comes to rest has to be stiller than its share of inner_tol, and
// the change of c, as a share of its words, that rounding lets see.
inline constexpr double kLongFrom = 1000;
template <class T>
inline constexpr double kFinestChange = sizeof(T) == 4 ? 2e-7 : 1e-15;

// Up to so many components, vectors run along the words of a document (kernels/expect_few.hpp).
inline constexpr std::int64_t kFewComponents = 8;
// Counts that are not whole go the plain way.
[[gnu::always_inline]] inline bool is_few(const CsrView& W, std::int64_t K) {
  return K <= kFewComponents && W.weight == nullptr;
}
// Whether a document of n entries then has a place for each of J features: those that it does not
// have cost less than those that it has would cost to gather.
[[gnu::always_inline]] inline bool is_dense(std::int64_t n, std::int64_t J) { return 3 * n >= J; }

// One worker's buffers; `entries` hold the longest document, the others one padded row.
template <class T>
struct Scratch {
  T *c, *c_before, *a, *shift, *e;
  T *z, *weight;         // entries
  T* w;                  // entries; for few components, where all three may hold all features
  T* columns;            // kGatherSize numbers or, for few components, K times the entries
  std::int32_t* chosen;  // one padded row
  double* sum;
};

// The document half of a mean-field pass.
template <class T>
struct DocumentPass {
  CsrView W;
  Rows<const T> Theta;
  const double* log_scale = nullptr;  // null where the caller adds its sum over all documents
  PriorView<T> prior;
  Rows<const T> c_in;
  Rows<T> c_out;
  int max_inner = 1;
  double inner_tol = 0;  // stop when sum_k |change of c_k| <= inner_tol * L; see still()

  // Wanted only when statistics are collected: e of each document and w/Z of each entry, counted
  // from the slab's first document and entry.
  Rows<T> e_out;
  T* weight_out = nullptr;
  const std::int32_t* place = nullptr;
  std::int64_t first_doc = 0;

  // For few components, if any document is dense: Theta turned, (K, turned_stride) with J numbers
  // and ones behind them; and the counts of the documents from `first_doc` on, where they have a
  // table of bytes.
  const T* turned = nullptr;
  std::int64_t turned_stride = 0;
  Rows<const std::uint8_t> table;

  double* doc_bound = nullptr;  // wanted only when scores of single documents are asked for
};

struct DocumentSums {
  double bound = 0;
  std::int64_t inner = 0;
  double* log = nullptr;   // (padded)
  double* mean = nullptr;  // (padded)
};

// The feature half: n_jk += theta_jk sum_i weight_ij e_ik.
template <class T>
struct FeaturePass {
  Rows<const T> Theta;
  Rows<const T> e;
  const T* weight = nullptr;
  const std::uint16_t* document = nullptr;
  Rows<T> n;
};

// The same but for theta, where the documents have a table of bytes and components are few:
// sum_kj += sum_i weight_ij e_ik.
template <class T>
struct TablePass {
  Rows<const std::uint8_t> table;  // (documents, features), zeros behind them
  Rows<const T> e;
  const T* turned = nullptr;  // (K, stride)
  double* sum = nullptr;      // (K, stride)
  std::int64_t stride = 0;
};

// How the loadings stand in the allocation: MODELS.md section 4.
enum class Treatment { mean = 0, map = 1, vb = 2 };

template <class T>
struct LoadingPass {
  Treatment treatment = Treatment::mean;
  Rows<const T> n;
  GammaView gamma;
  const std::int32_t* block = nullptr;  // (J)
  Rows<const double> log_total;         // (G, padded): log of the total, or its digamma for vb
  const double* is_real = nullptr;      // (padded): 1 for a component, 0 for padding
  Rows<T> Theta;
  double* log_scale = nullptr;  // (J)
};

}  // namespace dcomp
