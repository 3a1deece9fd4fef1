// Added to a folder's test program in a build with mutants: which test passes which mutants.
//   CRESS_MUTANTS_LOG  a new file that gets one line a test: name, milliseconds, ids; by tabs
// Where a test runs its own program again, that run finds the file there and adds nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kMutantsMax = 65'536;

class MutantListener : public testing::EmptyTestEventListener {
 public:
  explicit MutantListener(const char* path) : log_{std::fopen(path, "wx")} {}

  void OnTestEnd(const testing::TestInfo& test) override {
    if (log_ == nullptr) {
      return;
    }
    std::fprintf(log_, "%s.%s\t%lld\t%s\t", test.test_suite_name(), test.name(),
                 static_cast<long long>(test.result()->elapsed_time()),
                 test.result()->Failed() ? "failed" : "passed");
    for (int id = 1; id < kMutantsMax; ++id) {
      if (cress_mutants_reached[id] != 0) {
        std::fprintf(log_, "%d ", id);
      }
    }
    std::fprintf(log_, "\n");
    std::fflush(log_);
    std::memset(cress_mutants_reached, 0, kMutantsMax);
  }

 private:
  std::FILE* log_;
};

const bool kListens = [] {
  if (const char* path = std::getenv("CRESS_MUTANTS_LOG")) {
    testing::UnitTest::GetInstance()->listeners().Append(new MutantListener{path});
  }
  return true;
}();

}  // namespace
