#include "transport/process/spare_memory.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace cress::runtime {
namespace {

int64_t resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  int64_t all = 0;
  int64_t resident = 0;
  file >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

/// Much memory of which all but a hundredth is free again, in pieces between used ones.
struct Holes {
  static constexpr size_t kPiece = 2000;
  static constexpr int64_t kTotal = 64 << 20;
  Holes() : pieces(kTotal / kPiece) {
    for (auto& piece : pieces) {
      piece = std::make_unique<std::string>(kPiece, 'x');
    }
    for (size_t i = 0; i < pieces.size(); ++i) {
      if (i % 100 != 0) {
        pieces[i].reset();
      }
    }
  }
  std::vector<std::unique_ptr<std::string>> pieces;
};

TEST(SpareMemory, FreeMemoryBetweenUsedBlocksIsReturned) {
#if !defined(__GLIBC__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "another allocator";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "another allocator";
#endif
#endif
  SpareMemory memory;
  {
    const Holes holes;
    const int64_t before = resident_bytes();
    memory.tick(kTimeZero);
    EXPECT_LT(resident_bytes(), before - Holes::kTotal / 2);
  }
  const Holes holes;
  const int64_t before = resident_bytes();
  memory.tick(kTimeZero + 60s - 1ns);
  EXPECT_GT(resident_bytes(), before - Holes::kTotal / 2) << "once a minute is enough";
  memory.tick(kTimeZero + 60s);
  EXPECT_LT(resident_bytes(), before - Holes::kTotal / 2);
}

}  // namespace
}  // namespace cress::runtime
