// Collapsed Gibbs sampling of structured components as a library: leaf c and node h of every token,
// MODELS.md section 5.
#pragma once

#include <memory>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/count_table.hpp"
#include "dcomp/counts.hpp"
#include "dcomp/kernels/structured_pass.hpp"
#include "dcomp/matrix.hpp"
#include "dcomp/score_prior.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

// Owner of a StructureView: pairs (c, h) in order of leaf and node, and for sticks the parents.
class StructureLayout {
 public:
  StructureLayout(RowKind kind, const std::int32_t* leaf, const std::int32_t* node,
                  std::int64_t n_pairs, std::int64_t K, std::int64_t H, const std::int32_t* parent);

  const StructureView& view() const { return view_; }
  std::int64_t n_pairs() const { return static_cast<std::int64_t>(code_.size()); }
  std::int32_t code(std::int64_t pair) const { return code_[static_cast<std::size_t>(pair)]; }
  std::int32_t pair(std::int64_t code) const { return pair_[static_cast<std::size_t>(code)]; }
  // Counts that a row of S has, and how many of them are read, by pair or node: the rest follows.
  std::int64_t width() const;
  std::int64_t read_width() const { return is_stick(view_.kind) ? view_.H : n_pairs(); }

 private:
  void lay_out_pairs(const std::int32_t* leaf, const std::int32_t* node);
  void lay_out_tree(const std::int32_t* leaf, const std::int32_t* node, const std::int32_t* parent);

  void lay_out_vector(const std::int32_t* parent);

  StructureView view_;
  std::vector<std::int32_t> code_, pair_;
  AlignedVector<std::int32_t> leaf_, node_;
  std::vector<std::int32_t> parent_, inner_, child_start_, child_, table_;
  AlignedVector<float> below_, is_top_;
  AlignedVector<std::int32_t> slot_above_;
};

// An error text unless these are parents of a forest whose leaves are the nodes 0..K-1, and the
// pairs are its paths; "" if they are.
const char* check_structure(const std::int32_t* leaf, const std::int32_t* node,
                            std::int64_t n_pairs, std::int64_t K, std::int64_t H,
                            const std::int32_t* parent);

// All counts of an assignment of tokens to pairs.
class StructuredCounts {
 public:
  StructuredCounts(const TokenCells& cells, const std::int32_t* block, std::int64_t n_blocks,
                   const StructureLayout& layout);

  void count(const std::uint16_t* z);
  // The whole corpus's counts take the place of this part's own, which they must hold: n (J, H)
  // and, where the corpus shares rows that sweeps learn from, S as read_rows() gives it; else S is
  // null. What documents have of their own stays.
  void load(const std::int32_t* n, const std::int32_t* S);
  // Gives back the memory of n, which is gone until the next count or load. Sweeps with given
  // loadings need none.
  void unload();
  bool loaded() const { return loaded_; }
  void read(std::uint16_t* z) const;  // pairs of the tokens

  const TokenCells& cells() const { return cells_; }
  const DocumentTokens& by_document();  // made when first wanted
  const StructureLayout& layout() const { return layout_; }
  const std::vector<std::int32_t>& block() const { return block_; }
  std::int64_t n_blocks() const { return n_blocks_; }
  std::int64_t row_width() const { return width_; }
  std::int64_t n_rows() const { return n_rows_; }
  // Whether S has one row that all documents share and that sweeps learn from.
  bool shares_rows() const {
    const RowKind kind = layout_.view().kind;
    return kind != RowKind::fixed && !is_per_document(kind);
  }
  std::int32_t* code() { return code_.data(); }
  std::int32_t* C() { return C_.data(); }
  std::int32_t* S() { return S_.data(); }
  std::int32_t* n() { return n_.data(); }
  std::int32_t* total() { return total_.data(); }
  CountView leaf_view() const;     // (I, K)
  CountView feature_view() const;  // (J, H)
  // S (1 or I, pairs or nodes), node counts of documents (I, H).
  void read_rows(std::int32_t* out) const;
  void add_nodes(float* out) const;

 private:
  const TokenCells& cells_;
  std::unique_ptr<DocumentTokens> by_document_;
  const StructureLayout& layout_;
  std::vector<std::int32_t> block_;
  std::int64_t n_blocks_, n_rows_, width_;
  std::vector<std::int32_t> code_;
  AlignedVector<std::int32_t> C_, S_, n_, total_;
  bool loaded_ = false;

  void allocate();  // n
};

struct StructuredInput {
  const double* gamma = nullptr;                // (J)
  ScorePrior prior;                             // of leaves: one whose predictive is linear
  const double* pair = nullptr;                 // (P): psi, or upsilon itself
  const double *stop = nullptr, *go = nullptr;  // (H)
  std::uint64_t seed = 0;
  std::uint32_t sweep = 0;
  const float* Theta = nullptr;  // (J, padded nodes): given loadings, in place of n
};

// One sweep over all tokens. Returns the sum of log p(word | all the rest). With given loadings
// every document is on its own: what it draws depends on its number in the whole corpus and its
// counts, and on nothing that other documents have. Rows must then not be learned from all of them
// (shares_rows), and the features' counts stay as they are.
double structured_sweep(const StructuredInput& input, StructuredCounts& counts, int n_threads);

// out_jh += E[theta_jh | n].
void add_structured_loadings(StructuredCounts& counts, const double* gamma, const Rows<float>& out,
                             int n_threads);

}  // namespace dcomp
