#include "transport/base/check.hh"

#include <cstdio>
#include <cstdlib>

namespace cress {

void check_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace cress
