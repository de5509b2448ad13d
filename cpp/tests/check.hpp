// The smallest test frame that serves: cases register themselves, a failed check is printed and
// counted, and the case goes on.
#pragma once

#include <string>
#include <vector>

namespace dcomp::test {

struct Case {
  const char* name;
  void (*run)();
};
std::vector<Case>& cases();

struct Registration {
  Registration(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

void fail(const char* file, int line, const std::string& what);
// |actual - expected| <= tolerance; false for NaN.
bool close(double actual, double expected, double tolerance);
std::string comparison(const char* text, double actual, double expected, double tolerance);

// The command that started this program, for the case that has to start it again.
const std::string& program();

}  // namespace dcomp::test

#define TEST(name)                                                        \
  static void name();                                                     \
  static const ::dcomp::test::Registration register_##name(#name, &name); \
  static void name()

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) ::dcomp::test::fail(__FILE__, __LINE__, "" #condition); \
  } while (false)

#define CHECK_CLOSE(actual, expected, tolerance)                                                   \
  do {                                                                                             \
    const double actual_ = static_cast<double>(actual), expected_ = static_cast<double>(expected); \
    const double tolerance_ = static_cast<double>(tolerance);                                      \
    if (!::dcomp::test::close(actual_, expected_, tolerance_))                                     \
      ::dcomp::test::fail(__FILE__, __LINE__,                                                      \
                          ::dcomp::test::comparison(#actual, actual_, expected_, tolerance_));     \
  } while (false)
