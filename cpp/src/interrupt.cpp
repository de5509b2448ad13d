#include "dcomp/interrupt.hpp"

namespace dcomp {

namespace {

struct Mine {
  StopWatch* watch = nullptr;
  bool is_caller = false;
  std::int64_t work = 0;  // since the clock was last looked at
};
thread_local Mine mine;

}  // namespace

StopWatch::StopWatch(StopWanted wanted)
    : wanted_(wanted), next_(std::chrono::steady_clock::now() + kEvery) {}

bool StopWatch::ask() {
  if (stopped()) return true;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + kEvery;
  if (wanted_()) stopped_.store(true, std::memory_order_relaxed);
  return stopped();
}

StopScope::StopScope(StopWatch* watch, bool is_caller)
    : outer_(mine.watch), outer_is_caller_(mine.is_caller) {
  mine.watch = watch;
  mine.is_caller = is_caller;
}

StopScope::~StopScope() {
  mine.watch = outer_;
  mine.is_caller = outer_is_caller_;
}

StopWatch* current_watch() { return mine.watch; }

void stop_point(std::int64_t work) {
  Mine& here = mine;
  if ((here.work += work) < kMuchWork) return;
  here.work = 0;
  if (here.watch == nullptr) return;
  if (here.is_caller ? here.watch->ask() : here.watch->stopped()) throw Stopped();
}

}  // namespace dcomp
