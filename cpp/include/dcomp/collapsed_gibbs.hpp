// Collapsed Gibbs sampling as a library: the counts of an assignment, and sweeps over it.
#pragma once

#include <memory>
#include <vector>

#include "dcomp/count_table.hpp"
#include "dcomp/gamma_view.hpp"
#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/tokens.hpp"
#include "dcomp/tree_layout.hpp"

namespace dcomp {

// The counts c, n and N of an assignment z of tokens to components. Columns are components or, for
// those of a tree, the places of its layout.
class CollapsedCounts {
 public:
  // For sweeps with priors like `prior`, whose parameters may change. `sparse`: documents and
  // features as lists of components, for sweeps whose cost follows them. `feature_totals` (J): the
  // tokens of each feature in the whole corpus where these are a part of it; null: they are not.
  CollapsedCounts(const TokenCells& cells, const std::int32_t* block, std::int64_t n_blocks,
                  const ScorePrior& prior, bool sparse,
                  const std::int64_t* feature_totals = nullptr);

  void count(const std::uint16_t* z);

  // The whole corpus's counts of features, n (J, components), take the place of this part's own,
  // which they must hold; c stays. Until the next count or load, sweeps change them by what this
  // part's tokens do.
  void load(const std::int32_t* n);

  // Gives back the memory of the features' counts, which are gone until the next count or load;
  // c stays.
  void unload() { n_.unload(); }
  bool loaded() const { return n_.loaded(); }

  // Whether these counts can be swept with this prior.
  bool fit(const ScorePrior& prior) const;
  std::int64_t n_components() const { return n_components_; }
  TreeLayout* layout() { return layout_.get(); }
  // The component of each column, -1 for none; null where it is the column itself.
  const std::int32_t* component() const { return layout_ ? layout_->node().data() : nullptr; }

  std::int64_t K() const { return K_; }  // columns
  std::int64_t padded() const { return padded_; }
  std::int64_t n_blocks() const { return n_blocks_; }
  const TokenCells& cells() const { return cells_; }
  const std::vector<std::int32_t>& block() const { return block_; }
  const std::vector<std::int64_t>& lengths() const { return lengths_; }  // (I): tokens
  bool sparse() const { return sparse_; }
  CountTable& c() { return c_; }                   // documents
  CountTable& n() { return n_; }                   // features
  std::int32_t* total() { return total_.data(); }  // (G, padded)

 private:
  const TokenCells& cells_;
  std::vector<std::int32_t> block_;
  int which_;
  bool sparse_;
  std::vector<std::int64_t> lengths_;
  std::unique_ptr<TreeLayout> layout_;
  std::int64_t n_blocks_, n_components_, K_, padded_;
  CountTable c_, n_;
  AlignedVector<std::int32_t> total_;
};

struct CollapseInput {
  GammaView gamma;   // one for all components where counts are sparse
  ScorePrior prior;  // with weights that documents share where counts are sparse
  std::uint64_t seed = 0;
  std::uint32_t sweep = 0;
};

// One sweep over all tokens: z and the counts change together. Returns the sum of
// log p(word | all the rest) that BJ06 figure 7 (2c) accumulates.
double collapse_sweep(const CollapseInput& input, CollapsedCounts& counts, std::uint16_t* z,
                      int n_threads);

// Components drawn evenly for every token, each document by random numbers of its own.
void start_assignment(std::uint64_t seed, const CsrView& W, const TokenCells& cells, std::int64_t K,
                      std::uint16_t* z);

// Components drawn from scores and loadings that are known roughly: in proportion to
// scores_ik theta_jk among the components that matter to the document.
void start_assignment_from(std::uint64_t seed, const CsrView& W, const TokenCells& cells,
                           const Rows<const float>& scores, const Rows<const float>& Theta,
                           std::uint16_t* z, int n_threads);

// out_jk += (n_jk + gamma_jk) / (N_gk + Gamma_gk): E[Theta | z], for recording.
void add_mean_loadings(CollapsedCounts& counts, const GammaView& gamma, const Rows<float>& out,
                       int n_threads);

}  // namespace dcomp
