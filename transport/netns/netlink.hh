#pragma once

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "transport/runtime/file_descriptor.hh"

namespace cress::netns {

/// A message under construction: header, fixed body, attributes.
class NetlinkRequest {
 public:
  template <class Body>
  NetlinkRequest(uint16_t type, uint16_t flags, const Body& body) {
    put({NLMSG_LENGTH(0), type, static_cast<uint16_t>(NLM_F_REQUEST | flags), 0, 0});
    put(body);
  }

  template <class T>
  void add(uint16_t type, const T& value) {
    add_bytes(type, &value, sizeof value);
  }
  void add_bytes(uint16_t type, const void* bytes, size_t size) {
    put(rtattr{static_cast<unsigned short>(RTA_LENGTH(size)), type});
    append(bytes, size);
  }
  void add(uint16_t type, std::span<const uint8_t> bytes) {
    add_bytes(type, bytes.data(), bytes.size());
  }
  /// A number in network byte order, as netfilter requires.
  void add_big_endian(uint16_t type, uint32_t value) { add(type, htonl(value)); }
  void add_text(uint16_t type, const std::string& text) {
    add_bytes(type, text.c_str(), text.size() + 1);
  }
  /// Attributes added until end() are nested in this one.
  size_t begin(uint16_t type) {
    const size_t at = bytes_.size();
    put(rtattr{0, type});
    return at;
  }
  void end(size_t at);

  std::span<const char> finish(uint32_t sequence);

  /// Called with every message of the answer except the last, which carries only the status.
  std::function<void(const nlmsghdr&, std::span<const char> body)> on_message;

 private:
  void put(const nlmsghdr& header) { append(&header, sizeof header); }
  template <class T>
  void put(const T& value) {
    append(&value, sizeof value);
  }
  void append(const void* bytes, size_t size);

  std::vector<char> bytes_;
};

/// Requests to the kernel and their answers (netlink, RFC 3549). Errors: errno values, 0 for
/// success. Threads: none inside; one owner.
class NetlinkSocket {
 public:
  /// `protocol`: NETLINK_ROUTE, ... Throws std::runtime_error.
  static NetlinkSocket open(int protocol);
  /// Takes ownership of an open socket.
  explicit NetlinkSocket(int fd) : fd_(fd) {}

  /// One request, which asks for an acknowledgement or for a dump.
  int exchange(NetlinkRequest& request);
  /// Several requests that are applied together or not at all; returns the first error among those
  /// that ask for an acknowledgement.
  int exchange_all(std::span<NetlinkRequest> requests);
  int handle() const { return fd_.get(); }

 private:
  int receive(NetlinkRequest* request, uint32_t sequence, bool is_dump);

  runtime::FileDescriptor fd_;
  uint32_t sequence_ = 0;
};

/// Calls back with every attribute in `bytes`, bounds checked.
void for_each_attribute(std::span<const char> bytes,
                        const std::function<void(int type, std::span<const char>)>& callback);

}  // namespace cress::netns
