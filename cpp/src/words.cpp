#include "dcomp/words.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

constexpr std::int64_t kTask = 1 << 17;    // characters that one task reads at least
constexpr std::int64_t kTokens = 1 << 16;  // tokens of documents that one task counts

__extension__ using Wide = unsigned __int128;

std::uint64_t folded(std::uint64_t a, std::uint64_t b) {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

// Up to eight letters as a number; no letter is a zero, so that no two words have the same.
std::uint64_t packed(const char* letters, std::size_t n) {
  std::uint64_t out = 0;
  std::memcpy(&out, letters, n);
  return out;
}

constexpr int kRecentBits = 12;

std::uint32_t hash_of(std::string_view word, std::uint64_t seed) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  std::uint64_t h = seed ^ (word.size() * kOdd);
  std::size_t at = 0;
  for (; at + 8 <= word.size(); at += 8) h = folded(h ^ packed(word.data() + at, 8), seed | kOdd);
  h = folded(h ^ packed(word.data() + at, word.size() - at), seed | kOdd);
  return static_cast<std::uint32_t>(folded(h, kOdd));
}

constexpr std::array<CharClass, 128> kAscii = [] {
  std::array<CharClass, 128> out{};
  for (int c = 0; c < 128; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    out[static_cast<std::size_t>(c)] = letter                 ? CharClass::letter
                                       : c >= '0' && c <= '9' ? CharClass::digit
                                       : c == '_'             ? CharClass::mark
                                       : c == '\''            ? CharClass::apostrophe
                                                              : CharClass::other;
  }
  return out;
}();

void append_utf8(std::string& out, char32_t c) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

// One text, from its first character to its last.
template <class Char>
class Reading {
 public:
  Reading(const Text& text, Numbers numbers, bool lower, ClassOf class_of)
      : at_(static_cast<const Char*>(text.data)),
        end_(at_ + text.length),
        numbers_(numbers),
        lower_(lower),
        class_of_(class_of) {}

  // Calls take(word) for each.
  template <class Take>
  void words(const Take& take) {
    CharClass before = CharClass::other;
    while (at_ < end_) {
      const CharClass now = class_at(at_);
      if (is_part(now)) {
        read_word();
        take(std::string_view(word_));
        before = class_at(at_ - 1);
      } else if (now == CharClass::digit) {  // of numbers none or years
        const bool is_alone = before == CharClass::other || before == CharClass::apostrophe;
        read_digits(is_alone && numbers_ == Numbers::years);
        if (!word_.empty()) take(std::string_view(word_));
        before = CharClass::digit;
      } else {
        before = now;
        ++at_;
      }
    }
  }

 private:
  CharClass class_at(const Char* at) const {
    const auto c = static_cast<char32_t>(*at);
    return c < 128 ? kAscii[c] : class_of_(c);
  }
  bool is_part(CharClass c) const {
    return c == CharClass::letter || (c == CharClass::digit && numbers_ == Numbers::all);
  }
  void put(const Char* at) {
    const auto c = static_cast<char32_t>(*at);
    if (c < 128) {
      word_.push_back(static_cast<char>(lower_ && c >= 'A' && c <= 'Z' ? c + 32 : c));
    } else {
      append_utf8(word_, c);
    }
  }
  // Letters of ASCII, as many as come, a piece at a time.
  void put_plain() {
    std::array<char, 64> piece;
    std::size_t n = 0;
    for (; at_ < end_ && n < piece.size(); ++at_) {
      const auto c = static_cast<char32_t>(*at_);
      const bool is_capital = c - 'A' < 26U;
      if (!is_capital && !(c - 'a' < 26U)) break;
      piece[n++] = static_cast<char>(is_capital && lower_ ? c + 32 : c);
    }
    word_.append(piece.data(), n);
  }
  void read_word() {
    word_.clear();
    for (;;) {
      do {
        const Char* before = at_;
        put_plain();
        if (at_ == before) put(at_++);  // another letter, or a digit that counts as one
      } while (at_ < end_ && is_part(class_at(at_)));
      const bool goes_on = at_ + 1 < end_ && *at_ == '\'' && is_part(class_at(at_ + 1));
      if (!goes_on) return;
      word_.push_back('\'');
      ++at_;
    }
  }
  // Past a run of digits; the word is the run if it is a year and that is wanted, else empty.
  void read_digits(bool is_wanted) {
    const Char* first = at_;
    word_.clear();
    while (at_ < end_ && class_at(at_) == CharClass::digit) ++at_;
    if (!is_wanted || at_ - first != 4) return;
    if (at_ < end_) {
      const CharClass after = class_at(at_);
      if (after == CharClass::letter || after == CharClass::mark) return;
    }
    for (const Char* at = first; at < at_; ++at)
      if (static_cast<char32_t>(*at) >= 128) return;
    if (first[0] == '1' || (first[0] == '2' && first[1] == '0'))
      for (const Char* at = first; at < at_; ++at) put(at);
  }

