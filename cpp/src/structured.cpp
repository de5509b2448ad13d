#include "dcomp/structured.hpp"

#include <algorithm>
#include <cassert>

#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"
#include "dcomp/score_weights.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kRowsPerTask = 256;
constexpr std::int64_t kDocumentsPerTask = 32;
constexpr std::size_t kVector = kCacheLine / sizeof(float);  // numbers in the widest one

// The prior of the rows in the places of the layout.
class PreparedRows {
 public:
  PreparedRows(const StructuredInput& input, const StructureLayout& layout) {
    const StructureView& at = layout.view();
    if (is_stick(at.kind)) {
      stop_.assign(input.stop, input.stop + at.H);
      go_.assign(input.go, input.go + at.H);
      stop_.resize(stop_.size() + kVector, 1.0F);
      go_.resize(go_.size() + kVector, 1.0F);
      return;
    }
    pair_.resize(static_cast<std::size_t>(at.n_codes), 0.0F);
    std::vector<double> total(static_cast<std::size_t>(at.padded_leaves), 0.0);
    for (std::int64_t p = 0; p < layout.n_pairs(); ++p) {
      const std::int32_t code = layout.code(p);
      pair_[static_cast<std::size_t>(code)] = static_cast<float>(input.pair[p]);
      total[static_cast<std::size_t>(at.leaf[code])] += input.pair[p];
    }
    leaf_total_.resize(total.size());
    for (std::size_t c = 0; c < total.size(); ++c)
      leaf_total_[c] = static_cast<std::int64_t>(c) < at.K ? static_cast<float>(total[c]) : 1.0F;
  }
  RowWeights view() const { return {pair_.data(), leaf_total_.data(), stop_.data(), go_.data()}; }

 private:
  AlignedVector<float> pair_, leaf_total_, stop_, go_;
};

class Workspace {
 public:
  explicit Workspace(const StructureView& at)
      : nodes_(static_cast<std::size_t>(at.padded_nodes)),
        uniforms_(kUniforms),
        phi_(nodes_ + kVector),
        score_(nodes_ + kVector),
        per_(nodes_),
        go_(nodes_ + 1),
        part_(std::max(nodes_, static_cast<std::size_t>(at.n_codes)) + kVector) {}
  StructuredScratch scratch() {
    return {uniforms_.data(), phi_.data(), score_.data(), per_.data(), go_.data(), part_.data()};
  }

 private:
  std::size_t nodes_;
  AlignedVector<float> uniforms_, phi_, score_, per_, go_, part_;
};

// What all walks of a sweep share.
class PreparedSweep {
 public:
  PreparedSweep(const StructuredInput& input, StructuredCounts& counts)
      : input_(input),
        counts_(counts),
        rows_(input, counts.layout()),
        scores_(input.prior, counts.cells().n_docs(), counts.layout().view().padded_leaves),
        gamma_total_(static_cast<std::size_t>(counts.n_blocks()), 0.0) {
    for (std::int64_t j = 0; j < counts.cells().n_features(); ++j)
      gamma_total_[static_cast<std::size_t>(counts.block()[j])] += input.gamma[j];
  }
  // With these in place of the corpus's own totals and rows.
  StructuredPass pass(std::int32_t* total, std::int32_t* S) const {
    return {&counts_.layout().view(),
            rows_.view(),
            counts_.cells().document(),
            counts_.code(),
            counts_.C(),
            S,
            counts_.n_rows() == 1 ? 0 : counts_.row_width(),
            counts_.n(),
            total,
            input_.gamma,
            gamma_total_.data(),
            counts_.block().data(),
            scores_.view(),
            input_.Theta};
  }
  auto kernel() const {
    const RowKind kind = counts_.layout().view().kind;
    return instruction_set().collapse_structured.run[static_cast<int>(kind)];
  }

