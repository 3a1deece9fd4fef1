#include "eval/cellsim/ends.hh"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <system_error>

#include "transport/base/check.hh"

namespace cress::cellsim {
namespace {

int open_socket() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    throw std::runtime_error("cannot make a socket: " + std::system_category().message(errno));
  }
  return fd;
}

bool take_name(int fd, int number) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "cress-cellsim-" + std::to_string(number);
  std::memcpy(address.sun_path + 1, name.data(), name.size());  // begins with 0: no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0;
}

Ends reserve(int fd, netns::RouteSocket& routes) {
  const std::vector<netns::Prefix> used = routes.addresses();
  for (int number = 0; number < Ends::kCount; ++number) {
    const Ends ends{number};
    const bool is_free = std::ranges::none_of(used, [&](const netns::Prefix& prefix) {
      return prefix.address == ends.far4().address || prefix.address == ends.near4().address;
    });
    if (is_free && take_name(fd, number)) {
      return ends;
    }
  }
  throw std::runtime_error(
      "all of 100.64.0.0/24 to 100.64.63.0/24 are used on this machine; end "
      "another cellsim, or use --far private");
}

}  // namespace

netns::Prefix Ends::ipv4(uint8_t last) const {
  netns::Prefix prefix;
  prefix.address.ip = {0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 100, 64, narrow<uint8_t>(number),
                       last};
  prefix.length = 30;
  return prefix;
}

netns::Prefix Ends::ipv6(uint8_t last) const {
  netns::Prefix prefix;
  prefix.address.ip = {0xfd, 'c', 'r', 'e', 's', 's', 0, narrow<uint8_t>(number),
                       0,    0,   0,   0,   0,   0,   0, last};
  prefix.length = 64;
  return prefix;
}

std::vector<netns::EnvironmentVariable> Ends::environment() const {
  return {{"CRESS_NEAR", address_text(near4())},
          {"CRESS_FAR", address_text(far4())},
          {"CRESS_NEAR6", address_text(near6())},
          {"CRESS_FAR6", address_text(far6())}};
}

std::string address_text(const netns::Prefix& prefix) {
  const std::string text = netns::format_prefix(prefix);
  return text.substr(0, text.find('/'));
}

ReservedEnds::ReservedEnds(netns::RouteSocket& routes)
    : name_(open_socket()), ends_(reserve(name_.get(), routes)) {}

}  // namespace cress::cellsim