  const Char* at_;
  const Char* end_;
  Numbers numbers_;
  bool lower_;
  ClassOf class_of_;
  std::string word_;
};

// Documents and a few of them at a time, for threads.
template <class Task>
void for_documents(const std::int64_t* starts, std::int64_t n_docs, int n_threads,
                   const Task& task) {
  std::vector<std::int64_t> first{0};
  for (std::int64_t i = 1; i < n_docs; ++i)
    if (starts[i] - starts[first.back()] + (i - first.back()) >= kTokens) first.push_back(i);
  first.push_back(n_docs);
  const auto n_tasks = static_cast<std::int64_t>(first.size()) - 1;
  parallel_for(n_threads, n_tasks, [&](std::int64_t t, int worker) {
    const auto at = static_cast<std::size_t>(t);
    for (std::int64_t i = first[at]; i < first[at + 1]; ++i) task(i, worker);
  });
}

// How often each feature is in one document; all zeros between two.
class Tally {
 public:
  explicit Tally(std::int64_t n_features) : often_(static_cast<std::size_t>(n_features), 0) {}

  // The features that are there, in the order in which they come.
  std::vector<std::int32_t>& read(const std::int32_t* first, const std::int32_t* last) {
    there_.clear();
    while (first < last) {
      const std::int32_t* end = last - first > kMuchWork ? first + kMuchWork : last;
      stop_point(end - first);
      for (; first < end; ++first)
        if (*first >= 0 && often_[static_cast<std::size_t>(*first)]++ == 0)
          there_.push_back(*first);
    }
    return there_;
  }
  std::int32_t take(std::int32_t feature) {
    return std::exchange(often_[static_cast<std::size_t>(feature)], 0);
  }

 private:
  std::vector<std::int32_t> often_, there_;
};

std::vector<Tally> tallies(std::int64_t n_features, std::int64_t n_docs, int n_threads) {
  const auto n = static_cast<std::size_t>(
      std::max<std::int64_t>(1, std::min<std::int64_t>(n_threads, n_docs)));
  return std::vector<Tally>(n, Tally(n_features));
}

}  // namespace

WordTable::WordTable(std::uint64_t seed)
    : recent_(std::size_t{1} << kRecentBits), seed_(seed), slots_(64, Slot{0, -1}), ends_{0} {}

std::string_view WordTable::word(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  const auto first = static_cast<std::size_t>(ends_[at]);
  return std::string_view(letters_).substr(first, static_cast<std::size_t>(ends_[at + 1]) - first);
}

std::int32_t WordTable::number(std::string_view word) {
  if (word.size() > 8) return found_or_new(word);
  const std::uint64_t letters = packed(word.data(), word.size());
  Recent& recent = recent_[folded(letters ^ seed_, 0x9E3779B97F4A7C15) >> (64 - kRecentBits)];
  if (recent.letters != letters) recent = {letters, found_or_new(word)};
  return recent.number;
}

std::int32_t WordTable::found_or_new(std::string_view word) {
  const std::uint32_t hash = hash_of(word, seed_);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].number >= 0; at = (at + 1) & mask)
    if (slots_[at].hash == hash && this->word(slots_[at].number) == word) return slots_[at].number;
  if (size() == std::numeric_limits<std::int32_t>::max())
    throw std::length_error("there are more than 2^31 - 1 distinct words");
  const auto number = static_cast<std::int32_t>(size());
  letters_.append(word);
  ends_.push_back(static_cast<std::int64_t>(letters_.size()));
  hashes_.push_back(hash);
  slots_[at] = {hash, number};
  if (2 * hashes_.size() > slots_.size()) grow();
  return number;
}

void WordTable::grow() {
  std::vector<Slot> wider(2 * slots_.size(), Slot{0, -1});
  const std::size_t mask = wider.size() - 1;
  for (std::size_t number = 0; number < hashes_.size(); ++number) {
    std::size_t at = hashes_[number] & mask;
    while (wider[at].number >= 0) at = (at + 1) & mask;
    wider[at] = {hashes_[number], static_cast<std::int32_t>(number)};
  }
  slots_ = std::move(wider);
}

WordCounter::WordCounter(Numbers numbers, bool lower, ClassOf class_of, std::uint64_t seed)
    : numbers_(numbers), lower_(lower), class_of_(class_of), seed_(seed), words_(seed) {}

