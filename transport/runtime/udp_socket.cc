#include "transport/runtime/udp_socket.hh"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "transport/base/check.hh"
#include "transport/base/take_front.hh"
#include "transport/runtime/asked_addresses.hh"
#include "transport/runtime/control_messages.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/runtime/socket_address.hh"
#include "transport/runtime/udp_open.hh"

namespace cress::runtime {
namespace {

// Limits of one message that the kernel cuts into datagrams of one size (UDP_SEGMENT): it must fit
// an IP packet, and the kernel cuts no more than 64.
constexpr size_t kSegmentedBytesMax = 60'000;
// The maximum total of merged datagrams: an IP packet.
constexpr size_t kMergedBytesMax = 65'536;
static_assert(kBatchMax <= 64);
// A socket error and the address of the host that reported it.
constexpr size_t kErrorControlSize = 512;

PathError::Kind kind_of(uint32_t error) {
  switch (error) {
    case ECONNREFUSED:
      return PathError::Kind::kRefused;
    case EMSGSIZE:
      return PathError::Kind::kTooLarge;
    default:
      return PathError::Kind::kUnreachable;
  }
}

void count_failure(int error, SendReport& report) {
  ++report.taken;
  switch (error) {
    case EMSGSIZE:
      ++report.too_large;
      break;
    case ENOBUFS:
    case ENOMEM:
      ++report.no_buffer;
      break;
    default:
      // ENETUNREACH, EHOSTUNREACH, ENETDOWN, EADDRNOTAVAIL, EPERM from a firewall, EINVAL for an
      // invalid address, ...: whatever it is, the next route may be better.
      ++report.unroutable;
      break;
  }
}

}  // namespace

class UdpSocket::Impl {
 public:
  Impl(const MonotonicClock& clock, const UdpSocketOptions& options);

  ReceiveBatch receive(size_t count_max);
  SendReport send(std::span<const Transmit> datagrams);

  std::deque<PathError>& path_errors() { return path_errors_; }
  void forget_asked_addresses() { asked_.clear(); }
  Address local_address() const;
  bool is_ipv4_only() const { return ipv4_only_; }
  DataSize receive_buffer() const;
  uint64_t dropped_by_kernel() const { return dropped_by_kernel_; }
  uint64_t path_errors_dropped() const { return path_errors_dropped_; }
  int fd() const { return fd_.get(); }

 private:
  struct Slot {
    sockaddr_storage name{};
    iovec part{};
    alignas(cmsghdr) std::array<std::byte, kReceiveControlSize> control{};
  };
  struct SendSlot {
    SocketAddress to;
    size_t datagrams = 1;
    SentControl control;
  };

  Impl(OpenedUdp opened, const MonotonicClock& clock, const UdpSocketOptions& options);
  void count_drops(uint32_t counter);
  void take(const Address& from, TimePoint arrival, std::span<const std::byte> bytes, Ecn ecn,
            bool is_cut);
  size_t run_length(std::span<const Transmit> datagrams) const;
  size_t prepare(std::span<const Transmit> datagrams);
  void send_prepared(size_t count, SendReport& report);
  bool may_retry(msghdr& header, int error);
  size_t drain_errors();

