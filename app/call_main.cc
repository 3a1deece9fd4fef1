#include <malloc.h>
#include <string.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>

#include "app/commands.hh"
#include "transport/base/leak_check.hh"
#include "transport/process/own_secrets.hh"

#ifndef CRESS_LEAK_CHECK
// Links and secrets are copied from string to string before only keys are left of them. What is
// freed here is overwritten first, so none of those copies stays in memory; larger blocks are media
// and datagrams. Costs some 10 ns for each.
void operator delete(void* block) noexcept {
  constexpr size_t kWipedMax = 1024;  // a link has at most 512 characters
  if (const size_t size = malloc_usable_size(block); size <= kWipedMax) {
    explicit_bzero(block, size);
  }
  std::free(block);
}
void operator delete(void* block, size_t /*size*/) noexcept { ::operator delete(block); }
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
