#include <malloc.h>
#include <string.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "app/commands.hh"
#include "transport/base/leak_check.hh"
#include "transport/process/own_secrets.hh"

#if defined(__GLIBC__) && !defined(CRESS_LEAK_CHECK)
// Links and secrets are copied from string to string before only keys are left of them, and what is
// pasted into a window goes through libraries of the desktop. What is freed here, by them too, is
// overwritten first, so none of those copies stays in memory; larger blocks are media. Costs some
// 10 ns for each. The two functions are all that a library needs for it; the rest is glibc's.
namespace {
constexpr size_t kWipedMax = 4096;  // a field for a link, as Dear ImGui holds it, has 2050 bytes
}
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier)
void __libc_free(void* block) noexcept;
void* __libc_realloc(void* block, size_t size) noexcept;
// NOLINTEND(bugprone-reserved-identifier)

void free(void* block) noexcept {
  if (const size_t size = malloc_usable_size(block); size <= kWipedMax) {
    explicit_bzero(block, size);
  }
  __libc_free(block);
}
void* realloc(void* block, size_t size) noexcept {
  const size_t before = malloc_usable_size(block);
  if (block == nullptr || size == 0 || size <= before || before > kWipedMax) {
    return __libc_realloc(block, size);
  }
  // glibc might move it and leave the old one as it was.
  void* const larger = malloc(size);
  if (larger != nullptr) {
    memcpy(larger, block, before);
    free(block);
  }
  return larger;
}
}
#endif

int main(int argc, char** argv) {
  cress::runtime::refuse_core_dumps();
  // A link passes through both, and their buffers would keep it.
  std::setvbuf(stdin, nullptr, _IONBF, 0);
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  cress::runtime::OwnArguments own{argc, argv};
  return cress::app::run_command_line(own.count(), own.values(), std::cin, std::cout, std::cerr,
                                      [&] { own.forget(); });
}
