// A native call and the interpreter: it works without the GIL, and ends early where Python has a
// signal waiting (Ctrl-C) or the thread that it serves was told to stop.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>

#include "dcomp/interrupt.hpp"

namespace dcomp::bindings {

namespace nb = nanobind;

// Tells native calls of other threads to stop. A thread that works under it says so (`with stop:`);
// its calls then raise KeyboardInterrupt soon after `request`.
class Stop {
 public:
  void request() { wanted_.store(true, std::memory_order_relaxed); }
  bool requested() const { return wanted_.load(std::memory_order_relaxed); }
  void enter();
  void exit();

 private:
  std::atomic<bool> wanted_{false};
};

// Whether the thread's Stop or a signal wants an end. A signal's handler has run then, and left its
// error set.
bool stop_wanted();

// Throws Stopped where the thread's Stop wants an end already: a thread that makes many short calls
// would come to its next look at the clock late, or never.
void require_going_on();

// For as long as native work takes.
class Released {
 public:
  Released() : Released((require_going_on(), 0)) {}

 private:
  explicit Released(int) : watch_(&stop_wanted), scope_(&watch_, true) {}

  nb::gil_scoped_release release_;
  StopWatch watch_;
  StopScope scope_;
};

void define_stop(nb::module_& m);

}  // namespace dcomp::bindings
