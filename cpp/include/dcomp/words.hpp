// Words out of texts, as numbers. The rules are those of dcomp.data.text, which has them in Python:
// a word is a run of letters, with apostrophes between; how numbers are taken is `Numbers`.
//
// A word's number is its place among all words in the order in which they are first read, whatever
// the number of threads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcomp {

// What a character is to a tokeniser. `mark` is what Python counts among \w but is no letter: _.
enum class CharClass : std::uint8_t { other, letter, digit, mark, apostrophe };

// Of a character beyond ASCII; the tables of Unicode are the caller's.
using ClassOf = CharClass (*)(char32_t);

enum class Numbers : std::uint8_t { none, all, years };

// Characters of one, two or four bytes each.
struct Text {
  const void* data;
  std::int64_t length;
  int width;
};

// Distinct words, numbered as they come.
class WordTable {
 public:
  explicit WordTable(std::uint64_t seed);
  std::int32_t number(std::string_view word);
  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()) - 1; }
  std::string_view word(std::int64_t number) const;

 private:
  struct Slot {
    std::uint32_t hash;
    std::int32_t number;  // -1 where there is none
  };
  // A short word that was asked for lately; most words of a text are among these.
  struct Recent {
    std::uint64_t letters = 0;
    std::int32_t number = -1;
  };
  std::int32_t found_or_new(std::string_view word);
  void grow();

  std::vector<Recent> recent_;
  std::uint64_t seed_;  // unknown to whoever writes a file: none can be built to be slow
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> hashes_;
  std::string letters_;
  std::vector<std::int64_t> ends_;
};

class WordCounter {
 public:
  // lower: whether letters of ASCII are made small; others must be small already.
  WordCounter(Numbers numbers, bool lower, ClassOf class_of, std::uint64_t seed);

  // The words of some texts. last[t]: whether text t ends its document, or the next goes on with
  // it; a text that goes on must end where no word does. A call that throws leaves the counter
  // void.
  void add(const std::vector<Text>& texts, const std::uint8_t* last, int n_threads);

  std::int64_t n_docs() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
  std::int64_t n_tokens() const { return static_cast<std::int64_t>(tokens_.size()); }
  bool ends_with_document() const { return starts_.back() == n_tokens(); }
  bool is_void() const { return is_void_; }
  const WordTable& words() const { return words_; }
  const std::vector<std::int64_t>& starts() const { return starts_; }
  std::vector<std::int32_t>& tokens() { return tokens_; }

 private:
  Numbers numbers_;
  bool lower_;
  ClassOf class_of_;
  std::uint64_t seed_;
  WordTable words_;
  std::vector<std::int64_t> starts_{0};
  std::vector<std::int32_t> tokens_;
  bool is_void_ = false;
};

// How often each of n_features is in each document, as canonical rows: columns ascend. A token that
// is -1 is not counted. First the ends of the rows, then what they hold, both (starts, tokens)
// alike.
void count_row_lengths(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
                       std::int64_t n_features, std::int64_t* indptr, int n_threads);
void count_rows(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
                std::int64_t n_features, const std::int64_t* indptr, std::int32_t* indices,
                std::int32_t* data, int n_threads);

// Whether that is what these rows say. Their columns must lie in [0, n_features).
bool rows_are(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
              std::int64_t n_features, const std::int64_t* indptr, const std::int32_t* indices,
              const std::int32_t* data, int n_threads);

}  // namespace dcomp
