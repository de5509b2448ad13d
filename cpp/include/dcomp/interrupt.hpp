// How a long call is stopped from outside: Ctrl-C, or another thread that has no use for it.
//
// Work passes stop points. In the thread of the call these ask, a few times a second, whether
// somebody wants an end; in the threads that it has started they see what it was told. A stop point
// then throws, and the call is left as by any other error: what it has written so far is void.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>

#include "dcomp/stop_point.hpp"

namespace dcomp {

class Stopped : public std::exception {
 public:
  const char* what() const noexcept override { return "the call was stopped"; }
};

// Whether to stop; asked in the thread of the call alone.
using StopWanted = bool (*)();

class StopWatch {
 public:
  explicit StopWatch(StopWanted wanted);

  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
  // Asks if it is time to; in the thread of the call.
  bool ask();

  static constexpr std::chrono::milliseconds kEvery{50};

 private:
  StopWanted wanted_;
  std::chrono::steady_clock::time_point next_;
  std::atomic<bool> stopped_{false};
};

// While it lives, the stop points of this thread belong to a watch: to one of its own, with which
// it begins a call, or, in a thread that a call has started, to that of the call.
class StopScope {
 public:
  StopScope(StopWatch* watch, bool is_caller);
  ~StopScope();
  StopScope(const StopScope&) = delete;

 private:
  StopWatch* outer_;
  bool outer_is_caller_;
};

// The watch of this thread, null where nobody can stop it.
StopWatch* current_watch();

}  // namespace dcomp
