// Words out of texts: the rules, the order of numbers, and rows of counts.
#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "dcomp/words.hpp"

namespace {

using dcomp::CharClass;
using dcomp::Numbers;

// Beyond ASCII there are letters, but for one digit (٣) and a dash.
CharClass few_classes(char32_t c) {
  if (c == 0x0663) return CharClass::digit;
  return c == 0x2014 ? CharClass::other : CharClass::letter;
}

template <class Char>
std::vector<std::string> words(const std::basic_string<Char>& text, Numbers numbers,
                               bool lower = true) {
  dcomp::WordCounter counter(numbers, lower, &few_classes, 7);
  const std::uint8_t last = 1;
  const auto length = static_cast<std::int64_t>(text.size());
  counter.add({{text.data(), length, sizeof(Char)}}, &last, 1);
  std::vector<std::string> out;
  for (const std::int32_t token : counter.tokens()) out.emplace_back(counter.words().word(token));
  return out;
}

using List = std::vector<std::string>;

}  // namespace

TEST(words_are_runs_of_letters_with_apostrophes_between) {
  CHECK(words(std::string("Don't 'x' a'' b_c 42"), Numbers::none) ==
        (List{"don't", "x", "a", "b", "c"}));
  CHECK(words(std::string("The End"), Numbers::none, false) == (List{"The", "End"}));
  CHECK(words(std::string(), Numbers::none).empty());
  CHECK(words(std::u32string(U"naïve—\U00010400x"), Numbers::none) ==
        (List{"na\xC3\xAFve", "\xF0\x90\x90\x80x"}));
  CHECK(words(std::u16string(u"日本 a"), Numbers::none) == (List{"\xE6\x97\xA5\xE6\x9C\xAC", "a"}));
}

TEST(numbers_are_taken_as_told) {
  const std::string text = "x2 1984 1984s _1999 20 2099 2100 '1066 999 10000";
  CHECK(words(text, Numbers::none) == (List{"x", "s"}));
  CHECK(words(text, Numbers::years) == (List{"x", "1984", "s", "2099", "1066"}));
  CHECK(words(std::string("x2 7'8 _9"), Numbers::all) == (List{"x2", "7'8", "9"}));
  CHECK(words(std::u16string(u"198\u0663 1984\u0663"), Numbers::years).empty());
}

TEST(words_have_the_same_numbers_for_any_number_of_threads) {
  std::vector<std::string> texts;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (int k = 0; k < 300; ++k) {
      std::string word = "w";
      for (int n = i * k * 7919 % 3001; n > 0; n /= 26) word += static_cast<char>('a' + n % 26);
      text += word + ' ';
    }
    texts.push_back(text);
  }
  std::vector<dcomp::Text> views;
  std::vector<std::uint8_t> last;
  for (const std::string& text : texts) {
    views.push_back({text.data(), static_cast<std::int64_t>(text.size()), 1});
    last.push_back(views.size() % 3 != 1);  // some documents come in two pieces
  }
  std::vector<List> vocabularies;
  std::vector<std::vector<std::int32_t>> tokens;
  for (const int n_threads : {1, 2, 5}) {
    dcomp::WordCounter counter(Numbers::none, true, &few_classes, 7 + n_threads);
    counter.add(views, last.data(), n_threads);
    counter.add(views, last.data(), n_threads);
    CHECK(counter.n_docs() == 2 * std::count(last.begin(), last.end(), 1));
    List known;
    for (std::int64_t w = 0; w < counter.words().size(); ++w)
      known.emplace_back(counter.words().word(w));
    vocabularies.push_back(known);
    tokens.push_back(counter.tokens());
  }
  CHECK(vocabularies[0].size() > 1000 && tokens[0].size() == 240000);
  CHECK(vocabularies[0] == vocabularies[1] && vocabularies[0] == vocabularies[2]);
  CHECK(tokens[0] == tokens[1] && tokens[0] == tokens[2]);
}

TEST(rows_hold_how_often_each_token_is_there) {
  const std::vector<std::int64_t> starts{0, 4, 4, 7};
  const std::vector<std::int32_t> tokens{2, 0, -1, 2, 1, -1, 1};
  for (const int n_threads : {1, 3}) {
    std::vector<std::int64_t> indptr(4);
    dcomp::count_row_lengths(starts.data(), 3, tokens.data(), 3, indptr.data(), n_threads);
    CHECK(indptr == (std::vector<std::int64_t>{0, 2, 2, 3}));
    std::vector<std::int32_t> indices(3), data(3);
    dcomp::count_rows(starts.data(), 3, tokens.data(), 3, indptr.data(), indices.data(),
                      data.data(), n_threads);
    CHECK(indices == (std::vector<std::int32_t>{0, 2, 1}));
    CHECK(data == (std::vector<std::int32_t>{1, 2, 2}));
    const auto are = [&] {
      return dcomp::rows_are(starts.data(), 3, tokens.data(), 3, indptr.data(), indices.data(),
                             data.data(), n_threads);
    };
    CHECK(are());
    ++data[2];
    CHECK(!are());
    --data[2], indices[0] = 1;
    CHECK(!are());
  }
}
