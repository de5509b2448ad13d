// The sampler of collapse_tree.hpp for many nodes: its cost follows the nodes that a document has
// tokens at, not all K.
//
// Divided by gamma_j, the weight of a place is F_k (a_k + c_ik) psi_jk with psi_jk = (1 + n_jk /
// gamma_j) / (Gamma_g + N_gk), as in collapse_sparse.hpp. It splits into
//   F_k c_ik psi_jk    the places of the document, summed anew for each token,
//   F_k a_k psi_jk     all places: a sum over the internal nodes that the document reaches
//                      (tree_document.hpp) of what the subtrees below them weigh, which no document
//                      changes (tree_sums.hpp). The feature's own list is in these sums.
// A draw from the second part goes down the tree from one of these internal nodes. It is exact.
#pragma once

#include "dcomp/kernels/collapse_sparse.hpp"
#include "dcomp/kernels/tree_document.hpp"

namespace dcomp::DCOMP_ISA {

// Tokens of the feature at hand by place: in scratch, as FeatureComponents has them.
struct FeaturePlaces {
  std::uint16_t *topic, *at;  // at[k]: where k is in the list, kNone if it is not
  std::int32_t* count;
  float* inverse;  // 1 / (Gamma_g + N_gk) when the place came to the list
  std::int64_t size = 0;
  static constexpr std::uint16_t kNone = 0xFFFF;

  void add(std::int64_t k, std::int32_t tokens, float inverse_of_k) {
    at[k] = static_cast<std::uint16_t>(size);
    topic[size] = static_cast<std::uint16_t>(k);
    inverse[size] = inverse_of_k;
    count[size++] = tokens;
  }
};

class SparseTreeWalk {
  using Floats = Narrow::Floats;

 public:
  explicit SparseTreeWalk(CollapseCell& cell)
      : cell_(cell),
        tree_(*cell.pass.tree),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        inverse_(cell.scratch.inverse),
        psi_(cell.scratch.psi),
        part_(cell.scratch.part),
        sums_(tree_, cell.pass.K, cell.scratch.tree_lists, inverse_),
        nodes_(tree_, cell.scratch.tree_lists),
        feature_{cell.scratch.topic, cell.scratch.place, cell.scratch.count, cell.scratch.feature},
        next_run_(cell.first) {
    for (std::int64_t k = 0; k < cell.pass.K; ++k) feature_.at[k] = FeaturePlaces::kNone;
    if (next_run_ == cell_.last) return;
    last_token_ = cell_.last[-1].end;
    begin_run();
    take();
  }
  ~SparseTreeWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return t_ < end_; }

