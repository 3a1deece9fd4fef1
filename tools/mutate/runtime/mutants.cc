// Linked into every program of a build with mutants.
//   CRESS_MUTANT          the id of the mutant that is on
//   CRESS_MUTANTS_REACHED a file of kMutantsMax bytes, shared with child processes: which places
//   were passed
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace {
constexpr int kMutantsMax = 65'536;
unsigned char nobody_asks[kMutantsMax];
}  // namespace

extern "C" {
int cress_mutant_on = 0;
unsigned char* cress_mutants_reached = nobody_asks;

// Before the program's own static objects, whose constructors may hold mutants.
__attribute__((constructor(101))) void cress_mutants_begin() {
  if (const char* id = std::getenv("CRESS_MUTANT")) {
    cress_mutant_on = std::atoi(id);
  }
  if (const char* path = std::getenv("CRESS_MUTANTS_REACHED")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void* const map = file < 0
                          ? MAP_FAILED
                          : mmap(nullptr, kMutantsMax, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) {
      cress_mutants_reached = static_cast<unsigned char*>(map);
    }
    close(file);
  }
}
}
