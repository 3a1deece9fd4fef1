#include "eval/cellsim/tcp_ends.hh"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::cellsim {
namespace {

constexpr size_t kChunk = 65'536;
constexpr Duration kRetryAfter = 10ms;

// As schemes::WebUser, which this folder may not include.
constexpr double kObjectTailExponent = 1.2;
constexpr double kObjectMinBytes = 50'000;
constexpr double kObjectMaxBytes = 5'000'000;
constexpr Duration kSilenceMean = 2s;
constexpr Duration kSilenceMax = 20s;

void sleep_until(TimePoint until, const runtime::MonotonicClock& clock) {
  const Duration absolute = clock.origin() + (until - kTimeZero);
  timespec time{};
  time.tv_sec = absolute / 1s;
  time.tv_nsec = (absolute % 1s).count();
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

/// Waits until the socket is ready for `events`; false at `end`.
bool wait_for(int fd, short events, TimePoint end, const runtime::MonotonicClock& clock) {
  while (true) {
    const Duration left = end == kNever ? Duration{1h} : end - clock.now();
    if (left <= Duration{}) {
      return false;
    }
    pollfd waiting{fd, events, 0};
    const timespec time{left / 1s, (left % 1s).count()};
    if (ppoll(&waiting, 1, &time, nullptr) > 0) {
      return true;
    }
  }
}

/// Closed without waiting for what was not sent (RST).
class Connection {
 public:
  explicit Connection(const TcpSource& source)
      : there_(*runtime::to_sockaddr(source.to, true)),
        socket_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)) {
    const linger at_once{1, 0};
    setsockopt(fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    const std::string& control = source.congestion_control;
    if (!control.empty() && setsockopt(fd(), IPPROTO_TCP, TCP_CONGESTION, control.c_str(),
                                       static_cast<socklen_t>(control.size())) != 0) {
      throw std::runtime_error("the kernel's TCP does not use " + control + ": " +
                               std::system_category().message(errno));
    }
  }
  int fd() const { return socket_.get(); }

  /// False when it failed: nobody listens yet, or the handshake's packets were all lost.
  bool connect(TimePoint end, const runtime::MonotonicClock& clock) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
    const auto* const there = reinterpret_cast<const sockaddr*>(&there_.storage);
    if (::connect(fd(), there, there_.size) == 0) {
      return true;
    }
    if (errno != EINPROGRESS || !wait_for(fd(), POLLOUT, end, clock)) {
      return false;
    }
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0;
  }

  /// False at `end` or when the connection is gone.
  bool send(uint64_t bytes, TimePoint end, const runtime::MonotonicClock& clock) {
    static const std::vector<char> zeros(kChunk);
    while (bytes > 0) {
      if (!wait_for(fd(), POLLOUT, end, clock)) {
        return false;
      }
      const size_t wanted = std::min<uint64_t>(bytes, zeros.size());
      const ssize_t sent = ::send(fd(), zeros.data(), wanted, MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return false;
      }
      bytes -= static_cast<uint64_t>(std::max<ssize_t>(sent, 0));
    }
    return true;
  }

  /// Everything was sent: until the other end has read it and closed.
  bool finish(TimePoint end, const runtime::MonotonicClock& clock) {
    shutdown(fd(), SHUT_WR);
    return wait_for(fd(), POLLIN, end, clock);
  }

 private:
  runtime::SocketAddress there_;
  runtime::FileDescriptor socket_;
};

uint64_t draw_object(Rng& rng) {
  const double share = std::pow(1 - rng.uniform(), -1 / kObjectTailExponent);
  return static_cast<uint64_t>(std::llround(std::min(kObjectMinBytes * share, kObjectMaxBytes)));
}

}  // namespace

void receive_tcp(const Address& address, std::atomic<uint64_t>& arrived) {
  const auto here = *runtime::to_sockaddr(address, true);
  const runtime::FileDescriptor listener{
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)};
  const int yes = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  const auto* const raw = reinterpret_cast<const sockaddr*>(&here.storage);
  if (bind(listener.get(), raw, here.size) != 0 || listen(listener.get(), SOMAXCONN) != 0) {
    return;
  }
  std::vector<char> bytes(kChunk);
  while (true) {
    const runtime::FileDescriptor connection{
        accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    for (ssize_t got = 1; got > 0;) {
      got = recv(connection.get(), bytes.data(), bytes.size(), 0);
      arrived += static_cast<uint64_t>(std::max<ssize_t>(got, 0));
    }
  }
}

void send_tcp(const TcpSource& source, const runtime::MonotonicClock& clock) {
  sleep_until(source.start, clock);
  while (clock.now() < source.end) {
    Connection connection{source};
    if (connection.connect(source.end, clock)) {
      connection.send(UINT64_MAX, source.end, clock);
    }
    sleep_until(clock.now() + kRetryAfter, clock);
  }
}

void send_web(const TcpSource& source, uint64_t seed, const runtime::MonotonicClock& clock) {
  Rng rng{seed};
  sleep_until(source.start, clock);
  while (clock.now() < source.end) {
    Connection connection{source};
    if (!connection.connect(source.end, clock)) {
      sleep_until(clock.now() + kRetryAfter, clock);
      continue;
    }
    if (!connection.send(draw_object(rng), source.end, clock) ||
        !connection.finish(source.end, clock)) {
      continue;
    }
    const Duration silence = from_seconds(rng.exponential(to_seconds(kSilenceMean)));
    sleep_until(std::min(clock.now() + std::min(silence, kSilenceMax), source.end), clock);
  }
}

}  // namespace cress::cellsim