void WordCounter::add(const std::vector<Text>& texts, const std::uint8_t* last, int n_threads) {
  // Words of a task: numbers in a table of its own, and after how many of them each text ends.
  struct Part {
    WordTable words;
    std::vector<std::int32_t> tokens;
    std::vector<std::size_t> ends;
  };
  const auto read = [&](std::size_t t, WordTable& words, std::vector<std::int32_t>& tokens) {
    const Text& text = texts[t];
    stop_point(text.length);
    const auto take = [&](std::string_view word) { tokens.push_back(words.number(word)); };
    if (text.width == 1) {
      Reading<std::uint8_t>(text, numbers_, lower_, class_of_).words(take);
    } else if (text.width == 2) {
      Reading<std::uint16_t>(text, numbers_, lower_, class_of_).words(take);
    } else {
      Reading<std::uint32_t>(text, numbers_, lower_, class_of_).words(take);
    }
  };
  // Texts of each task: few and long ones, since every task finds the frequent words anew.
  std::vector<std::size_t> first{0};
  std::int64_t whole = 0, length = 0;
  for (const Text& text : texts) whole += text.length;
  const std::int64_t enough = std::max(kTask, whole / n_threads);
  for (std::size_t t = 0; t < texts.size(); ++t) {
    if (length >= enough) first.push_back(t), length = 0;
    length += texts[t].length;
  }
  first.push_back(texts.size());
  is_void_ = true;
  if (n_threads == 1 || first.size() == 2) {
    for (std::size_t t = 0; t < texts.size(); ++t) {
      read(t, words_, tokens_);
      if (last[t] != 0) starts_.push_back(n_tokens());
    }
  } else {
    std::vector<Part> parts(first.size() - 1, Part{WordTable(seed_), {}, {}});
    parallel_for(n_threads, static_cast<std::int64_t>(parts.size()), [&](std::int64_t p, int) {
      const auto at = static_cast<std::size_t>(p);
      for (std::size_t t = first[at]; t < first[at + 1]; ++t) {
        read(t, parts[at].words, parts[at].tokens);
        parts[at].ends.push_back(parts[at].tokens.size());
      }
    });
    // In the order of the texts, so that numbers do not depend on who read what.
    std::size_t t = 0;
    for (Part& part : parts) {
      std::vector<std::int32_t> number(static_cast<std::size_t>(part.words.size()));
      for (std::size_t w = 0; w < number.size(); ++w)
        number[w] = words_.number(part.words.word(static_cast<std::int64_t>(w)));
      const auto before = static_cast<std::int64_t>(tokens_.size());
      for (const std::int32_t token : part.tokens)
        tokens_.push_back(number[static_cast<std::size_t>(token)]);
      for (const std::size_t end : part.ends)
        if (last[t++] != 0) starts_.push_back(before + static_cast<std::int64_t>(end));
      part = Part{WordTable(seed_), {}, {}};
    }
  }
  is_void_ = false;
}

void count_row_lengths(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
                       std::int64_t n_features, std::int64_t* indptr, int n_threads) {
  std::vector<Tally> tally = tallies(n_features, n_docs, n_threads);
  indptr[0] = 0;
  for_documents(starts, n_docs, static_cast<int>(tally.size()), [&](std::int64_t i, int worker) {
    Tally& own = tally[static_cast<std::size_t>(worker)];
    const auto& there = own.read(tokens + starts[i], tokens + starts[i + 1]);
    for (const std::int32_t feature : there) own.take(feature);
    indptr[i + 1] = static_cast<std::int64_t>(there.size());
  });
  for (std::int64_t i = 0; i < n_docs; ++i) indptr[i + 1] += indptr[i];
}

void count_rows(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
                std::int64_t n_features, const std::int64_t* indptr, std::int32_t* indices,
                std::int32_t* data, int n_threads) {
  std::vector<Tally> tally = tallies(n_features, n_docs, n_threads);
  for_documents(starts, n_docs, static_cast<int>(tally.size()), [&](std::int64_t i, int worker) {
    Tally& own = tally[static_cast<std::size_t>(worker)];
    auto& there = own.read(tokens + starts[i], tokens + starts[i + 1]);
    std::sort(there.begin(), there.end());
    std::int64_t at = indptr[i];
    for (const std::int32_t feature : there) {
      indices[at] = feature;
      data[at++] = own.take(feature);
    }
  });
}

bool rows_are(const std::int64_t* starts, std::int64_t n_docs, const std::int32_t* tokens,
              std::int64_t n_features, const std::int64_t* indptr, const std::int32_t* indices,
              const std::int32_t* data, int n_threads) {
  std::vector<Tally> tally = tallies(n_features, n_docs, n_threads);
  std::atomic<bool> same{true};
  for_documents(starts, n_docs, static_cast<int>(tally.size()), [&](std::int64_t i, int worker) {
    Tally& own = tally[static_cast<std::size_t>(worker)];
    const auto& there = own.read(tokens + starts[i], tokens + starts[i + 1]);
    bool equal = static_cast<std::int64_t>(there.size()) == indptr[i + 1] - indptr[i];
    // As many columns as there are, each with its count, which is gone once it was taken.
    for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
      equal = equal && own.take(indices[e]) == data[e];
    for (const std::int32_t feature : there) own.take(feature);
    if (!equal) same.store(false, std::memory_order_relaxed);
  });
  return same;
}

}  // namespace dcomp
