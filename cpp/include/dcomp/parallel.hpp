// Threads for one call: tasks are taken in order from a shared counter, and every task writes to
// places of its own, so the number of threads changes the time and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace dcomp {

// Calls task(t, worker) for t in [0, n_tasks), worker in [0, n_threads). Threads live for the call:
// starting one costs microseconds, and nothing is left behind for a fork to trip over.
// `task` must not throw.
template <class Task>
void parallel_for(int n_threads, std::int64_t n_tasks, const Task& task) {
  if (n_threads > n_tasks) n_threads = static_cast<int>(n_tasks);
  if (n_threads <= 1) {
    for (std::int64_t t = 0; t < n_tasks; ++t) task(t, 0);
    return;
  }
  std::atomic<std::int64_t> next{0};
  auto work = [&](int worker) {
    for (std::int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;)
      task(t, worker);
  };
  std::vector<std::jthread> others;
  others.reserve(static_cast<std::size_t>(n_threads - 1));
  for (int worker = 1; worker < n_threads; ++worker) others.emplace_back(work, worker);
  work(0);
}

// Adds up task(first, last, worker) over rows [first, last) in tasks of fixed size, in their order.
template <class Task>
double sum_over_tasks(std::int64_t n_rows, std::int64_t per_task, int n_threads, const Task& task) {
  const std::int64_t tasks = (n_rows + per_task - 1) / per_task;
  std::vector<double> part(static_cast<std::size_t>(tasks), 0.0);
  parallel_for(n_threads, tasks, [&](std::int64_t t, int worker) {
    const std::int64_t last = (t + 1) * per_task;
    part[static_cast<std::size_t>(t)] = task(t * per_task, last < n_rows ? last : n_rows, worker);
  });
  double total = 0;
  for (const double p : part) total += p;
  return total;
}

}  // namespace dcomp