  // A step of a token is these six, in this order.
  [[gnu::always_inline]] void measure() { nodes_.open(document_, old_, sums_); }
  [[gnu::always_inline]] void spread() {}
  [[gnu::always_inline]] void scan() {
    const ComponentLists& lists = cell_.pass.documents;
    const std::uint16_t* topic = lists.topic + lists.start[document_];
    const std::int32_t* count = lists.count + lists.start[document_];
    const std::int64_t size = lists.size[document_];
    const auto old = static_cast<std::uint16_t>(old_);
    Floats run{};
    std::int64_t at_old = size;
    for (std::int64_t q = 0; q < size; q += Narrow::size) {
      run += Narrow::load_counts(count + q) * gather(psi_, topic + q) * factors(topic + q);
      Narrow::store(part_ + q, run);
      if constexpr (Narrow::size == kMatch) {
        const unsigned bits = match_bits(topic + q, old);
        const std::int64_t here = q + __builtin_ctz(bits | 1U << 30) / 2 + (bits == 0 ? size : 0);
        at_old = here < at_old ? here : at_old;  // past the end there may be another
      }
    }
    if constexpr (Narrow::size != kMatch) at_old = place_of(topic, size, old);
    at_old_ = at_old;
    run_ = run;
  }
  [[gnu::always_inline]] void add_up() {
    const ComponentLists& lists = cell_.pass.documents;
    const auto before = static_cast<float>(lists.count[lists.start[document_] + at_old_]);
    own_ = (before - 1) * nodes_.factors()[tree_.factor[old_]] * psi_old_;
    up_to_ = Narrow::running_sum(run_);
    const double weight = static_cast<double>(own_ + Narrow::last(up_to_)) + nodes_.weight();
    u_ = static_cast<double>(uniforms_.next()) * weight;
    log_words_.times(weight * gamma_);
  }
  [[gnu::always_inline]] void draw() {
    const ComponentLists& lists = cell_.pass.documents;
    const std::uint16_t* topic = lists.topic + lists.start[document_];
    const std::int64_t size = lists.size[document_];
    const float u = static_cast<float>(u_) - own_;
    if (u < Narrow::last(up_to_)) {
      const std::int64_t whole = (size + Narrow::size - 1) / Narrow::size * Narrow::size;
      const std::int64_t q = Narrow::place(part_, whole, run_, up_to_, u);
      place_ = select(u, at_old_, q < size ? q : size - 1);
      k_ = topic[place_];
      return;
    }
    k_ = nodes_.find(u_ - static_cast<double>(own_ + Narrow::last(up_to_)), sums_);
    place_ = place_of(topic, size, static_cast<std::uint16_t>(k_));
  }
  [[gnu::always_inline]] bool settle() {
    settle_document();
    psi_[old_] = psi_old_;
    ++total_[k_];
    if (feature_.at[k_] == FeaturePlaces::kNone) feature_.add(k_, 0, inverse_[k_]);
    ++feature_.count[feature_.at[k_]];
    psi_[k_] = refreshed(k_);
    cell_.pass.z[t_] = static_cast<std::uint16_t>(k_);
    if (++t_ == end_) {
      end_run();
      if (next_run_ == cell_.last) return false;
      begin_run();
    }
    take();
    return true;
  }

 private:
  // F of the places of a document, by lane.
  [[gnu::always_inline]] Floats factors(const std::uint16_t* topic) const {
    Floats out;
    for (int q = 0; q < Narrow::size; ++q) out[q] = nodes_.factors()[tree_.factor[topic[q]]];
    return out;
  }

  [[gnu::always_inline]] void settle_document() {
    const ComponentLists& lists = cell_.pass.documents;
    std::uint16_t* topic = lists.topic + lists.start[document_];
    std::int32_t* count = lists.count + lists.start[document_];
    std::int32_t& size = lists.size[document_];
    nodes_.settle(old_, k_);
    if (place_ == size) topic[size++] = static_cast<std::uint16_t>(k_);
    ++count[place_];
    if (--count[at_old_] == 0) {
      --size;
      topic[at_old_] = topic[size];
      count[at_old_] = count[size];
      count[size] = 0;  // places past the end weigh nothing
    }
  }

  // Takes token t_ out of the feature's counts. Its place has no weight among those of the
  // document; what it has stands in psi_old_.
  [[gnu::always_inline]] void take() {
    const CollapsePass& pass = cell_.pass;
    document_ = pass.document[t_];
    old_ = pass.z[t_];
    --total_[old_];
    const std::uint16_t at = feature_.at[old_];
    if (at == FeaturePlaces::kNone || feature_.count[at] <= 0) [[unlikely]]
      tell_missing_token(next_run_[-1].feature, old_);
    --feature_.count[at];
    psi_old_ = refreshed(old_);
    psi_[old_] = 0;
    if (t_ + kAhead < last_token_) fetch(pass.document[t_ + kAhead]);
  }

  [[gnu::always_inline]] void fetch(std::int64_t i) const {
    // As many lines as most lists have: a loop whose length cannot be foretold costs more.
    const ComponentLists& places = cell_.pass.documents;
    const auto *topic = reinterpret_cast<const char*>(places.topic + places.start[i]),
               *count = reinterpret_cast<const char*>(places.count + places.start[i]),
               *entry = reinterpret_cast<const char*>(tree_.lists.entry + tree_.lists.start[i]);
    for (int line = 0; line < 2; ++line) __builtin_prefetch(topic + 64 * line);
    for (int line = 0; line < 3; ++line) __builtin_prefetch(count + 64 * line);
    for (int line = 0; line < 4; ++line) __builtin_prefetch(entry + 64 * line);
  }

