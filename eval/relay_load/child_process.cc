#include "eval/relay_load/child_process.hh"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <system_error>

namespace cress::relay_load {

ChildProcess::ChildProcess(const std::function<void()>& be) : pid_(fork()) {
  if (pid_ < 0) {
    throw std::runtime_error("no process: " + std::generic_category().message(errno));
  }
  if (pid_ > 0) {
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    be();
  } catch (const std::exception& error) {
    (void)!write(STDERR_FILENO, error.what(), std::strlen(error.what()));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
  }
  _exit(0);
}

ChildProcess::~ChildProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace cress::relay_load