 private:
  const StructuredInput& input_;
  StructuredCounts& counts_;
  PreparedRows rows_;
  PreparedWeights scores_;
  std::vector<double> gamma_total_;
};

// Documents one by one: the tokens of each are brought together, walked, and put back.
class DocumentWalk {
 public:
  DocumentWalk(const PreparedSweep& sweep, StructuredCounts& counts)
      : tokens_(counts.by_document()),
        sweep_(sweep),
        to_(counts.code()),
        pass_(sweep.pass(counts.total(), counts.S())),
        workspace_(*pass_.structure),
        code_(static_cast<std::size_t>(tokens_.longest())),
        document_(code_.size()) {}

  // Returns the sum of log p(word | all the rest).
  double walk(std::int64_t i, const Stream& rng) {
    const std::int64_t length = tokens_.end(i) - tokens_.begin(i);
    const std::int64_t* token = tokens_.token() + tokens_.begin(i);
    const std::int32_t* feature = tokens_.feature() + tokens_.begin(i);
    runs_.clear();
    for (std::int64_t t = 0; t < length; ++t) {
      code_[static_cast<std::size_t>(t)] = to_[token[t]];
      if (t == 0 || feature[t] != feature[t - 1]) runs_.push_back({feature[t], t, t});
      runs_.back().end = t + 1;
    }
    std::fill_n(document_.begin(), length, static_cast<std::int32_t>(i));
    pass_.document = document_.data();
    pass_.code = code_.data();
    StructuredCell work{pass_, runs_.data(), runs_.data() + runs_.size(), rng,
                        workspace_.scratch()};
    sweep_.kernel()(work);
    for (std::int64_t t = 0; t < length; ++t) to_[token[t]] = code_[static_cast<std::size_t>(t)];
    return work.log_words;
  }

 private:
  const DocumentTokens& tokens_;
  const PreparedSweep& sweep_;
  std::int32_t* to_;
  StructuredPass pass_;
  Workspace workspace_;
  std::vector<std::int32_t> code_, document_;
  std::vector<TokenCells::Run> runs_;
};

// Tokens of a node of sticks, or else of a code, in all counts of a row that they are part of.
void add_to_row(const StructureView& at, std::int64_t which, std::int32_t tokens, std::int32_t* S) {
  S[which] += tokens;
  if (at.kind == RowKind::shared) S[at.n_codes + at.leaf[which]] += tokens;
  if (!is_stick(at.kind)) return;
  for (std::int64_t h = at.parent[which]; h != at.padded_nodes; h = at.parent[h])
    S[at.padded_nodes + h] += tokens;
}

std::int64_t padded(std::int64_t K) { return padded_width<float>(K); }

}  // namespace

const char* check_structure(const std::int32_t* leaf, const std::int32_t* node,
                            std::int64_t n_pairs, std::int64_t K, std::int64_t H,
                            const std::int32_t* parent) {
  if (K < 1 || H < K || H > 65535 || n_pairs < 1 || n_pairs > 65535)
    return "a structure needs 1 <= K <= H <= 65535, and from 1 to 65535 pairs";
  for (std::int64_t p = 0; p < n_pairs; ++p) {
    if (leaf[p] < 0 || leaf[p] >= K || node[p] < 0 || node[p] >= H)
      return "pairs must be of leaves in [0, K) and nodes in [0, H)";
    if (p > 0 && (leaf[p] < leaf[p - 1] || (leaf[p] == leaf[p - 1] && node[p] <= node[p - 1])))
      return "pairs must come in order of leaf and node, each once";
    if (leaf[p] > (p == 0 ? 0 : leaf[p - 1] + 1)) return "every leaf needs a pair";
  }
  if (leaf[n_pairs - 1] != K - 1) return "every leaf needs a pair";
  if (parent == nullptr) return "";
  std::vector<bool> is_above(static_cast<std::size_t>(H), false);
  std::vector<std::int32_t> path;
  std::int64_t p = 0;
  for (std::int64_t c = 0; c < K; ++c) {
    path.clear();
    for (std::int32_t h = static_cast<std::int32_t>(c); h >= 0; h = parent[h]) {
      if (h >= H || (h < K && h != c) || static_cast<std::int64_t>(path.size()) > H)
        return "parents must be internal nodes in [K, H), and lead to the top";
      path.push_back(h);
      is_above[static_cast<std::size_t>(h)] = true;
    }
    std::sort(path.begin(), path.end());
    for (const std::int32_t h : path)
      if (p >= n_pairs || leaf[p] != c || node[p++] != h)
        return "the pairs of a tree must be the paths of its leaves";
  }
  if (std::find(is_above.begin(), is_above.end(), false) != is_above.end())
    return "every node of a tree must have a leaf below it";
  return p == n_pairs ? "" : "the pairs of a tree must be the paths of its leaves";
}

