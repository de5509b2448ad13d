// The same sampler for many components: its cost follows the components in use.
//
// Divided by gamma_j, the weight of a component splits into three parts,
//   b_k              b_k = F_k a0_k / (Gamma_g + N_gk)    for every component, whatever the token
//   b_k n_jk / gamma_j                                    the components of the feature
//   F_k (d_k + c_ik) psi_jk                               the components of the document
// with d = a - a0 and psi_jk = (1 + n_jk / gamma_j) / (Gamma_g + N_gk). A token changes two entries
// of the first two parts, so their totals and the sums of blocks of entries are kept up to date
// while a feature's run lasts; the third is summed anew for each token. The draw is exact.
#pragma once

#include "dcomp/kernels/collapse.hpp"

namespace dcomp::DCOMP_ISA {

// Numbers that the lists of a token have, about: of little use but to stop points.
inline constexpr std::int64_t kPerToken = 256;

// base[index[q]] in lane q. Single loads: the gather instruction is slower where we measured.
[[gnu::always_inline]] inline Narrow::Floats gather(const float* base, const std::uint16_t* index) {
  Narrow::Floats out;
  for (int q = 0; q < Narrow::size; ++q) out[q] = base[index[q]];
  return out;
}

// Bit 2q (and perhaps 2q + 1) is set where list[q] is the value, q = 0 ... kMatch - 1.
inline constexpr int kMatch = 8;
[[gnu::always_inline]] inline unsigned match_bits(const std::uint16_t* list, std::uint16_t value) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi16(static_cast<short>(value));
  const __m128i here = _mm_loadu_si128(reinterpret_cast<const __m128i*>(list));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi16(here, wanted)));
#else
  unsigned bits = 0;
  for (int q = 0; q < kMatch; ++q) bits |= (list[q] == value ? 1U : 0U) << (2 * q);
  return bits;
#endif
}
// The first place of a value in a list of `size`, or size.
[[gnu::always_inline]] inline std::int64_t place_of(const std::uint16_t* list, std::int64_t size,
                                                    std::uint16_t value) {
  for (std::int64_t q = 0; q < size; q += kMatch) {
    const unsigned bits = match_bits(list + q, value);
    if (bits == 0) continue;
    const std::int64_t place = q + __builtin_ctz(bits) / 2;
    return place < size ? place : size;
  }
  return size;
}

// Weights of which a few change at a time, with sums of blocks to find a draw by. Sums are doubles:
// they live on as weights come and go.
struct BlockedWeights {
  static constexpr std::int64_t kBlock = 32;
  float* weight;
  double* block;
  double total = 0;

  [[gnu::always_inline]] void append(std::int64_t q, float value) {
    weight[q] = value;
    if (q % kBlock == 0) block[q / kBlock] = 0;
    block[q / kBlock] += static_cast<double>(value);
    total += static_cast<double>(value);
  }
  [[gnu::always_inline]] void set(std::int64_t q, float value) {
    const auto change = static_cast<double>(value) - static_cast<double>(weight[q]);
    weight[q] = value;
    block[q / kBlock] += change;
    total += change;
  }
  // The place of u, the last of weight if rounding leads past the end.
  std::int64_t find(double u, std::int64_t size) const {
    const std::int64_t last = (size - 1) / kBlock;
    std::int64_t b = 0;
    for (; b < last && !(u < block[b]); ++b) u -= block[b];
    std::int64_t q = b * kBlock;
    const std::int64_t end = q + kBlock < size ? q + kBlock : size;
    for (; q + 1 < end && !(u < static_cast<double>(weight[q])); ++q)
      u -= static_cast<double>(weight[q]);
    while (q > 0 && !(weight[q] > 0)) --q;
    return q;
  }
};

// The components of the feature whose run it is: in scratch, because a component whose count falls
// to zero stays until the run is over, and the feature's own list has no room for it.
struct FeatureComponents {
  std::uint16_t *topic, *place;  // place[k]: where k is in the list, kNone if it is not
  std::int32_t* count;
  BlockedWeights weights;
  std::int64_t size = 0;
  static constexpr std::uint16_t kNone = 0xFFFF;
};

template <bool Plain>
class SparseWalk {
  using Floats = Narrow::Floats;

