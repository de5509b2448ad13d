// Tokens by row (document or feature) and component: a dense table, or a list of components per
// row where components are many and most counts zero.
#pragma once

#include <cstdint>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/matrix.hpp"

namespace dcomp {

// For each row the components in use with their counts, in no order but after `sort`. Places of a
// row past its size, up to a whole number of vectors, hold a valid component and the count 0.
struct ComponentLists {
  const std::int64_t* start = nullptr;
  std::int32_t* size = nullptr;
  std::uint16_t* topic = nullptr;
  std::int32_t* count = nullptr;
};

// Read access to counts in either form.
struct CountView {
  std::int64_t n_rows = 0, K = 0;
  const std::int32_t* dense = nullptr;  // null where there are lists, or numbers are narrow
  std::int64_t stride = 0;
  const std::uint16_t* narrow = nullptr;
  ComponentLists lists;

  // Calls give(k, count) for the components of a row with a count above zero.
  template <class Give>
  void visit(std::int64_t row, const Give& give) const {
    if (dense != nullptr) return visit_dense(dense + row * stride, give);
    if (narrow != nullptr) return visit_dense(narrow + row * stride, give);
    for (std::int64_t q = lists.start[row]; q < lists.start[row] + lists.size[row]; ++q)
      give(std::int64_t{lists.topic[q]}, lists.count[q]);
  }
  template <class Count, class Give>
  void visit_dense(const Count* counts, const Give& give) const {
    for (std::int64_t k = 0; k < K; ++k)
      if (counts[k] > 0) give(k, static_cast<std::int32_t>(counts[k]));
  }
};

// lists: where components are many. narrow: uint16, for rows that are read often and whose totals
// allow it.
enum class CountForm { wide, narrow, lists };

class CountTable {
 public:
  // `totals`: the tokens of each row, which bound its list and its numbers. Narrow becomes wide
  // where a row has too many.
  CountTable(const std::vector<std::int64_t>& totals, std::int64_t K, std::int64_t padded,
             CountForm form);

  // Counts tokens anew: `row[t]` is the row of token t, z[t] its component.
  void count(const std::int32_t* row, const std::uint16_t* z, std::int64_t n_tokens);

  // Takes over `counts` (rows, K), whose rows must not exceed the totals that the table has room
  // for; place[k] is the column of component k, null where it is k. Not for narrow tables. A list
  // keeps the order that it has, and what is new in it comes last by number: to load the counts
  // that it holds changes nothing, not even the order in which a sweep adds up.
  void load(const Rows<const std::int32_t>& counts, const std::int32_t* place);

  // Lists by number of component, so that what a sweep draws follows from the counts alone and not
  // from the sweeps that led to them. Nothing for other forms.
  void sort(int n_threads);

  // Gives back the memory of the counts, which are gone until the next count or load.
  void unload();
  bool loaded() const { return loaded_; }

  CountView view() const;
  CountForm form() const { return form_; }
  std::int32_t* wide() { return wide_.data(); }
  std::uint16_t* narrow() { return narrow_.data(); }
  ComponentLists lists() { return {start_.data(), size_.data(), topic_.data(), count_.data()}; }

 private:
  void allocate();
  void count_lists(const std::int32_t* row, const std::uint16_t* z, std::int64_t n_tokens);
  void load_lists(const Rows<const std::int32_t>& counts, const std::int32_t* place);

  std::int64_t n_rows_, K_, padded_;
  CountForm form_;
  std::size_t room_ = 0;  // numbers in a table, or places in all lists
  bool loaded_ = false;
  AlignedVector<std::int32_t> wide_, count_;
  AlignedVector<std::uint16_t> narrow_, topic_;
  std::vector<std::int64_t> start_;
  std::vector<std::int32_t> size_;
};

}  // namespace dcomp