StructureLayout::StructureLayout(RowKind kind, const std::int32_t* leaf, const std::int32_t* node,
                                 std::int64_t n_pairs, std::int64_t K, std::int64_t H,
                                 const std::int32_t* parent)
    : code_(static_cast<std::size_t>(n_pairs)) {
  view_.kind = kind;
  view_.K = K;
  view_.H = H;
  view_.padded_leaves = padded(K);
  view_.padded_nodes = padded(H);
  if (is_stick(kind))
    lay_out_tree(leaf, node, parent);
  else
    lay_out_pairs(leaf, node);
  view_.leaf = leaf_.data();
  view_.node = node_.data();
}

void StructureLayout::lay_out_pairs(const std::int32_t* leaf, const std::int32_t* node) {
  const std::int64_t P = n_pairs();
  std::int64_t layers = 0;
  for (std::int64_t p = 0, first = 0; p < P; ++p) {
    if (leaf[p] != leaf[first]) first = p;
    code_[static_cast<std::size_t>(p)] =
        static_cast<std::int32_t>((p - first) * view_.padded_leaves + leaf[p]);
    layers = std::max(layers, p - first + 1);
  }
  view_.n_codes = layers * view_.padded_leaves;
  const auto size = static_cast<std::size_t>(view_.n_codes);
  pair_.assign(size, -1);
  leaf_.resize(size, 0);
  node_.resize(size, static_cast<std::int32_t>(view_.H - 1));  // any will do, of no weight
  view_.own_first = true;
  for (std::int64_t p = 0; p < P; ++p) {
    const bool first = p == 0 || leaf[p] != leaf[p - 1];
    view_.own_first &= first ? node[p] == leaf[p] : node[p] >= view_.K;
    const auto at = static_cast<std::size_t>(code_[static_cast<std::size_t>(p)]);
    pair_[at] = static_cast<std::int32_t>(p);
    leaf_[at] = leaf[p];
    node_[at] = node[p];
  }
}

