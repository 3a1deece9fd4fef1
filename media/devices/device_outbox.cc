#include "media/devices/device_outbox.hh"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace cress::media {

ReadySignal::ReadySignal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw std::runtime_error("the system gives no event descriptor: " +
                             std::generic_category().message(errno));
  }
}

ReadySignal::~ReadySignal() { ::close(fd_); }

void ReadySignal::set() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then the descriptor is readable as it should be.
  [[maybe_unused]] const ssize_t written = ::write(fd_, &one, sizeof one);
}

void ReadySignal::clear() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof count);  // fails when it is clear
}

}  // namespace cress::media
