#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/socket_address.hh"
#include "transport/sim/trace.hh"

/// For tests: programs for the two ends of a link, as functions that return an exit code, and a
/// reader of its logs.
namespace cress::cellsim {

/// 1500 bytes every `step`.
inline std::shared_ptr<const sim::DeliveryTrace> every(Duration step, int at_once = 1) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (int i = 0; i < at_once; ++i) {
    trace->opportunities.push_back({step});
  }
  return trace;
}

inline std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "" : value;
}

inline void sleep_for(Duration time) { std::this_thread::sleep_for(time); }

/// An address for system calls; its family decides the socket's.
struct Endpoint {
  explicit Endpoint(const std::string& text)
      : address(*runtime::parse_address(text)),
        is_ipv4(address.is_ipv4()),
        socket_address(*runtime::to_sockaddr(address, is_ipv4)) {}
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&socket_address.storage); }
  int open(int type) const { return ::socket(is_ipv4 ? AF_INET : AF_INET6, type, 0); }

  Address address;
  bool is_ipv4;
  runtime::SocketAddress socket_address;
};

inline int complain(const char* what) {
  std::perror(what);
  return 1;
}

inline void wait_at_most(int fd, Duration time) {
  timeval patience{};
  patience.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  patience.tv_usec = std::chrono::duration_cast<std::chrono::microseconds>(time % 1s).count();
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

/// Returns every datagram to its sender, until killed.
inline int echo_datagrams(const std::string& at) {
  const Endpoint here{at};
  const int fd = here.open(SOCK_DGRAM);
  if (bind(fd, here.raw(), here.socket_address.size) != 0) {
    return complain("bind");
  }
  std::vector<char> bytes(65'536);
  while (true) {
    sockaddr_storage from{};
    socklen_t from_size = sizeof from;
    const ssize_t size =
        recvfrom(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), &from_size);
    if (size < 0) {
      return complain("recvfrom");
    }
    sendto(fd, bytes.data(), static_cast<size_t>(size), 0, reinterpret_cast<sockaddr*>(&from),
           from_size);
  }
}

/// Sends `count` datagrams, each after the answer to the one before; each answer must take between
/// `least` and `most`.
inline int ping_datagrams(const std::string& to, int count, Duration least, Duration most) {
  const runtime::MonotonicClock clock;
  const Endpoint there{to};
  const int fd = there.open(SOCK_DGRAM);
  wait_at_most(fd, 2s);
  for (int i = 0; i < count; ++i) {
    const TimePoint sent = clock.now();
    std::vector<char> bytes(100);
    if (sendto(fd, bytes.data(), bytes.size(), 0, there.raw(), there.socket_address.size) < 0 ||
        recv(fd, bytes.data(), bytes.size(), 0) < 0) {
      return complain("ping");
    }
    const Duration took = clock.now() - sent;
    if (took < least || took > most) {
      std::fprintf(stderr, "an answer took %.1f ms\n", to_milliseconds(took));
      return 2;
    }
  }
  return 0;
}

/// Sends `count` datagrams of `size` bytes, one every `interval` by the clock (0: all at once), and
/// waits `rest` for those in transit.
inline int flood(const std::string& to, int count, size_t size, Duration interval,
                 Duration rest = 100ms) {
  const runtime::MonotonicClock clock;
  const Endpoint there{to};
  const int fd = there.open(SOCK_DGRAM);
  const std::vector<char> bytes(size);
  const TimePoint begin = clock.now();
  for (int i = 0; i < count; ++i) {
    const Duration early = begin + i * interval - clock.now();
    if (early > Duration{}) {
      sleep_for(early);
    }
    if (sendto(fd, bytes.data(), bytes.size(), 0, there.raw(), there.socket_address.size) < 0 &&
        errno != ECONNREFUSED) {
      return complain("sendto");
    }
  }
  sleep_for(rest);
  return 0;
}

/// The other end must report, no sooner than `least`, that the port is closed.
inline int expect_refusal(const std::string& to, Duration least) {
  const runtime::MonotonicClock clock;
  const Endpoint there{to};
  const int fd = there.open(SOCK_DGRAM);
  wait_at_most(fd, 2s);
  char byte = 0;
  const TimePoint sent = clock.now();
  if (connect(fd, there.raw(), there.socket_address.size) != 0 || send(fd, &byte, 1, 0) != 1) {
    return complain("send");
  }
  if (recv(fd, &byte, 1, 0) >= 0 || errno != ECONNREFUSED) {
    return complain("no refusal");
  }
  return clock.now() - sent >= least ? 0 : 2;
}

/// Linux's default buffers; other machines may have other settings.
inline void set_tcp_buffers() {
  std::ofstream{"/proc/sys/net/ipv4/tcp_rmem"} << "4096 131072 6291456";
  std::ofstream{"/proc/sys/net/ipv4/tcp_wmem"} << "4096 16384 4194304";
}

/// Receives one stream to its end; `on_bytes` gets the number of bytes, and the time since the
/// connection.
inline int sink_stream(
    const std::string& at,
    const std::function<void(Duration, DataSize)>& on_bytes = [](Duration, DataSize) {}) {
  set_tcp_buffers();
  const runtime::MonotonicClock clock;
  const Endpoint here{at};
  const int listener = here.open(SOCK_STREAM);
  if (bind(listener, here.raw(), here.socket_address.size) != 0 || listen(listener, 1) != 0) {
    return complain("listen");
  }
  const int fd = accept(listener, nullptr, nullptr);
  const TimePoint begin = clock.now();
  std::vector<char> bytes(1 << 16);
  for (ssize_t size = 0; (size = recv(fd, bytes.data(), bytes.size(), 0)) > 0;) {
    on_bytes(clock.now() - begin, DataSize{size});
  }
  return 0;
}

/// Fills a stream with the kernel's Cubic.
inline int send_stream(const std::string& to, Duration length) {
  set_tcp_buffers();
  const runtime::MonotonicClock clock;
  const TimePoint end = clock.now() + length;
  const Endpoint there{to};
  const int fd = there.open(SOCK_STREAM);
  // A network namespace of our own may use settings that its machine restricts for others.
  constexpr std::string_view kCubic = "cubic";
  if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kCubic.data(), kCubic.size()) != 0) {
    return complain("cubic");
  }
  timeval patience{0, 100'000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  while (connect(fd, there.raw(), there.socket_address.size) != 0) {
    if (errno != EINPROGRESS && errno != EALREADY) {
      return complain("connect");
    }
  }
  const std::vector<char> bytes(1 << 16);
  while (clock.now() < end) {
    if (send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0 && errno != EAGAIN) {
      return complain("send");
    }
  }
  return 0;
}

/// The parsed lines of a log.
struct LoggedLink {
  bool has_head = false;
  bool is_in_order = true;
  int64_t packets_in = 0, packets_out = 0, packets_dropped = 0, opportunities = 0;
  int64_t bytes_out = 0;
  int64_t waited_ms_max = 0;
};

inline LoggedLink read_log(const std::filesystem::path& path) {
  std::ifstream file{path};
  LoggedLink link;
  int64_t last = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) {
      link.has_head = link.has_head || line.starts_with("# base timestamp: 0");
      continue;
    }
    std::istringstream words{line};
    int64_t at = 0;
    int64_t amount = 0;
    int64_t more = 0;
    std::string kind;
    words >> at >> kind >> amount;
    link.is_in_order = link.is_in_order && at >= last && !words.fail();
    last = at;
    words >> more;
    if (kind == "+") {
      ++link.packets_in;
    } else if (kind == "#") {
      ++link.opportunities;
    } else if (kind == "d") {
      link.packets_dropped += amount;
    } else if (kind == "-") {
      ++link.packets_out;
      link.bytes_out += amount;
      link.waited_ms_max = std::max(link.waited_ms_max, more);
    } else {
      link.is_in_order = false;
    }
  }
  return link;
}

}  // namespace cress::cellsim