void StructureLayout::lay_out_tree(const std::int32_t* leaf, const std::int32_t* node,
                                   const std::int32_t* parent) {
  const std::int64_t P = n_pairs(), K = view_.K, H = view_.H;
  view_.n_codes = P;
  leaf_.assign(leaf, leaf + P);
  node_.assign(node, node + P);
  table_.assign(static_cast<std::size_t>(K * H), -1);
  for (std::int64_t p = 0; p < P; ++p) {
    code_[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(p);
    table_[static_cast<std::size_t>(leaf[p] * H + node[p])] = static_cast<std::int32_t>(p);
  }
  pair_ = code_;
  std::vector<std::vector<std::int32_t>> children(static_cast<std::size_t>(H));
  for (std::int64_t h = 0; h < H; ++h) {
    const bool top = parent[h] < 0;
    parent_.push_back(top ? static_cast<std::int32_t>(view_.padded_nodes) : parent[h]);
    if (!top) children[static_cast<std::size_t>(parent[h])].push_back(static_cast<std::int32_t>(h));
    if (top && h >= K) inner_.push_back(static_cast<std::int32_t>(h));
  }
  for (std::size_t q = 0; q < inner_.size(); ++q)
    for (const std::int32_t h : children[static_cast<std::size_t>(inner_[q])])
      if (h >= K) inner_.push_back(h);
  for (const auto& own : children) {
    child_start_.push_back(static_cast<std::int32_t>(child_.size()));
    child_.insert(child_.end(), own.begin(), own.end());
  }
  child_start_.push_back(static_cast<std::int32_t>(child_.size()));
  lay_out_vector(parent);
  view_.parent = parent_.data();
  view_.inner = inner_.data();
  view_.child_start = child_start_.data();
  view_.child = child_.data();
  view_.code = table_.data();
}

void StructureLayout::lay_out_vector(const std::int32_t* parent) {
  const std::int64_t K = view_.K, H = view_.H, lanes = kernels<float>().lanes;
  const auto size = static_cast<std::size_t>(view_.padded_nodes) + kVector;
  is_top_.assign(size, 1.0F);
  slot_above_.assign(size, 0);
  below_.assign(static_cast<std::size_t>(view_.padded_leaves * lanes), 0.0F);
  if (H - K > lanes) return;
  for (std::int64_t h = 0; h < H; ++h) {
    is_top_[static_cast<std::size_t>(h)] = parent[h] < 0 ? 1.0F : 0.0F;
    if (parent[h] >= 0)
      slot_above_[static_cast<std::size_t>(h)] = static_cast<std::int32_t>(parent[h] - K);
  }
  for (std::int64_t c = 0; c < K; ++c) {
    std::int64_t depth = 0;
    for (std::int32_t h = parent[c]; h >= 0; h = parent[h], ++depth)
      below_[static_cast<std::size_t>(c * lanes + h - K)] = 1.0F;
    view_.levels = std::max(view_.levels, depth);
  }
  view_.below = below_.data();
  view_.is_top = is_top_.data();
  view_.slot_above = slot_above_.data();
}

std::int64_t StructureLayout::width() const {
  if (is_stick(view_.kind)) return 2 * view_.padded_nodes + std::int64_t{kVector};
  return view_.n_codes + (view_.kind == RowKind::shared ? view_.padded_leaves : 0);
}

StructuredCounts::StructuredCounts(const TokenCells& cells, const std::int32_t* block,
                                   std::int64_t n_blocks, const StructureLayout& layout)
    : cells_(cells),
      layout_(layout),
      block_(block, block + cells.n_features()),
      n_blocks_(n_blocks),
      n_rows_(is_per_document(layout.view().kind) ? cells.n_docs() : 1),
      width_(layout.width()),
      code_(static_cast<std::size_t>(cells.n_tokens())),
      C_(static_cast<std::size_t>(cells.n_docs() * layout.view().padded_leaves)),
      S_(static_cast<std::size_t>(n_rows_ * width_)),
      total_(static_cast<std::size_t>(n_blocks * layout.view().padded_nodes)) {
  allocate();
}

void StructuredCounts::allocate() {
  n_.resize(static_cast<std::size_t>(cells_.n_features() * layout_.view().padded_nodes));
  loaded_ = true;
}

void StructuredCounts::unload() {
  AlignedVector<std::int32_t>().swap(n_);
  loaded_ = false;
}

const DocumentTokens& StructuredCounts::by_document() {
  if (!by_document_) by_document_ = std::make_unique<DocumentTokens>(cells_);
  return *by_document_;
}

void StructuredCounts::count(const std::uint16_t* z) {
  const StructureView& at = layout_.view();
  allocate();
  for (auto* table : {&C_, &S_, &n_, &total_}) std::fill(table->begin(), table->end(), 0);
  for (const TokenCells::Run& run : cells_.runs())
    for (std::int64_t t = run.begin; t < run.end; ++t) {
      const std::int32_t code = layout_.code(z[t]), c = at.leaf[code], h = at.node[code];
      const std::int64_t i = cells_.document()[t];
      code_[static_cast<std::size_t>(t)] = code;
      ++C_[static_cast<std::size_t>(i * at.padded_leaves + c)];
      ++n_[static_cast<std::size_t>(run.feature * at.padded_nodes + h)];
      ++total_[static_cast<std::size_t>(block_[run.feature] * at.padded_nodes + h)];
      std::int32_t* S = S_.data() + (n_rows_ == 1 ? 0 : i * width_);
      add_to_row(at, is_stick(at.kind) ? h : code, 1, S);
    }
}

void StructuredCounts::load(const std::int32_t* n, const std::int32_t* S) {
  const StructureView& at = layout_.view();
  allocate();
  for (auto* table : {&n_, &total_}) std::fill(table->begin(), table->end(), 0);
  for (std::int64_t j = 0; j < cells_.n_features(); ++j)
    for (std::int64_t h = 0; h < at.H; ++h) {
      const std::int32_t count = n[j * at.H + h];
      n_[static_cast<std::size_t>(j * at.padded_nodes + h)] = count;
      total_[static_cast<std::size_t>(block_[j] * at.padded_nodes + h)] += count;
    }
  if (S == nullptr) return;
  std::fill(S_.begin(), S_.end(), 0);
  for (std::int64_t q = 0; q < layout_.read_width(); ++q)
    add_to_row(at, is_stick(at.kind) ? q : layout_.code(q), S[q], S_.data());
}

void StructuredCounts::read(std::uint16_t* z) const {
  for (std::size_t t = 0; t < code_.size(); ++t)
    z[t] = static_cast<std::uint16_t>(layout_.pair(code_[t]));
}

CountView StructuredCounts::leaf_view() const {
  const StructureView& at = layout_.view();
  return {cells_.n_docs(), at.K, C_.data(), at.padded_leaves, nullptr, {}};
}

CountView StructuredCounts::feature_view() const {
  const StructureView& at = layout_.view();
  return {cells_.n_features(), at.H, n_.data(), at.padded_nodes, nullptr, {}};
}

void StructuredCounts::read_rows(std::int32_t* out) const {
  const StructureView& at = layout_.view();
  const bool stick = is_stick(at.kind);
  const std::int64_t size = layout_.read_width();
  std::fill_n(out, n_rows_ * size, 0);
  if (at.kind == RowKind::fixed) {  // whose sweeps do not count
    for (const std::int32_t code : code_) ++out[layout_.pair(code)];
    return;
  }
  for (std::int64_t row = 0; row < n_rows_; ++row)
    for (std::int64_t q = 0; q < size; ++q)
      out[row * size + q] =
          S_[static_cast<std::size_t>(row * width_ + (stick ? q : layout_.code(q)))];
}

void StructuredCounts::add_nodes(float* out) const {
  const StructureView& at = layout_.view();
  for (std::size_t t = 0; t < code_.size(); ++t)
    out[cells_.document()[t] * at.H + at.node[code_[t]]] += 1.0F;
}

namespace {

double sweep_documents(const StructuredInput& input, StructuredCounts& counts, int n_threads) {
  const TokenCells& cells = counts.cells();
  const PreparedSweep prepared(input, counts);
  std::vector<DocumentWalk> walks;
  for (int worker = 0; worker < n_threads; ++worker) walks.emplace_back(prepared, counts);
  return sum_over_tasks(
      cells.n_docs(), kDocumentsPerTask, n_threads,
      [&](std::int64_t first, std::int64_t last, int worker) {
        double sum = 0;
        for (std::int64_t i = first; i < last; ++i) {
          stop_point();
          sum += walks[static_cast<std::size_t>(worker)].walk(
              i, Stream(input.seed, Purpose::given_loadings, input.sweep, cells.document_unit(i)));
        }
        return sum;
      });
}

double sweep_cells(const StructuredInput& input, StructuredCounts& counts, int n_threads) {
  const TokenCells& cells = counts.cells();
  const StructureView& at = counts.layout().view();
  const PreparedSweep prepared(input, counts);
  const int P = cells.n_parts();
  const bool own_rows = counts.shares_rows();
  const std::int64_t of_features = counts.n_blocks() * at.padded_nodes;
  const std::int64_t of_rows = own_rows ? counts.row_width() : 0, size = of_features + of_rows;
  // Each cell of a round has its own copy of what the corpus shares: stale by what the others do.
  AlignedVector<std::int32_t> own(static_cast<std::size_t>(P > 1 ? P * size : 0));
  std::vector<Workspace> workspaces;
  for (int p = 0; p < P; ++p) workspaces.emplace_back(at);
  std::vector<double> log_words(static_cast<std::size_t>(P * P), 0.0);
  const auto kernel = prepared.kernel();

  for (int round = 0; round < P; ++round) {
    parallel_for(n_threads, P, [&](std::int64_t part, int) {
      const int p = static_cast<int>(part), cell = p * P + (p + round) % P;
      std::int32_t *total = counts.total(), *S = counts.S();
      if (P > 1) {
        total = own.data() + p * size;
        std::copy_n(counts.total(), of_features, total);
        if (own_rows) S = std::copy_n(counts.S(), of_rows, total + of_features) - of_rows;
      }
      StructuredCell work{prepared.pass(total, S), cells.runs().data() + cells.first_run(cell),
                          cells.runs().data() + cells.first_run(cell + 1),
                          Stream(input.seed, Purpose::tokens, input.sweep, cells.unit(cell)),
                          workspaces[static_cast<std::size_t>(p)].scratch()};
      kernel(work);
      log_words[static_cast<std::size_t>(round * P + p)] = work.log_words;
    });
    if (P == 1) continue;
    const auto merge = [&](std::int32_t* whole, std::int64_t offset, std::int64_t length) {
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int32_t before = whole[k];
        for (int p = 0; p < P; ++p) whole[k] += own[p * size + offset + k] - before;
      }
    };
    merge(counts.total(), 0, of_features);
    merge(counts.S(), of_features, of_rows);
  }
  double sum = 0;
  for (const double value : log_words) sum += value;
  return sum;
}

}  // namespace

