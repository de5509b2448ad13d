// Threads of a call: an error in one of them ends the call and nothing else, and a call that is
// told to stop does.
#include <atomic>
#include <chrono>
#include <new>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "dcomp/interrupt.hpp"
#include "dcomp/parallel.hpp"

namespace {

bool always() { return true; }
bool never() { return false; }

// What `work` throws: 0 nothing, 1 Stopped, 2 bad_alloc, 3 anything else.
template <class Work>
int thrown_by(const Work& work) {
  try {
    work();
  } catch (const dcomp::Stopped&) {
    return 1;
  } catch (const std::bad_alloc&) {
    return 2;
  } catch (...) {
    return 3;
  }
  return 0;
}

void work_under(bool (*wanted)(), int n_threads, std::atomic<int>& done) {
  dcomp::StopWatch watch(wanted);
  const dcomp::StopScope scope(&watch, true);
  dcomp::parallel_for(n_threads, 200, [&](std::int64_t, int) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    dcomp::stop_point();
    ++done;
  });
}

}  // namespace

TEST(an_error_in_a_task_is_thrown_by_the_call) {
  for (const int n_threads : {1, 2, 5})
    for (const std::int64_t failing : {0, 7, 99}) {
      std::atomic<int> begun{0};
      const int kind = thrown_by([&] {
        dcomp::parallel_for(n_threads, 100, [&](std::int64_t t, int) {
          ++begun;
          if (t == failing) throw std::bad_alloc();
        });
      });
      CHECK(kind == 2);
      CHECK(begun > failing && begun <= 100);
    }
}

TEST(of_several_errors_one_is_thrown) {
  const auto fail = [](std::int64_t, int) { throw std::runtime_error("no"); };
  CHECK(thrown_by([&] { dcomp::parallel_for(4, 100, fail); }) == 3);
}

TEST(a_call_that_is_wanted_no_more_stops) {
  for (const int n_threads : {1, 3}) {
    std::atomic<int> done{0};
    CHECK(thrown_by([&] { work_under(always, n_threads, done); }) == 1);
    CHECK(done < 200);
    CHECK(dcomp::current_watch() == nullptr);
  }
}

TEST(a_call_that_nobody_stops_comes_to_its_end) {
  std::atomic<int> done{0};
  CHECK(thrown_by([&] { work_under(never, 3, done); }) == 0);
  CHECK(done == 200);
}

// The thread of the call has nothing left to do and waits; it is the one that is asked.
TEST(a_call_that_waits_for_its_threads_stops_too) {
  dcomp::StopWatch watch(always);
  const dcomp::StopScope scope(&watch, true);
  std::atomic<bool> caller_is_done{false}, other_has_begun{false};
  const int kind = thrown_by([&] {
    dcomp::parallel_for(2, 2, [&](std::int64_t, int worker) {
      if (worker == 0) {
        while (!other_has_begun) std::this_thread::yield();
        caller_is_done = true;
        return;
      }
      other_has_begun = true;
      while (true) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (caller_is_done) dcomp::stop_point();
      }
    });
  });
  CHECK(kind == 1);
}
