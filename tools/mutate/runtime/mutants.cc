// Linked into every program of a build with mutants.
//   CRESS_MUTANT          the id of the mutant that is on
//   CRESS_MUTANTS_REACHED a file of kMutantsMax bytes, shared with child processes: which places
//   were passed
//   CRESS_MUTANT_PROCESSES a file of two numbers of 32 bits, shared with child processes: how many
//   were started, and how many may be. Programs that start each other without end are then so many
//   that nothing that looks at them gets to run, so the one too many ends its group.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace {
constexpr int kMutantsMax = 65'536;
unsigned char nobody_asks[kMutantsMax];

struct Processes {
  std::atomic<std::uint32_t> started;
  std::uint32_t max;
};
Processes* processes = nullptr;

void* shared(const char* name, std::size_t size) {
  const char* path = std::getenv(name);
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return nullptr;
  }
  void* const map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return map == MAP_FAILED ? nullptr : map;
}

void count_process() {
  if (processes->started.fetch_add(1) >= processes->max) {
    kill(0, SIGKILL);
  }
}
}  // namespace

extern "C" {
int cress_mutant_on = 0;
unsigned char* cress_mutants_reached = nobody_asks;

// Before the program's own static objects, whose constructors may hold mutants.
__attribute__((constructor(101))) void cress_mutants_begin() {
  if (const char* id = std::getenv("CRESS_MUTANT")) {
    cress_mutant_on = std::atoi(id);
  }
  if (void* const map = shared("CRESS_MUTANTS_REACHED", kMutantsMax)) {
    cress_mutants_reached = static_cast<unsigned char*>(map);
  }
  if (void* const map = shared("CRESS_MUTANT_PROCESSES", sizeof(Processes))) {
    processes = static_cast<Processes*>(map);
    pthread_atfork(nullptr, nullptr, count_process);
    count_process();
  }
}
}