  const MonotonicClock& clock_;
  UdpSocketOptions options_;
  FileDescriptor fd_;
  bool ipv4_only_;
  bool remembers_asked_;
  ArrivalClock arrivals_;
  // For kBatchMax parts; pages never written to cost nothing.
  std::unique_ptr<std::byte[]> buffer_;
  std::vector<Slot> slots_{kBatchMax};
  std::array<mmsghdr, kBatchMax> receive_headers_{};
  std::vector<ReceivedDatagram> received_;
  std::vector<SendSlot> send_slots_{kBatchMax};
  std::array<iovec, kBatchMax> send_parts_{};
  std::array<mmsghdr, kBatchMax> send_headers_{};
  bool may_cut_ = true;  // the kernel cuts messages into datagrams
  size_t singles_ = 0;   // the next so many datagrams go one by one
  AskedAddresses asked_;
  std::deque<PathError> path_errors_;
  uint64_t path_errors_dropped_ = 0;
  uint64_t dropped_by_kernel_ = 0;
  uint32_t drops_counter_ = 0;  // the kernel's, which wraps
};

UdpSocket::Impl::Impl(const MonotonicClock& clock, const UdpSocketOptions& options)
    : Impl(open_udp(options), clock, options) {}

UdpSocket::Impl::Impl(OpenedUdp opened, const MonotonicClock& clock,
                      const UdpSocketOptions& options)
    : clock_(clock),
      options_(options),
      fd_(std::move(opened.fd)),
      ipv4_only_(opened.ipv4_only),
      remembers_asked_(opened.tells_asked) {
  const size_t size =
      opened.takes_merged ? kMergedBytesMax : static_cast<size_t>(options_.datagram_max.bytes());
  buffer_ = std::make_unique_for_overwrite<std::byte[]>(size * kBatchMax);
  received_.reserve(kBatchMax);
  for (size_t i = 0; i < kBatchMax; ++i) {
    slots_[i].part = {buffer_.get() + i * size, size};
  }
}

Address UdpSocket::Impl::local_address() const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what the sockets API is made of
  check(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0,
        "UdpSocket: a bound socket without a name");
  return from_sockaddr(name).value_or(Address{});
}

DataSize UdpSocket::Impl::receive_buffer() const {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  getsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
  return DataSize{bytes / 2};
}

// Datagrams that arrived on two processors at once may be queued in another order than that in
// which they read the count: an older count is not new, and not 2^32 drops.
void UdpSocket::Impl::count_drops(uint32_t counter) {
  const auto more = static_cast<int32_t>(counter - drops_counter_);
  if (more > 0) {
    dropped_by_kernel_ += static_cast<uint32_t>(more);
    drops_counter_ = counter;
  }
}

void UdpSocket::Impl::take(const Address& from, TimePoint arrival, std::span<const std::byte> bytes,
                           Ecn ecn, bool is_cut) {
  const auto most = static_cast<size_t>(options_.datagram_max.bytes());
  received_.push_back({.from = from,
                       .arrival = arrival,
                       .bytes = bytes.first(std::min(bytes.size(), most)),
                       .ecn = ecn,
                       .truncated = is_cut || bytes.size() > most});
}

ReceiveBatch UdpSocket::Impl::receive(size_t count_max) {
  check(count_max >= 1 && count_max <= kBatchMax, "UdpSocket: receive_batch out of range");
  received_.clear();
  for (size_t i = 0; i < count_max; ++i) {
    msghdr& header = receive_headers_[i].msg_hdr;
    header = {.msg_name = &slots_[i].name,
              .msg_namelen = sizeof slots_[i].name,
              .msg_iov = &slots_[i].part,
              .msg_iovlen = 1,
              .msg_control = slots_[i].control.data(),
              .msg_controllen = slots_[i].control.size(),
              .msg_flags = 0};
  }
  const TimePoint before = clock_.now();
  const int count = recvmmsg(fd_.get(), receive_headers_.data(), narrow<unsigned>(count_max),
                             MSG_DONTWAIT, nullptr);
  if (count <= 0) {
    // Nothing waits, or an error reported by the network came first: then what waits is next.
    const bool more = count < 0 && errno != EAGAIN && errno != EWOULDBLOCK;
    if (!more) {
      arrivals_.not_before(before);
    }
    drain_errors();
    return {.datagrams = {}, .more = more};
  }
  const MonotonicClock::Reading reading = clock_.read_both();
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const mmsghdr& header = receive_headers_[i];
    const auto from = from_sockaddr(slots_[i].name);
    const ReceivedControl told = read_control(header.msg_hdr);
    if (told.dropped) {
      count_drops(*told.dropped);
    }
    if (!from) {
      continue;
    }
    if (remembers_asked_ && told.asked) {
      asked_.note(*from, *told.asked);
    }
    const TimePoint arrival = arrivals_.arrival(told.stamp.value_or(reading.wall), reading);
    const bool is_cut = (header.msg_hdr.msg_flags & MSG_TRUNC) != 0;
    auto bytes = std::span{static_cast<const std::byte*>(slots_[i].part.iov_base),
                           std::min<size_t>(header.msg_len, slots_[i].part.iov_len)};
    for (; told.merged_size > 0 && bytes.size() > told.merged_size;
         bytes = bytes.subspan(told.merged_size)) {
      take(*from, arrival, bytes.first(told.merged_size), told.ecn, false);
    }
    take(*from, arrival, bytes, told.ecn, is_cut);
  }
  const bool more = static_cast<size_t>(count) == count_max;
  if (!more) {
    arrivals_.not_before(before);
  }
  return {.datagrams = received_, .more = more};
}

