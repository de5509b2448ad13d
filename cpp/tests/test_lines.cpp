// Scores along lines: the same for any number of threads, sound at the edges, and with words kept.
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "dcomp/lines.hpp"

namespace {

// Documents with no words, with one, with few and with millions; three components, two alike.
struct Case {
  std::vector<std::int64_t> indptr{0, 0, 1, 4, 7}, number{5, 6, 7, 8};
  std::vector<std::int32_t> indices{1, 0, 1, 2, 0, 1, 2}, data{1, 3, 2, 4, 800000, 700000, 900000};
  std::vector<float> Theta{0.335F, 0.333F, 0.01F, 0.333F, 0.333F, 0.01F, 0.332F, 0.334F, 0.98F};
  std::vector<double> alpha{0.1, 0.1, 2.0},
      rate = std::vector<double>(12, 1.5),
      log_zero{0.3, -std::numeric_limits<double>::infinity(), 1.0},
      zero = std::vector<double>(12, 0.6);
  static constexpr std::int64_t kept = 30;

  dcomp::LineInput input(bool zeros, bool normalised) {
    return {{indptr.data(), indices.data(), data.data(), 4, 3, 0},
            number.data(),
            {Theta.data(), 3, 3, 3},
            alpha.data(),
            {rate.data(), 4, 3, 3},
            zeros ? log_zero.data() : nullptr,
            {zeros ? zero.data() : nullptr, 4, 3, 3},
            normalised,
            1,
            0,
            5,
            kept,
            2};
  }
};

}  // namespace

TEST(lines_are_the_same_for_any_number_of_threads_and_keep_all_words) {
  for (const bool zeros : {false, true}) {
    Case of;
    const dcomp::LineInput input = of.input(zeros, !zeros);
    const std::size_t size = Case::kept * 4 * 3;
    std::vector<std::int32_t> c(size), c_again(size);
    std::vector<float> scores(size), again(size);
    dcomp::sample_lines(input, nullptr, c.data(), scores.data(), 1);
    dcomp::sample_lines(input, nullptr, c_again.data(), again.data(), 3);
    CHECK(c == c_again && scores == again);
    bool some_zero = false;
    for (std::size_t row = 0; row < size; row += 3) {
      const std::size_t i = row / 3 % 4;
      const auto words = std::accumulate(of.data.begin() + of.indptr[i],
                                         of.data.begin() + of.indptr[i + 1], std::int64_t{0});
      CHECK(std::int64_t{c[row]} + c[row + 1] + c[row + 2] == words);
      double total = 0;
      for (std::size_t k = row; k < row + 3; ++k) {
        CHECK(std::isfinite(scores[k]) && scores[k] >= 0);
        CHECK(scores[k] > 0 || (zeros && c[k] == 0));
        some_zero |= scores[k] == 0;
        total += scores[k];
      }
      if (!zeros) CHECK_CLOSE(total, 1.0, 1e-5);
    }
    CHECK(some_zero == zeros);
  }
}
