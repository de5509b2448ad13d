#include "dcomp/count_table.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <type_traits>

#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

// Lists start and end on whole vectors, so that no two rows share one.
constexpr std::int64_t kListStep = 16;

constexpr std::int64_t kRowsPerTask = 256;

// One list by number of component: through a set of bits where that is short, else by comparing.
class ListSorter {
 public:
  explicit ListSorter(std::int64_t K)
      : words_(static_cast<std::size_t>((K + 63) / 64), 0),
        counts_(static_cast<std::size_t>(K), 0) {}

  void sort(std::uint16_t* topic, std::int32_t* count, std::int64_t size) {
    if (std::is_sorted(topic, topic + size)) return;
    for (std::int64_t q = 0; q < size; ++q) counts_[topic[q]] = count[q];
    if (static_cast<std::int64_t>(words_.size()) > 4 * size)
      std::sort(topic, topic + size);
    else
      by_bits(topic, size);
    for (std::int64_t q = 0; q < size; ++q) count[q] = counts_[topic[q]];
  }

 private:
  void by_bits(std::uint16_t* topic, std::int64_t size) {
    for (std::int64_t q = 0; q < size; ++q)
      words_[topic[q] / 64] |= std::uint64_t{1} << topic[q] % 64;
    for (std::size_t word = 0; word < words_.size(); ++word) {
      for (std::uint64_t bits = words_[word]; bits != 0; bits &= bits - 1)
        *topic++ = static_cast<std::uint16_t>(64 * word + std::countr_zero(bits));
      words_[word] = 0;
    }
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::int32_t> counts_;
};

}  // namespace

void CountTable::sort(int n_threads) {
  if (form_ != CountForm::lists) return;
  std::vector<ListSorter> sorters(static_cast<std::size_t>(n_threads), ListSorter(K_));
  parallel_for(n_threads, (n_rows_ + kRowsPerTask - 1) / kRowsPerTask,
               [&](std::int64_t task, int worker) {
                 const std::int64_t first = task * kRowsPerTask;
                 for (std::int64_t i = first; i < std::min(first + kRowsPerTask, n_rows_); ++i)
                   sorters[static_cast<std::size_t>(worker)].sort(
                       topic_.data() + start_[i], count_.data() + start_[i], size_[i]);
               });
}

CountTable::CountTable(const std::vector<std::int64_t>& totals, std::int64_t K, std::int64_t padded,
                       CountForm form)
    : n_rows_(static_cast<std::int64_t>(totals.size())), K_(K), padded_(padded), form_(form) {
  room_ = totals.size() * static_cast<std::size_t>(padded);
  if (form_ == CountForm::narrow && !totals.empty() &&
      *std::max_element(totals.begin(), totals.end()) > std::numeric_limits<std::uint16_t>::max())
    form_ = CountForm::wide;
  if (form_ == CountForm::lists) {
    std::int64_t room = 0;
    for (const std::int64_t total : totals) {
      start_.push_back(room);
      room += (std::min(total, K) + kListStep) / kListStep * kListStep;
    }
    room_ = static_cast<std::size_t>(room);
  }
  allocate();
}

void CountTable::allocate() {
  if (loaded_) return;
  if (form_ == CountForm::wide) wide_.resize(room_);
  if (form_ == CountForm::narrow) narrow_.resize(room_);
  if (form_ == CountForm::lists) {
    size_.resize(static_cast<std::size_t>(n_rows_));
    topic_.resize(room_);
    count_.resize(room_);
  }
  loaded_ = true;
}

void CountTable::unload() {
  const auto give_back = [](auto& numbers) {
    std::remove_reference_t<decltype(numbers)>().swap(numbers);
  };
  give_back(wide_);
  give_back(narrow_);
  give_back(topic_);
  give_back(count_);
  give_back(size_);
  loaded_ = false;
}

CountView CountTable::view() const {
  auto* self = const_cast<CountTable*>(this);  // a view only reads its lists
  return {n_rows_,
          K_,
          form_ == CountForm::wide ? wide_.data() : nullptr,
          padded_,
          form_ == CountForm::narrow ? narrow_.data() : nullptr,
          self->lists()};
}

