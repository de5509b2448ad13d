#include "dcomp/factor.hpp"

#include <algorithm>
#include <vector>

#include "dcomp/aligned.hpp"
#include "dcomp/dispatch.hpp"
#include "dcomp/parallel.hpp"

namespace dcomp {

namespace {

// Rows of fixed number, so that sums are cut in the same places whatever the number of threads.
constexpr std::int64_t kRowsPerTask = 16;

template <class T>
class FactorWorkers {
 public:
  FactorWorkers(int n_threads, std::int64_t padded, std::int64_t longest)
      : entries_((longest + 15) / 16 * 16),
        columns_size_(std::max(kColumnMemory, entries_)),
        numbers_(static_cast<std::size_t>(n_threads * (padded + 3 * entries_ + columns_size_))),
        gradient_(static_cast<std::size_t>(n_threads * padded)),
        active_(static_cast<std::size_t>(n_threads * padded)) {
    for (int t = 0; t < n_threads; ++t) {
      T* x = numbers_.data() + t * (padded + 3 * entries_ + columns_size_);
      T* y = x + padded;
      scratch_.push_back({x, y, y + entries_, y + 2 * entries_, y + 3 * entries_, columns_size_,
                          gradient_.data() + t * padded, active_.data() + t * padded});
    }
  }
  FactorScratch<T>& operator[](int worker) { return scratch_[static_cast<std::size_t>(worker)]; }

 private:
  std::int64_t entries_, columns_size_;
  AlignedVector<T> numbers_;
  AlignedVector<double> gradient_;
  std::vector<std::int32_t> active_;
  std::vector<FactorScratch<T>> scratch_;
};

}  // namespace

template <class T>
FactorSums factor(const FactorPass<T>& pass, int n_threads) {
  std::int64_t longest = 1;
  for (std::int64_t i = 0; i < pass.W.n_docs; ++i) longest = std::max(longest, pass.W.size(i));
  const std::int64_t tasks = (pass.W.n_docs + kRowsPerTask - 1) / kRowsPerTask;
  // Room for columns is large, and a thread without a task needs none.
  n_threads = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, n_threads));
  FactorWorkers<T> workers(n_threads, pass.F.stride, longest);
  std::vector<FactorSums> part(static_cast<std::size_t>(tasks));
  const auto kernel = kernels<T>().factor_rows.run;
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    const std::int64_t first = t * kRowsPerTask;
    kernel(pass, first, std::min(first + kRowsPerTask, pass.W.n_docs), workers[worker],
           part[static_cast<std::size_t>(t)]);
  });
  FactorSums total;
  for (const FactorSums& p : part) {
    total.before += p.before;
    total.after += p.after;
    total.rounds += p.rounds;
    total.residual = std::max(total.residual, p.residual);
  }
  return total;
}

template FactorSums factor<float>(const FactorPass<float>&, int);
template FactorSums factor<double>(const FactorPass<double>&, int);

}  // namespace dcomp
