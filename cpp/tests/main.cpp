#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include "check.hpp"
#include "dcomp/dispatch.hpp"
#include "small_fit.hpp"

namespace dcomp::test {

namespace {

constexpr int kShownPerCase = 5;
int failures_of_case = 0;
std::string started_as;

}  // namespace

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

void fail(const char* file, int line, const std::string& what) {
  if (++failures_of_case <= kShownPerCase) std::printf("  %s:%d: %s\n", file, line, what.c_str());
}

bool close(double actual, double expected, double tolerance) {
  return std::abs(actual - expected) <= tolerance;
}

std::string comparison(const char* text, double actual, double expected, double tolerance) {
  char line[256];
  std::snprintf(line, sizeof line, "%s is %.17g, expected %.17g within %.3g", text, actual,
                expected, tolerance);
  return line;
}

const std::string& program() { return started_as; }

bool passes(const Case& test) {
  failures_of_case = 0;
  try {
    test.run();
  } catch (const std::exception& error) {
    fail(test.name, 0, std::string("threw ") + error.what());
  }
  std::printf("%s %s\n", failures_of_case == 0 ? "ok    " : "FAILED", test.name);
  if (failures_of_case > kShownPerCase)
    std::printf("  %d checks failed, the first %d shown\n", failures_of_case, kShownPerCase);
  std::fflush(stdout);
  return failures_of_case == 0;
}

}  // namespace dcomp::test

// Without arguments: every case. --small-fit: the numbers of a small fit, one per line, for the
// case that compares instruction sets.
int main(int argc, char** argv) {
  using namespace dcomp::test;
  started_as = argv[0];
  if (argc == 2 && std::strcmp(argv[1], "--small-fit") == 0) {
    for (const double value : small_fit()) std::printf("%.17g\n", value);
    return 0;
  }
  std::printf("instruction set: %s\n", dcomp::instruction_set().name);
  int passed = 0, failed = 0;
  for (const Case& test : cases()) ++(passes(test) ? passed : failed);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
