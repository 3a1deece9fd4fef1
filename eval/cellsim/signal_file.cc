#include "eval/cellsim/signal_file.hh"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace cress::cellsim {
namespace {

int block_and_open(sigset_t& before) {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&wanted, number);
  }
  const int fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) {
    throw std::runtime_error("cannot watch for signals: " + std::system_category().message(errno));
  }
  pthread_sigmask(SIG_BLOCK, &wanted, &before);
  return fd;
}

}  // namespace

SignalFile::SignalFile() : fd_(block_and_open(before_)) {}

SignalFile::~SignalFile() {
  while (poll_signal()) {  // signals at the very end have been answered by ending
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<SignalFile::Signal> SignalFile::poll_signal() {
  signalfd_siginfo info{};
  if (read(fd_.get(), &info, sizeof info) != static_cast<ssize_t>(sizeof info)) {
    return std::nullopt;
  }
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

}  // namespace cress::cellsim
