#include "transport/runtime/network_watch.hh"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/runtime/clock.hh"
#include "transport/runtime/file_descriptor.hh"

namespace cress::runtime {
namespace {

// rtnetlink's documentation recommends receive buffers of 8 KiB to 32 KiB: one part of a dump fits.
constexpr size_t kMessageMax = 32'768;
// On a machine with more addresses repetitions are reported too.
constexpr size_t kAddressesMax = 4096;
constexpr Duration kSleepCheckInterval = 1s;

int opened(int fd, const char* what) {
  if (fd < 0) {
    throw std::runtime_error(std::string{"cannot "} + what +
                             " to watch the network: " + std::system_category().message(errno));
  }
  return fd;
}

/// One address of one interface: family, interface, prefix length, bytes.
using LocalAddress = std::tuple<uint8_t, uint32_t, uint8_t, IpBytes>;

struct AddressNews {
  LocalAddress address;
  bool usable = false;  // IPv6 first asks the neighbours whether the address is free
};

AddressNews read_address(const nlmsghdr& message) {
  ifaddrmsg body{};
  std::memcpy(&body, NLMSG_DATA(&message), sizeof body);
  AddressNews news{{body.ifa_family, body.ifa_index, body.ifa_prefixlen, {}}, true};
  uint32_t flags = body.ifa_flags;
  auto rest = static_cast<unsigned>(IFA_PAYLOAD(&message));
  const char* head = static_cast<const char*>(NLMSG_DATA(&message)) + NLMSG_ALIGN(sizeof body);
  while (rest >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, head, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > rest) {
      break;
    }
    const char* payload = head + RTA_LENGTH(0);
    const size_t size = attribute.rta_len - RTA_LENGTH(0);
    if (attribute.rta_type == IFA_ADDRESS || attribute.rta_type == IFA_LOCAL) {
      auto& bytes = std::get<3>(news.address);
      std::memcpy(bytes.data(), payload, std::min(size, bytes.size()));
    } else if (attribute.rta_type == IFA_FLAGS && size >= sizeof flags) {
      std::memcpy(&flags, payload, sizeof flags);
    }
    const auto step = static_cast<unsigned>(RTA_ALIGN(attribute.rta_len));
    if (step > rest) {
      break;
    }
    head += step;
    rest -= step;
  }
  news.usable = (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) == 0;
  return news;
}

/// Routes that come and go with addresses, or that the kernel keeps only for itself, are not
/// reported.
bool is_real_route(const nlmsghdr& message) {
  rtmsg body{};
  if (message.nlmsg_len < NLMSG_LENGTH(sizeof body)) {
    return false;
  }
  std::memcpy(&body, NLMSG_DATA(&message), sizeof body);
  return body.rtm_table != RT_TABLE_LOCAL && (body.rtm_flags & RTM_F_CLONED) == 0 &&
         body.rtm_type != RTN_MULTICAST;
}

}  // namespace

