// Collapsed Gibbs sampling as a library: the counts of an assignment, and sweeps over it.
#pragma once

#include <vector>

#include "dcomp/kernels/args.hpp"
#include "dcomp/kernels/sample_pass.hpp"
#include "dcomp/tokens.hpp"

namespace dcomp {

// The counts c, n and N of an assignment z of tokens to components.
class CollapsedCounts {
 public:
  // `sparse`: documents as lists of components, for sweeps whose cost follows them.
  CollapsedCounts(const TokenCells& cells, const std::int32_t* block, std::int64_t n_blocks,
                  std::int64_t K, bool sparse);

  void count(const std::uint16_t* z);
  // c from the lists and back; nothing to do where there are none.
  void read_lists(int n_threads);
  void fill_lists();

  std::int64_t K() const { return K_; }
  std::int64_t padded() const { return padded_; }
  std::int64_t n_blocks() const { return n_blocks_; }
  const TokenCells& cells() const { return cells_; }
  const std::vector<std::int32_t>& block() const { return block_; }
  std::int32_t* c() { return c_.data(); }          // (I, padded)
  std::int32_t* n() { return n_.data(); }          // (J, padded)
  std::int32_t* total() { return total_.data(); }  // (G, padded)
  bool sparse() const { return sparse_; }
  ComponentLists lists() { return {start_.data(), size_.data(), topic_.data(), count_.data()}; }

 private:
  const TokenCells& cells_;
  std::vector<std::int32_t> block_;
  std::int64_t n_blocks_, K_, padded_;
  bool sparse_;
  std::vector<std::int32_t> c_, n_, total_;
  std::vector<std::int64_t> start_;
  std::vector<std::int32_t> size_, count_;
  std::vector<std::uint16_t> topic_;
};

struct CollapseInput {
  const double* gamma = nullptr;  // (J)
  ScoreWeights scores;
  std::uint64_t seed = 0;
  std::uint32_t sweep = 0;
};

// One sweep over all tokens: z and the counts change together. Returns the sum of
// log p(word | all the rest) that BJ06 figure 7 (2c) accumulates.
double collapse_sweep(const CollapseInput& input, CollapsedCounts& counts, std::uint16_t* z,
                      int n_threads);

// Components drawn evenly for every token.
void start_assignment(std::uint64_t seed, std::int64_t K, std::int64_t n_tokens, std::uint16_t* z);

// out_jk += (n_jk + gamma_j) / (N_gk + Gamma_g): E[Theta | z], for recording.
void add_mean_loadings(CollapsedCounts& counts, const double* gamma, float* out, int n_threads);

}  // namespace dcomp