void CountTable::count(const std::int32_t* row, const std::uint16_t* z, std::int64_t n_tokens) {
  allocate();
  if (form_ == CountForm::lists) return count_lists(row, z, n_tokens);
  std::fill(wide_.begin(), wide_.end(), 0);
  std::fill(narrow_.begin(), narrow_.end(), std::uint16_t{0});
  for (std::int64_t t = 0; t < n_tokens; ++t) {
    const std::int64_t at = row[t] * padded_ + z[t];
    if (form_ == CountForm::wide)
      ++wide_[at];
    else
      ++narrow_[at];
  }
}

void CountTable::count_lists(const std::int32_t* row, const std::uint16_t* z,
                             std::int64_t n_tokens) {
  std::vector<std::int64_t> end(static_cast<std::size_t>(n_rows_ + 1), 0);
  for (std::int64_t t = 0; t < n_tokens; ++t) ++end[row[t] + 1];
  for (std::int64_t i = 0; i < n_rows_; ++i) end[i + 1] += end[i];
  std::vector<std::uint16_t> sorted(static_cast<std::size_t>(n_tokens));
  for (std::int64_t t = 0; t < n_tokens; ++t)
    sorted[end[row[t]]++] = z[t];  // now end[i] is i's end
  std::fill(count_.begin(), count_.end(), 0);
  std::vector<std::int32_t> counts(static_cast<std::size_t>(K_), 0);
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    std::uint16_t* topic = topic_.data() + start_[i];
    std::int32_t size = 0;
    for (std::int64_t p = begin; p < end[i]; ++p)
      if (counts[sorted[p]]++ == 0) topic[size++] = sorted[p];
    for (std::int32_t q = 0; q < size; ++q) {
      count_[start_[i] + q] = counts[topic[q]];
      counts[topic[q]] = 0;
    }
    size_[i] = size;
    begin = end[i];
  }
}

void CountTable::load(const Rows<const std::int32_t>& counts, const std::int32_t* place) {
  assert(form_ != CountForm::narrow && counts.n_rows == n_rows_);
  allocate();
  if (form_ == CountForm::lists) return load_lists(counts, place);
  std::fill(wide_.begin(), wide_.end(), 0);
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const std::int32_t* from = counts.row(i);
    std::int32_t* to = wide_.data() + i * padded_;
    if (place == nullptr)
      std::copy_n(from, counts.width, to);
    else
      for (std::int64_t k = 0; k < counts.width; ++k) to[place[k]] = from[k];
  }
}

void CountTable::load_lists(const Rows<const std::int32_t>& counts, const std::int32_t* place) {
  std::vector<char> listed(static_cast<std::size_t>(K_), 0);
  std::vector<std::int32_t> row(static_cast<std::size_t>(K_), 0);  // by column
  for (std::int64_t i = 0; i < n_rows_; ++i) {
    const std::int32_t* from = counts.row(i);
    if (place != nullptr) {
      for (std::int64_t k = 0; k < counts.width; ++k) row[place[k]] = from[k];
      from = row.data();
    }
    std::uint16_t* topic = topic_.data() + start_[i];
    std::int32_t* count = count_.data() + start_[i];
    const std::int32_t before = size_[i];
    std::int32_t size = 0;
    const auto append = [&](std::int64_t k) {
      topic[size] = static_cast<std::uint16_t>(k);
      count[size++] = from[k];
    };
    for (std::int32_t q = 0; q < before; ++q) {
      const std::uint16_t k = topic[q];
      if (from[k] == 0) continue;
      listed[k] = 1;
      append(k);
    }
    for (std::int64_t k = 0; k < K_; ++k) {
      if (from[k] > 0 && !listed[k]) append(k);
      listed[k] = 0;
    }
    for (std::int32_t q = size; q < before; ++q) count[q] = 0;
    size_[i] = size;
  }
}

}  // namespace dcomp