class NetworkWatch::Impl {
 public:
  Impl(EventLoop& loop, std::function<void(const NetworkChange&)> on_change)
      : loop_(loop),
        on_change_(std::move(on_change)),
        netlink_(opened(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE),
                        "open netlink")),
        // This clock continues during suspend, so that the timer is due the moment the machine
        // resumes.
        sleep_timer_(
            opened(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "make a timer")),
        sleep_(MonotonicClock::slept()),
        buffer_(kMessageMax) {
    subscribe();
    start_timer();
    loop_.on_readable(netlink_.get(), [this] { read_news(); });
    loop_.on_readable(sleep_timer_.get(), [this] { look_for_sleep(); });
  }
  ~Impl() {
    loop_.forget(netlink_.get());
    loop_.forget(sleep_timer_.get());
  }

 private:
  void subscribe() {
    sockaddr_nl self{};
    self.nl_family = AF_NETLINK;
    self.nl_groups =
        RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
    if (bind(netlink_.get(), reinterpret_cast<const sockaddr*>(&self), sizeof self) != 0) {
      throw std::runtime_error("cannot watch the network: " +
                               std::system_category().message(errno));
    }
    // The current addresses: received like changes, and known when they are repeated.
    struct {
      nlmsghdr header;
      ifaddrmsg body;
    } request{};  // AF_UNSPEC: of every family
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = RTM_GETADDR;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (send(netlink_.get(), &request, sizeof request, 0) < 0) {
      throw std::runtime_error("cannot ask for this machine's addresses: " +
                               std::system_category().message(errno));
    }
  }

  void start_timer() {
    itimerspec every{};
    every.it_interval.tv_sec =
        std::chrono::duration_cast<std::chrono::seconds>(kSleepCheckInterval).count();
    every.it_value = every.it_interval;
    timerfd_settime(sleep_timer_.get(), 0, &every, nullptr);
  }

  void look_for_sleep() {
    uint64_t ticks = 0;
    if (read(sleep_timer_.get(), &ticks, sizeof ticks) < 0) {
      return;
    }
    const Duration slept = sleep_.update(MonotonicClock::slept());
    if (slept > Duration{}) {
      on_change_({.slept = slept});
    }
  }

  void read_news() {
    // One burst is one change; a flood of them still lets others run in between.
    constexpr int kReadsMax = 64;
    NetworkChange change;
    for (int i = 0; i < kReadsMax; ++i) {
      sockaddr_nl from{};
      socklen_t from_size = sizeof from;
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the sockets API
      const ssize_t size = recvfrom(netlink_.get(), buffer_.data(), buffer_.size(), 0,
                                    reinterpret_cast<sockaddr*>(&from), &from_size);
      if (size < 0) {
        if (errno != ENOBUFS) {
          break;
        }
        change.addresses = change.routes =
            true;  // the kernel dropped some: anything may have changed
        continue;
      }
      if (from.nl_pid == 0) {  // the kernel's, no other program's
        read_messages(static_cast<size_t>(size), change);
      }
    }
    if (change != NetworkChange{}) {
      on_change_(change);
    }
  }

  void read_messages(size_t size, NetworkChange& change) {
    const char* head = buffer_.data();
    while (size >= sizeof(nlmsghdr)) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): aligned as netlink aligns
      const auto& message = *reinterpret_cast<const nlmsghdr*>(head);
      if (message.nlmsg_len < sizeof message || message.nlmsg_len > size) {
        return;
      }
      read_message(message, change);
      const size_t step = NLMSG_ALIGN(message.nlmsg_len);
      if (step >= size) {
        return;
      }
      head += step;
      size -= step;
    }
  }

  void read_message(const nlmsghdr& message, NetworkChange& change) {
    switch (message.nlmsg_type) {
      case RTM_NEWADDR:
      case RTM_DELADDR:
        if (message.nlmsg_len >= NLMSG_LENGTH(sizeof(ifaddrmsg))) {
          note_address(message, change);
        }
        break;
      case RTM_NEWROUTE:
      case RTM_DELROUTE:
        change.routes = change.routes || is_real_route(message);
        break;
      default:
        break;
    }
  }

  void note_address(const nlmsghdr& message, NetworkChange& change) {
    const AddressNews news = read_address(message);
    const bool is_answer = (message.nlmsg_flags & NLM_F_MULTI) != 0;  // to our first question
    if (message.nlmsg_type == RTM_DELADDR) {
      addresses_.erase(news.address);
      change.addresses = true;
      return;
    }
    const auto known = addresses_.find(news.address);
    const bool is_new = known == addresses_.end() || known->second != news.usable;
    if (known != addresses_.end()) {
      known->second = news.usable;
    } else if (addresses_.size() < kAddressesMax) {
      addresses_.emplace(news.address, news.usable);
    }
    change.addresses = change.addresses || (is_new && !is_answer);
  }

  EventLoop& loop_;
  std::function<void(const NetworkChange&)> on_change_;
  FileDescriptor netlink_;
  FileDescriptor sleep_timer_;
  SleepDetector sleep_;
  std::vector<char> buffer_;
  std::map<LocalAddress, bool> addresses_;  // and whether each is usable
};

NetworkWatch::NetworkWatch(EventLoop& loop, std::function<void(const NetworkChange&)> on_change)
    : impl_(std::make_unique<Impl>(loop, std::move(on_change))) {}
NetworkWatch::~NetworkWatch() = default;

}  // namespace cress::runtime
