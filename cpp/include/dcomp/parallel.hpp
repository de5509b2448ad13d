// Threads for one call: tasks are taken in order from a shared counter, and every task writes to
// places of its own, so the number of threads changes the time and nothing else.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "dcomp/interrupt.hpp"

namespace dcomp {

// The threads that a call has started: how many are at work, and what went wrong first.
class Crew {
 public:
  void come() {
    const std::lock_guard lock(mutex_);
    ++at_work_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--at_work_ == 0) all_left_.notify_all();
  }
  void fail(const std::exception_ptr& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
  }
  // Until all have left. Who waits is the thread of the call, and goes on asking whether to stop.
  void wait() {
    std::unique_lock lock(mutex_);
    while (!all_left_.wait_for(lock, StopWatch::kEvery, [&] { return at_work_ == 0; })) {
      lock.unlock();
      try {
        stop_point();
      } catch (...) {
        fail(std::current_exception());
      }
      lock.lock();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_left_;
  int at_work_ = 0;
  std::exception_ptr error_;
};

// Threads that are waited for however their block is left. std::jthread does the same, and Apple's
// library has none.
struct Joined {
  std::vector<std::thread> threads;
  Joined() = default;
  Joined(const Joined&) = delete;
  Joined& operator=(const Joined&) = delete;
  ~Joined() {
    for (std::thread& thread : threads) thread.join();
  }
};

// Calls task(t, worker) for t in [0, n_tasks), worker in [0, n_threads). Threads live for the call:
// starting one costs microseconds, and nothing is left behind for a fork to trip over. There is a
// stop point before every task. What a task throws ends the call: no task is begun after it, those
// under way come to their end or to a stop point, and the first error is thrown here.
template <class Task>
void parallel_for(int n_threads, std::int64_t n_tasks, const Task& task) {
  if (n_threads > n_tasks) n_threads = static_cast<int>(n_tasks);
  if (n_threads <= 1) {
    for (std::int64_t t = 0; t < n_tasks; ++t) {
      stop_point();
      task(t, 0);
    }
    return;
  }
  std::atomic<std::int64_t> next{0};
  Crew crew;
  const auto work = [&](int worker) noexcept {
    try {
      for (std::int64_t t; (t = next.fetch_add(1, std::memory_order_relaxed)) < n_tasks;) {
        stop_point();
        task(t, worker);
      }
    } catch (...) {
      crew.fail(std::current_exception());
      next.store(n_tasks, std::memory_order_relaxed);
    }
  };
  const auto lend = [&, watch = current_watch()](int worker) noexcept {
    {
      const StopScope scope(watch, false);
      work(worker);
    }
    crew.leave();
  };
  Joined others;
  others.threads.reserve(static_cast<std::size_t>(n_threads - 1));
  for (int worker = 1; worker < n_threads; ++worker) {
    crew.come();
    try {
      others.threads.emplace_back(lend, worker);
    } catch (const std::system_error&) {  // no more threads to be had: fewer do the same
      crew.leave();
      break;
    }
  }
  work(0);
  crew.wait();
  crew.rethrow();
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