 public:
  explicit SparseWalk(CollapseCell& cell)
      : cell_(cell),
        at_(cell.pass.scores),
        uniforms_(&cell.rng, cell.scratch.uniforms),
        inverse_(cell.scratch.inverse),
        psi_(cell.scratch.psi),
        part_(cell.scratch.part),
        all_{cell.scratch.all, cell.scratch.all_blocks},
        feature_{cell.scratch.topic,
                 cell.scratch.place,
                 cell.scratch.count,
                 {cell.scratch.feature, cell.scratch.feature_blocks}},
        next_run_(cell.first) {
    for (std::int64_t k = 0; k < cell.pass.K; ++k) {
      feature_.place[k] = FeatureComponents::kNone;
      sum_shared_ += static_cast<double>(at_.a0[k]) * static_cast<double>(at_.F[k]);
    }
    if (next_run_ != cell_.last) {
      last_token_ = cell_.last[-1].end;
      begin_run();
      take();
    }
  }
  ~SparseWalk() { cell_.log_words += log_words_.log_sum(); }

  bool more() const { return t_ < end_; }

  // A step of a token is these four, in this order.
  [[gnu::always_inline]] void scan() {
    const ComponentLists& lists = cell_.pass.documents;
    const std::uint16_t* topic = lists.topic + lists.start[document_];
    const std::int32_t* count = lists.count + lists.start[document_];
    const std::int64_t size = lists.size[document_];
    const auto old = static_cast<std::uint16_t>(old_);
    Floats run{}, scores{};
    std::int64_t at_old = size;
    for (std::int64_t q = 0; q < size; q += Narrow::size) {
      Floats s = Narrow::load_counts(count + q);
      if constexpr (!Plain) {
        s = s > 0 ? (s + gather(at_.a, topic + q) - gather(at_.a0, topic + q)) *
                        gather(at_.F, topic + q)
                  : Floats{};
        scores += s;
      }
      run += s * gather(psi_, topic + q);
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
    scores_ = scores;
  }
  [[gnu::always_inline]] void add_up() {
    const ComponentLists& lists = cell_.pass.documents;
    const auto before = static_cast<float>(lists.count[lists.start[document_] + at_old_]);
    const float score_old = own_score(old_, before - 1);
    own_ = score_old * psi_old_;
    up_to_ = Narrow::running_sum(run_);
    const double weight =
        static_cast<double>(own_ + Narrow::last(up_to_)) + feature_.weights.total + all_.total;
    u_ = static_cast<double>(uniforms_.next()) * weight;
    if constexpr (Plain) {
      log_words_.times(weight * gamma_);
    } else {
      const float document = Narrow::last(Narrow::running_sum(scores_));
      const float without = document - own_score(old_, before) + score_old;
      log_words_.times(weight * gamma_ / (static_cast<double>(without) + sum_shared_));
    }
  }
  [[gnu::always_inline]] void draw() {
    const ComponentLists& lists = cell_.pass.documents;
    const std::uint16_t* topic = lists.topic + lists.start[document_];
    const std::int64_t size = lists.size[document_];
    const float u = static_cast<float>(u_) - own_;
    if (u < Narrow::last(up_to_)) {
      const std::int64_t q = Narrow::place(part_, padded(size), run_, up_to_, u);
      place_ = select(u, at_old_, q < size ? q : size - 1);
      k_ = topic[place_];
      return;
    }
    const double rest = u_ - static_cast<double>(own_ + Narrow::last(up_to_));
    k_ = rest < feature_.weights.total ? feature_.topic[feature_.weights.find(rest, feature_.size)]
                                       : all_.find(rest - feature_.weights.total, cell_.pass.K);
    place_ = place_of(topic, size, static_cast<std::uint16_t>(k_));
  }
  [[gnu::always_inline]] bool settle() {
    const ComponentLists& lists = cell_.pass.documents;
    std::uint16_t* topic = lists.topic + lists.start[document_];
    std::int32_t* count = lists.count + lists.start[document_];
    std::int32_t& size = lists.size[document_];
    if (place_ == size) topic[size++] = static_cast<std::uint16_t>(k_);
    ++count[place_];
    if (--count[at_old_] == 0) {
      --size;
      topic[at_old_] = topic[size];
      count[at_old_] = count[size];
      count[size] = 0;  // places past the end weigh nothing
    }
    psi_[old_] = psi_old_;
    ++total_[k_];
    if (feature_.place[k_] == FeatureComponents::kNone) add_to_feature(k_, 0);
    ++feature_.count[feature_.place[k_]];
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
  static std::int64_t padded(std::int64_t size) {
    return (size + Narrow::size - 1) / Narrow::size * Narrow::size;
  }

  // The document's part of a component's score, of which psi is the rest.
  [[gnu::always_inline]] float own_score(std::int64_t k, float count) const {
    if constexpr (Plain) return count;
    return count > 0 ? at_.F[k] * (at_.a[k] - at_.a0[k] + count) : 0.0F;
  }

  // Takes token t_ out of the feature's counts. Its component has no weight among those of the
  // document; what it has stands in psi_old_.
  [[gnu::always_inline]] void take() {
    const CollapsePass& pass = cell_.pass;
    document_ = pass.document[t_];
    old_ = pass.z[t_];
    --total_[old_];
    const std::uint16_t place = feature_.place[old_];
    if (place == FeatureComponents::kNone || feature_.count[place] <= 0) [[unlikely]]
      tell_missing_token(next_run_[-1].feature, old_);
    --feature_.count[place];
    psi_old_ = refreshed(old_);
    psi_[old_] = 0;
    if (t_ + kAhead < last_token_) {
      const std::int64_t i = pass.document[t_ + kAhead], next = pass.documents.start[i];
      for (std::int32_t q = 0; q < pass.documents.size[i]; q += 16) {
        __builtin_prefetch(pass.documents.topic + next + q);
        __builtin_prefetch(pass.documents.count + next + q);
      }
    }
  }

  // psi_jk after a change of N_gk or n_jk; what follows from them too is set.
  [[gnu::always_inline]] float refreshed(std::int64_t k) {
    const float inverse = 1 / (gamma_total_ + static_cast<float>(total_[k]));
    const float base = Plain ? at_.a[k] * inverse : at_.F[k] * at_.a0[k] * inverse;
    const std::int64_t q = feature_.place[k];
    const float share = static_cast<float>(feature_.count[q]) * per_gamma_;
    inverse_[k] = inverse;
    all_.set(k, base);
    feature_.weights.set(q, base * share);
    return (1 + share) * inverse;
  }

  void add_to_feature(std::int64_t k, std::int32_t count) {
    const std::int64_t q = feature_.size++;
    feature_.place[k] = static_cast<std::uint16_t>(q);
    feature_.topic[q] = static_cast<std::uint16_t>(k);
    feature_.count[q] = count;
    const float share = static_cast<float>(count) * per_gamma_;
    feature_.weights.append(q, all_.weight[k] * share);
    psi_[k] = (1 + share) * inverse_[k];
  }

  // Everything that a block's totals decide.
  [[gnu::noinline]] void begin_block(std::int64_t g) {
    const std::int64_t K = cell_.pass.K;
    block_ = g;
    total_ = cell_.pass.total + g * cell_.pass.padded;
    gamma_total_ = static_cast<float>(cell_.pass.gamma_total[g]);
    all_.total = 0;
    for (std::int64_t k = 0; k < K; ++k) {
      psi_[k] = inverse_[k] = 1 / (gamma_total_ + static_cast<float>(total_[k]));
      all_.append(k, Plain ? at_.a[k] * inverse_[k] : at_.F[k] * at_.a0[k] * inverse_[k]);
    }
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
    feature_.weights.total = 0;
    const ComponentLists& lists = cell_.pass.features;
    for (std::int64_t q = lists.start[j]; q < lists.start[j] + lists.size[j]; ++q)
      add_to_feature(lists.topic[q], lists.count[q]);
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
      feature_.place[k] = FeatureComponents::kNone;
      psi_[k] = inverse_[k];
      if (feature_.count[q] == 0) continue;
      lists.topic[lists.start[j] + size] = k;
      lists.count[lists.start[j] + size++] = feature_.count[q];
    }
    lists.size[j] = static_cast<std::int32_t>(size);
  }

  CollapseCell& cell_;
  ScoreWeights at_;
  Uniforms uniforms_;
  LogProduct log_words_;
  float *inverse_, *psi_, *part_;
  BlockedWeights all_;
  FeatureComponents feature_;
  const TokenCells::Run* next_run_;
  std::int64_t t_ = 0, end_ = 0, last_token_ = 0, block_ = -1, document_ = 0, old_ = 0;
  std::int32_t* total_ = nullptr;
  float gamma_total_ = 0, per_gamma_ = 0, psi_old_ = 0;
  double gamma_ = 0, sum_shared_ = 0;
  // Between the parts of a step:
  Floats run_{}, up_to_{}, scores_{};
  std::int64_t at_old_ = 0, place_ = 0, k_ = 0;
  float own_ = 0;
  double u_ = 0;
};

template <bool Plain>
inline void collapse_cells_sparse(CollapseCell* cells, int count) {
  walk_cells<SparseWalk<Plain>>(cells, count);
}

}  // namespace dcomp::DCOMP_ISA
