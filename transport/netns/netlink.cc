#include "transport/netns/netlink.hh"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "transport/base/check.hh"

namespace cress::netns {
namespace {

// The kernel's documentation recommends receive buffers of up to 32 KiB.
constexpr size_t kMessageMax = 32'768;

/// 0 or an error number if this is the last message of an answer.
std::optional<int> end_of_answer(const nlmsghdr& header, std::span<const char> body, bool is_dump) {
  if (header.nlmsg_type == NLMSG_ERROR && body.size() >= sizeof(int)) {
    int error = 0;
    std::memcpy(&error, body.data(), sizeof error);
    return -error;
  }
  return is_dump && header.nlmsg_type == NLMSG_DONE ? std::optional{0} : std::nullopt;
}

nlmsghdr head_of(std::span<const char> message) {
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

}  // namespace

void NetlinkRequest::end(size_t at) {
  const auto size = narrow<unsigned short>(bytes_.size() - at);
  std::memcpy(bytes_.data() + at, &size, sizeof size);
}

std::span<const char> NetlinkRequest::finish(uint32_t sequence) {
  nlmsghdr header = head_of(bytes_);
  header.nlmsg_len = narrow<uint32_t>(bytes_.size());
  header.nlmsg_seq = sequence;
  std::memcpy(bytes_.data(), &header, sizeof header);
  return bytes_;
}

void NetlinkRequest::append(const void* bytes, size_t size) {
  const size_t at = bytes_.size();
  bytes_.resize(at + NLMSG_ALIGN(size));
  std::memcpy(bytes_.data() + at, bytes, size);
}

NetlinkSocket NetlinkSocket::open(int protocol) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
  if (fd < 0) {
    throw std::runtime_error("cannot open netlink: " + std::system_category().message(errno));
  }
  return NetlinkSocket{fd};
}

int NetlinkSocket::exchange(NetlinkRequest& request) {
  const std::span<const char> question = request.finish(++sequence_);
  const bool is_dump = (head_of(question).nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
  if (send(fd_.get(), question.data(), question.size(), 0) < 0) {
    return errno;
  }
  return receive(&request, sequence_, is_dump);
}

int NetlinkSocket::exchange_all(std::span<NetlinkRequest> requests) {
  std::vector<char> all;
  std::vector<uint32_t> acknowledged;
  for (NetlinkRequest& request : requests) {
    const std::span<const char> question = request.finish(++sequence_);
    all.insert(all.end(), question.begin(), question.end());
    if ((head_of(question).nlmsg_flags & NLM_F_ACK) != 0) {
      acknowledged.push_back(sequence_);
    }
  }
  if (send(fd_.get(), all.data(), all.size(), 0) < 0) {
    return errno;
  }
  for (const uint32_t sequence : acknowledged) {
    if (const int error = receive(nullptr, sequence, false)) {
      return error;
    }
  }
  return 0;
}

int NetlinkSocket::receive(NetlinkRequest* request, uint32_t sequence, bool is_dump) {
  alignas(nlmsghdr) std::array<char, kMessageMax> buffer{};
  while (true) {
    const ssize_t size = recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    std::span<const char> rest{buffer.data(), static_cast<size_t>(size)};
    while (rest.size() >= sizeof(nlmsghdr)) {
      const nlmsghdr header = head_of(rest);
      if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest.size()) {
        return EBADMSG;
      }
      const auto body = rest.subspan(sizeof header, header.nlmsg_len - sizeof header);
      rest = rest.subspan(std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
      const auto end = end_of_answer(header, body, is_dump);
      if (end.value_or(0) != 0 || (end && header.nlmsg_seq == sequence)) {
        return *end;
      }
      if (header.nlmsg_seq == sequence && request != nullptr && request->on_message) {
        request->on_message(header, body);
      }
    }
  }
}

/// Calls back with every attribute in `bytes`, bounds checked.
void for_each_attribute(std::span<const char> bytes,
                        const std::function<void(int type, std::span<const char>)>& callback) {
  while (bytes.size() >= sizeof(rtattr)) {
    rtattr attribute{};
    std::memcpy(&attribute, bytes.data(), sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > bytes.size()) {
      return;
    }
    callback(attribute.rta_type,
             bytes.subspan(sizeof attribute, attribute.rta_len - sizeof attribute));
    bytes = bytes.subspan(std::min<size_t>(RTA_ALIGN(attribute.rta_len), bytes.size()));
  }
}

}  // namespace cress::netns