double structured_sweep(const StructuredInput& input, StructuredCounts& counts, int n_threads) {
  assert(input.Theta == nullptr ? counts.loaded() : !counts.shares_rows());
  if (input.Theta == nullptr) return sweep_cells(input, counts, n_threads);
  return sweep_documents(input, counts, n_threads);
}

void add_structured_loadings(StructuredCounts& counts, const double* gamma, const Rows<float>& out,
                             int n_threads) {
  const StructureView& at = counts.layout().view();
  std::vector<double> total(static_cast<std::size_t>(counts.n_blocks()), 0.0);
  for (std::int64_t j = 0; j < out.n_rows; ++j)
    total[static_cast<std::size_t>(counts.block()[j])] += gamma[j];
  parallel_for(n_threads, (out.n_rows + kRowsPerTask - 1) / kRowsPerTask,
               [&](std::int64_t task, int) {
                 const std::int64_t first = task * kRowsPerTask;
                 for (std::int64_t j = first; j < std::min(first + kRowsPerTask, out.n_rows); ++j) {
                   const std::int64_t g = counts.block()[j];
                   const std::int32_t* n = counts.n() + j * at.padded_nodes;
                   const std::int32_t* N = counts.total() + g * at.padded_nodes;
                   for (std::int64_t h = 0; h < at.H; ++h)
                     out.row(j)[h] += static_cast<float>((gamma[j] + n[h]) / (total[g] + N[h]));
                 }
               });
}

}  // namespace dcomp
