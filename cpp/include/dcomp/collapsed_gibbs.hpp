// Collapsed Gibbs sampling as a library: the counts of an assignment, and sweeps over it.
#pragma once

#include <vector>

#include "dcomp/count_table.hpp"
#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/collapse_pass.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

// The counts c, n and N of an assignment z of tokens to components.
class CollapsedCounts {
 public:
  // `sparse`: documents and features as lists of components, for sweeps whose cost follows them.
  CollapsedCounts(const TokenCells& cells, const std::int32_t* block, std::int64_t n_blocks,
                  std::int64_t K, bool sparse);

  void count(const std::uint16_t* z);

  std::int64_t K() const { return K_; }
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
  std::int64_t n_blocks_, K_, padded_;
  bool sparse_;
  std::vector<std::int64_t> lengths_;
  CountTable c_, n_;
  AlignedVector<std::int32_t> total_;
};

struct CollapseInput {
  const double* gamma = nullptr;  // (J)
  ScoreWeights scores;            // the same for all documents where counts are sparse
  std::uint64_t seed = 0;
  std::uint32_t sweep = 0;
  const TreeWeights* tree = nullptr;  // in place of `scores`; columns of the counts are its places
};

// One sweep over all tokens: z and the counts change together. Returns the sum of
// log p(word | all the rest) that BJ06 figure 7 (2c) accumulates.
double collapse_sweep(const CollapseInput& input, CollapsedCounts& counts, std::uint16_t* z,
                      int n_threads);

// Components drawn evenly for every token.
void start_assignment(std::uint64_t seed, std::int64_t K, std::int64_t n_tokens, std::uint16_t* z);

// Components drawn from scores and loadings that are known roughly: in proportion to
// scores_ik theta_jk among the components that matter to the document.
void start_assignment_from(std::uint64_t seed, const CsrView& W, const TokenCells& cells,
                           const Rows<const float>& scores, const Rows<const float>& Theta,
                           std::uint16_t* z, int n_threads);

// out_jk += (n_jk + gamma_j) / (N_gk + Gamma_g): E[Theta | z], for recording. column[k] is the
// place in a row of out for component k, -1 for none; null where it is k.
void add_mean_loadings(CollapsedCounts& counts, const double* gamma, const Rows<float>& out,
                       const std::int32_t* column, int n_threads);

}  // namespace dcomp
