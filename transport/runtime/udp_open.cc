#include "transport/runtime/udp_open.hh"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "transport/base/check.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/own_address.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::runtime {
namespace {

/// "cannot WHAT ADDRESS: why; what to do"
[[noreturn]] void refuse(const std::string& what, const Address& address, int error) {
  std::string advice;
  switch (error) {
    case EADDRINUSE:
      advice = "; another program has this port: choose another, or 0 for any free one";
      break;
    case EADDRNOTAVAIL:
      advice =
          "; this machine has no such address: \"ip addr\" lists those it has, "
          "0.0.0.0 and [::] mean all of them";
      break;
    case EACCES:
    case EPERM:
      advice = "; choose a port from 1024 up, or allow this program lower ones";
      break;
    case EAFNOSUPPORT:
      advice = "; this machine has no IPv6: give an IPv4 address, 0.0.0.0 for all of them";
      break;
    case EMFILE:
    case ENFILE:
      advice = "; too many files are open: raise the limit (ulimit -n)";
      break;
    default:
      break;
  }
  throw std::runtime_error("cannot " + what + " UDP " + format_address(address) + ": " +
                           std::system_category().message(error) + advice);
}

OpenedUdp open_socket(const UdpSocketOptions& options) {
  constexpr int kType = SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
  if (!options.ipv4_only) {
    const int fd = socket(AF_INET6, kType, 0);
    if (fd >= 0) {
      return {.fd = FileDescriptor{fd}, .ipv4_only = false};
    }
    if (errno != EAFNOSUPPORT) {
      refuse("open", options.bind, errno);
    }
  }
  if (!options.bind.is_ipv4() && is_specific(options.bind)) {
    refuse("open", options.bind, EAFNOSUPPORT);
  }
  const int fd = socket(AF_INET, kType, 0);
  if (fd < 0) {
    refuse("open", options.bind, errno);
  }
  return {.fd = FileDescriptor{fd}, .ipv4_only = true};
}

class Opening {
 public:
  explicit Opening(const UdpSocketOptions& options)
      : options_(options), opened_(open_socket(options)) {}
  OpenedUdp run();

 private:
  void set(int level, int name, int value, const char* what);
  void set_buffers();
  void set_filter(const FirstBytes& allowed);
  void bind_address();

  const UdpSocketOptions& options_;
  OpenedUdp opened_;
};

OpenedUdp Opening::run() {
  opened_.tells_asked = options_.answer_from_asked && !is_specific(options_.bind);
  check(options_.datagram_max >= DataSize{1} && options_.datagram_max <= DataSize{65'535},
        "UdpSocket: datagram_max out of range");
  set(SOL_SOCKET, SO_TIMESTAMPNS, 1, "ask receive times of");
  set(SOL_SOCKET, SO_RXQ_OVFL, 1, "ask drops of");
  if (!opened_.ipv4_only) {
    set(IPPROTO_IPV6, IPV6_V6ONLY, 0, "allow IPv4 on");
    set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE, "forbid fragments of");
    set(IPPROTO_IPV6, IPV6_RECVERR, 1, "ask path errors of");
    set(IPPROTO_IPV6, IPV6_RECVTCLASS, 1, "ask marks of");
  }
  set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, "forbid fragments of");
  set(IPPROTO_IP, IP_RECVERR, 1, "ask path errors of");
  set(IPPROTO_IP, IP_RECVTOS, 1, "ask marks of");
  if (opened_.tells_asked) {
    // A dual-stack socket tells IPv4 destinations in the same message, as mapped addresses.
    set(opened_.ipv4_only ? IPPROTO_IP : IPPROTO_IPV6,
        opened_.ipv4_only ? IP_PKTINFO : IPV6_RECVPKTINFO, 1, "ask destinations of");
  }
  set_buffers();
  if (options_.first_bytes) {
    set_filter(*options_.first_bytes);  // before any datagram can come
  }
  bind_address();
  const int merges = 1;
  opened_.takes_merged =
      options_.takes_merged &&
      setsockopt(opened_.fd.get(), SOL_UDP, UDP_GRO, &merges, sizeof merges) == 0;  // Linux 5.0
  return std::move(opened_);
}

void Opening::set(int level, int name, int value, const char* what) {
  if (setsockopt(opened_.fd.get(), level, name, &value, sizeof value) != 0) {
    refuse(what, options_.bind, errno);
  }
}

void Opening::set_buffers() {
  const auto ask = [this](int force, int name, DataSize size) {
    const int bytes = narrow<int>(size.bytes());
    // Root may go beyond the machine's limit; anybody else is given the limit.
    if (setsockopt(opened_.fd.get(), SOL_SOCKET, force, &bytes, sizeof bytes) != 0) {
      set(SOL_SOCKET, name, bytes, "size the buffer of");
    }
  };
  ask(SO_RCVBUFFORCE, SO_RCVBUF, options_.receive_buffer);
  ask(SO_SNDBUFFORCE, SO_SNDBUF, options_.send_buffer);
}

void Opening::set_filter(const FirstBytes& allowed) {
  // Classic BPF over the datagram, which begins with its UDP header. A load beyond the end ends it
  // with 0, "not a byte of it".
  constexpr uint32_t kUdpHeader = 8;
  constexpr uint32_t kWhole = 0xFFFF'FFFF;
  const auto least = std::to_integer<uint32_t>(allowed.least);
  const auto most = std::to_integer<uint32_t>(allowed.most);
  std::array<sock_filter, 5> code{{
      {BPF_LD | BPF_B | BPF_ABS, 0, 0, kUdpHeader},
      {BPF_JMP | BPF_JGE | BPF_K, 0, 1, least},
      {BPF_JMP | BPF_JGT | BPF_K, 0, 1, most},
      {BPF_RET | BPF_K, 0, 0, 0},
      {BPF_RET | BPF_K, 0, 0, kWhole},
  }};
  const sock_fprog program{.len = static_cast<uint16_t>(code.size()), .filter = code.data()};
  if (setsockopt(opened_.fd.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0) {
    refuse("set the filter of", options_.bind, errno);
  }
}

void Opening::bind_address() {
  Address address = options_.bind;
  if (opened_.ipv4_only && !address.is_ipv4()) {  // all addresses: of the one family there is
    address.ip[10] = address.ip[11] = 0xff;
  }
  const auto where = to_sockaddr(address, opened_.ipv4_only);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  if (::bind(opened_.fd.get(), reinterpret_cast<const sockaddr*>(&where->storage), where->size) !=
      0) {
    refuse("bind", options_.bind, errno);
  }
}

}  // namespace

OpenedUdp open_udp(const UdpSocketOptions& options) { return Opening{options}.run(); }

}  // namespace cress::runtime