  // psi_jk after a change of N_gk or n_jk; what follows from them too is set.
  [[gnu::always_inline]] float refreshed(std::int64_t k) {
    inverse_[k] = 1 / (gamma_total_ + static_cast<float>(total_[k]));
    const float psi = psi_of(k);
    sums_.set(k, psi);
    return psi;
  }
  [[gnu::always_inline]] float psi_of(std::int64_t k) const {
    return (1 + static_cast<float>(feature_.count[feature_.at[k]]) * per_gamma_) * inverse_[k];
  }

  // Everything that a block's totals decide.
  [[gnu::noinline]] void begin_block(std::int64_t g) {
    block_ = g;
    total_ = cell_.pass.total + g * cell_.pass.padded;
    gamma_total_ = static_cast<float>(cell_.pass.gamma_total[g]);
    for (std::int64_t k = 0; k < cell_.pass.K; ++k)
      psi_[k] = inverse_[k] = 1 / (gamma_total_ + static_cast<float>(total_[k]));
    sums_.begin();
  }

  [[gnu::noinline]] void begin_run() {
    const std::int64_t j = next_run_->feature;
    t_ = next_run_->begin;
    end_ = next_run_->end;
    stop_point((end_ - t_) * kPerToken);
    ++next_run_;
    if (cell_.pass.block[j] != block_) begin_block(cell_.pass.block[j]);
    gamma_ = cell_.pass.gamma[j];
    per_gamma_ = static_cast<float>(1 / gamma_);
    feature_.size = 0;
    const ComponentLists& lists = cell_.pass.features;
    for (std::int64_t q = lists.start[j]; q < lists.start[j] + lists.size[j]; ++q) {
      const std::int64_t k = lists.topic[q];
      feature_.add(k, lists.count[q], inverse_[k]);
      psi_[k] = psi_of(k);
      sums_.load(k, psi_[k]);
    }
    sums_.carry();
    if (next_run_ + kRunsAhead < cell_.last) {
      const std::int64_t next = lists.start[next_run_[kRunsAhead].feature];
      __builtin_prefetch(lists.topic + next);
      __builtin_prefetch(lists.count + next);
    }
  }

  [[gnu::noinline]] void end_run() {
    const std::int64_t j = next_run_[-1].feature;
    const ComponentLists& lists = cell_.pass.features;
    std::int64_t size = 0;
    for (std::int64_t q = 0; q < feature_.size; ++q) {
      const std::uint16_t k = feature_.topic[q];
      feature_.at[k] = FeaturePlaces::kNone;
      psi_[k] = inverse_[k];
      sums_.unload(k, feature_.inverse[q]);
      if (feature_.count[q] == 0) continue;
      lists.topic[lists.start[j] + size] = k;
      lists.count[lists.start[j] + size++] = feature_.count[q];
    }
    sums_.restore();
    lists.size[j] = static_cast<std::int32_t>(size);
  }

  CollapseCell& cell_;
  const TreeWeights& tree_;
  Uniforms uniforms_;
  LogProduct log_words_;
  float *inverse_, *psi_, *part_;
  SubtreeSums sums_;
  DocumentTree nodes_;
  FeaturePlaces feature_;
  const TokenCells::Run* next_run_;
  std::int64_t t_ = 0, end_ = 0, last_token_ = 0, block_ = -1, document_ = 0, old_ = 0;
  std::int32_t* total_ = nullptr;
  float gamma_total_ = 0, per_gamma_ = 0, psi_old_ = 0;
  double gamma_ = 0;
  // Between the parts of a step:
  Floats run_{}, up_to_{};
  std::int64_t at_old_ = 0, place_ = 0, k_ = 0;
  float own_ = 0;
  double u_ = 0;
};

inline void collapse_trees_sparse(CollapseCell* cells, int count) {
  walk_cells<SparseTreeWalk>(cells, count);
}

}  // namespace dcomp::DCOMP_ISA