/// How many of the first form one message for the kernel: to one address, with one mark, of one
/// size, except the last, which may be smaller.
size_t UdpSocket::Impl::run_length(std::span<const Transmit> datagrams) const {
  const Transmit& first = datagrams.front();
  size_t bytes = first.bytes.size();
  size_t length = 1;
  while (may_cut_ && length < datagrams.size() && datagrams[length].to == first.to &&
         datagrams[length].ecn == first.ecn &&
         datagrams[length - 1].bytes.size() == first.bytes.size() &&
         !datagrams[length].bytes.empty() && datagrams[length].bytes.size() <= first.bytes.size()) {
    bytes += datagrams[length].bytes.size();
    if (bytes > kSegmentedBytesMax) {
      break;
    }
    ++length;
  }
  return length;
}

/// Fills headers for the front of `datagrams`, up to the first that this socket cannot address;
/// returns how many.
size_t UdpSocket::Impl::prepare(std::span<const Transmit> datagrams) {
  const size_t count = std::min(datagrams.size(), kBatchMax);
  size_t headers = 0;
  for (size_t i = 0; i < count; ++headers) {
    const Transmit& datagram = datagrams[i];
    const auto to = to_sockaddr(datagram.to, ipv4_only_);
    if (!to) {
      break;
    }
    SendSlot& slot = send_slots_[headers];
    slot.to = *to;
    slot.datagrams = i < singles_ ? 1 : run_length(datagrams.subspan(i, count - i));
    for (size_t k = i; k < i + slot.datagrams; ++k) {
      // sendmmsg only reads what iov_base points to.
      send_parts_[k] = {const_cast<std::byte*>(datagrams[k].bytes.data()),  // NOLINT
                        datagrams[k].bytes.size()};
    }
    msghdr& header = send_headers_[headers].msg_hdr;
    header = {.msg_name = &slot.to.storage,
              .msg_namelen = slot.to.size,
              .msg_iov = &send_parts_[i],
              .msg_iovlen = slot.datagrams,
              .msg_control = nullptr,
              .msg_controllen = 0,
              .msg_flags = 0};
    slot.control.begin(header);
    if (const IpBytes* const asked = asked_.find(datagram.to)) {
      slot.control.add_source(*asked, datagram.to.scope, ipv4_only_);
    }
    slot.control.add_mark(datagram.ecn, datagram.to.is_ipv4());
    if (slot.datagrams > 1) {
      slot.control.add_cut(narrow<uint16_t>(datagram.bytes.size()));
    }
    i += slot.datagrams;
  }
  return headers;
}

/// An error at a datagram is not always that datagram's: the network may have reported it for an
/// earlier one, or a source address may have disappeared from this machine. The second attempt asks
/// for nothing beyond sending, no mark either.
bool UdpSocket::Impl::may_retry(msghdr& header, int error) {
  const bool of_an_earlier_one = drain_errors() > 0;
  const bool of_its_source = header.msg_control != nullptr && error != EMSGSIZE;
  if (of_its_source) {
    header.msg_control = nullptr;
    header.msg_controllen = 0;
    if (const auto to = from_sockaddr(*static_cast<const sockaddr_storage*>(header.msg_name))) {
      asked_.forget(*to);
    }
  }
  return of_an_earlier_one || of_its_source;
}

