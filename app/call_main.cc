#include <dlfcn.h>
#include <malloc.h>
#include <string.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "app/commands.hh"
#include "transport/base/leak_check.hh"
#include "transport/process/own_secrets.hh"

#if defined(__SANITIZE_THREAD__)
#define CRESS_OWN_ALLOCATOR
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define CRESS_OWN_ALLOCATOR
#endif
#endif

#ifndef CRESS_LEAK_CHECK
// Links and secrets are copied from string to string before only keys are left of them, and what is
// pasted into a window goes through libraries of the desktop. What is freed here is overwritten
// first, so none of those copies stays in memory; larger blocks are media. A call frees some 12 000
// of these a second, at some 20 ns each.
namespace {
constexpr size_t kWipedMax = 8192;  // a field for a link, as Dear ImGui holds it, has 4101 bytes

void wipe(void* block) {
  const size_t size = malloc_usable_size(block);
  if (size > 0 && size <= kWipedMax) {
    explicit_bzero(block, size);
  }
}
}  // namespace

#ifdef CRESS_OWN_ALLOCATOR
// A sanitizer that has a `free` of its own: what C++ frees, at least.
void operator delete(void* block) noexcept {
  wipe(block);
  std::free(block);
}
void operator delete(void* block, size_t /*size*/) noexcept { ::operator delete(block); }
#else
// In front of those of the C library, or of what is preloaded, for all libraries of the process.
extern "C" {
void free(void* block) noexcept {
  static const auto next = reinterpret_cast<void (*)(void*)>(dlsym(RTLD_NEXT, "free"));
  wipe(block);
  next(block);
}
void* realloc(void* block, size_t size) noexcept {
  static const auto next = reinterpret_cast<void* (*)(void*, size_t)>(dlsym(RTLD_NEXT, "realloc"));
  const size_t before = malloc_usable_size(block);
  if (size < before && before <= kWipedMax) {
    explicit_bzero(static_cast<char*>(block) + size, before - size);
  }
  if (block == nullptr || size <= before || before > kWipedMax) {
    return next(block, size);
  }
  // It might be moved, and the old one left as it was.
  void* const larger = malloc(size);
  if (larger != nullptr) {
    memcpy(larger, block, before);
    free(block);
  }
  return larger;
}
}
#endif
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
