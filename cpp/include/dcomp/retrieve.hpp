// The best documents for a query, from inverted lists with upper bounds.
//
// Documents stand in blocks of `block`. A list has, for each block in which its word occurs, an
// entry: where its postings begin, and the largest count, the largest share of a document and the
// shortest length among them. From these comes a bound on the score of every document of a block.
// Blocks are looked into by falling bound, until the bound is below the n-th best score: what is
// found is what looking into all of them finds, bit by bit.
//
// Lists may lie in a mapped file that nobody has read yet, so that they are checked as they are
// read: whatever they hold, no place outside of them is touched, and BadLists says what is wrong.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace dcomp {

inline constexpr std::int64_t kMostInBlock = 256;

struct BadLists : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PostingLists {
  std::int64_t n_docs = 0, n_features = 0, n_entries = 0, n_postings = 0, block = 64;
  const std::int64_t* list_start = nullptr;   // (features + 1) into entries
  const std::int32_t* entry_block = nullptr;  // (entries), ascending in a list
  const std::int64_t* entry_start = nullptr;  // (entries + 1) into postings
  const float* entry_count = nullptr;         // (entries): the largest count
  const float* entry_ratio = nullptr;         // (entries): the largest count / length
  const float* entry_length = nullptr;        // (entries): the shortest document
  const std::int32_t* document = nullptr;     // (postings), ascending in an entry
  const float* count = nullptr;               // (postings)
  const float* length = nullptr;              // (documents)
  const float* norm = nullptr;                // (documents): of tf-idf
  // Of the components, where there are any: shares (documents, K), and their largest in each block
  // (blocks, K).
  std::int64_t K = 0;
  const float* shares = nullptr;
  const float* envelope = nullptr;

  std::int64_t n_blocks() const { return (n_docs + block - 1) / block; }
};

// How a document that has the word x times, of length L, gains:
//   bm25       w x (k1 + 1) / (x + k1 (1 - b + b L / average))
//   tf_idf     w (1 + log x) / norm
//   dirichlet  w log(1 + x / (mu p)), and for the whole query -sum(w) log(1 + L / mu)
//   jelinek    w log(1 + (1 - lambda) / lambda * (x / L) / p)
//   mixture    w log(x / L + l2 sum_k m_k theta_k + l3 p), of all documents, with x = 0 too
// with p the word's probability in the corpus.
enum class ScoreKind { bm25, tf_idf, dirichlet, jelinek, mixture };

struct Question {
  ScoreKind kind = ScoreKind::bm25;
  std::int64_t n_terms = 0;
  const std::int32_t* term = nullptr;       // (terms): each once
  const double* weight = nullptr;           // (terms): positive
  const double* background = nullptr;       // (terms): p
  const float* Theta = nullptr;             // (terms, K): of a mixture
  double first = 0, second = 0, third = 0;  // k1, b, average; mu; lambda; l2, l3
};

struct Found {
  std::int32_t document;
  double score;
};

struct BestDocuments {
  std::vector<Found> found;      // by falling score, equal ones by number
  std::int64_t n_evaluated = 0;  // documents in the blocks that were looked into
};

// The n best. Without components those that have a word of the query; with a mixture all may be.
BestDocuments best_documents(const PostingLists& lists, const Question& question, std::int64_t n);

// The score of every document, and whether it has a word of the query.
void all_scores(const PostingLists& lists, const Question& question, double* score,
                std::uint8_t* matches);

}  // namespace dcomp