void UdpSocket::Impl::send_prepared(size_t count, SendReport& report) {
  bool retried = false;
  for (size_t done = 0; done < count;) {
    const int sent = sendmmsg(fd_.get(), &send_headers_[done], narrow<unsigned>(count - done),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    for (int i = 0; i < sent; ++i) {
      const size_t datagrams = send_slots_[done++].datagrams;
      report.sent += datagrams;
      report.taken += datagrams;
      singles_ -= std::min(singles_, datagrams);
      retried = false;
    }
    if (sent > 0) {
      continue;
    }
    const int error = errno;
    if (error == EINTR) {
      continue;
    }
    if (error == EAGAIN || error == EWOULDBLOCK) {
      report.blocked = true;
      return;
    }
    if (send_slots_[done].datagrams > 1) {
      // Whatever the error, each of these datagrams is now sent separately. After EIO (an interface
      // without UDP_SEGMENT) this socket never asks for segmentation again, on any interface.
      may_cut_ = may_cut_ && error != EIO;
      singles_ = send_slots_[done].datagrams;
      return;
    }
    if (!retried && error != ENOBUFS && may_retry(send_headers_[done].msg_hdr, error)) {
      retried = true;
      continue;
    }
    count_failure(error, report);
    singles_ -= std::min<size_t>(singles_, 1);
    ++done;
    retried = false;
  }
}

SendReport UdpSocket::Impl::send(std::span<const Transmit> datagrams) {
  SendReport report;
  singles_ = 0;
  while (report.taken < datagrams.size() && !report.blocked) {
    const size_t count = prepare(datagrams.subspan(report.taken));
    if (count == 0) {
      count_failure(EAFNOSUPPORT, report);
    } else {
      send_prepared(count, report);
    }
  }
  return report;
}

/// Empties the error queue; returns how many of its errors came from the network.
size_t UdpSocket::Impl::drain_errors() {
  // The kernel bounds the queue by the receive buffer; this bounds one call.
  constexpr int kVisitMax = 1024;
  size_t from_network = 0;
  for (int i = 0; i < kVisitMax; ++i) {
    sockaddr_storage name{};
    alignas(cmsghdr) std::array<std::byte, kErrorControlSize> control{};
    msghdr header{.msg_name = &name,
                  .msg_namelen = sizeof name,
                  .msg_iov = nullptr,
                  .msg_iovlen = 0,
                  .msg_control = control.data(),
                  .msg_controllen = control.size(),
                  .msg_flags = 0};
    if (recvmsg(fd_.get(), &header, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
      break;
    }
    for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
         message = CMSG_NXTHDR(&header, message)) {
      const auto error = network_error(*message);
      const auto to = from_sockaddr(name);
      if (!error || !to) {
        continue;
      }
      from_network += error->ee_origin == SO_EE_ORIGIN_LOCAL ? 0 : 1;
      const PathError::Kind kind = kind_of(error->ee_errno);
      if (path_errors_.size() == kPathErrorsMax) {
        ++path_errors_dropped_;
        continue;
      }
      path_errors_.push_back(
          {.to = *to,
           .kind = kind,
           .path_mtu = DataSize{kind == PathError::Kind::kTooLarge ? error->ee_info : 0}});
    }
  }
  return from_network;
}

UdpSocket::UdpSocket(const MonotonicClock& clock, UdpSocketOptions options)
    : impl_(std::make_unique<Impl>(clock, options)) {}
UdpSocket::~UdpSocket() = default;
UdpSocket::UdpSocket(UdpSocket&&) noexcept = default;
UdpSocket& UdpSocket::operator=(UdpSocket&&) noexcept = default;

ReceiveBatch UdpSocket::receive_batch(size_t count_max) { return impl_->receive(count_max); }
SendReport UdpSocket::send_batch(std::span<const Transmit> datagrams) {
  return impl_->send(datagrams);
}
std::optional<PathError> UdpSocket::poll_path_error() { return take_front(impl_->path_errors()); }
void UdpSocket::forget_asked_addresses() { impl_->forget_asked_addresses(); }
Address UdpSocket::local_address() const { return impl_->local_address(); }
bool UdpSocket::is_ipv4_only() const { return impl_->is_ipv4_only(); }
DataSize UdpSocket::receive_buffer() const { return impl_->receive_buffer(); }
uint64_t UdpSocket::dropped_by_kernel() const { return impl_->dropped_by_kernel(); }
uint64_t UdpSocket::path_errors_dropped() const { return impl_->path_errors_dropped(); }
int UdpSocket::handle() const { return impl_->fd(); }

}  // namespace cress::runtime
