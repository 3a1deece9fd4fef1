#include "transport/runtime/control_messages.hh"

#include <netinet/ip.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

#include "transport/base/check.hh"
#include "transport/runtime/socket_address.hh"

namespace cress::runtime {
namespace {

// The two low bits of an IP header's traffic class (RFC 3168 §5).
constexpr int kEcnBits = 3;

template <class T>
T payload_of(const cmsghdr& message) {
  T value;
  std::memcpy(&value, CMSG_DATA(&message), sizeof value);
  return value;
}

bool has_type(const cmsghdr& message, int level, int type) {
  return message.cmsg_level == level && message.cmsg_type == type;
}

void read_message(const cmsghdr& message, ReceivedControl& control) {
  if (has_type(message, SOL_SOCKET, SCM_TIMESTAMPNS)) {
    const auto stamp = payload_of<timespec>(message);
    control.stamp = std::chrono::seconds{stamp.tv_sec} + Duration{stamp.tv_nsec};
  } else if (has_type(message, SOL_SOCKET, SO_RXQ_OVFL)) {
    control.dropped = payload_of<uint32_t>(message);
  } else if (has_type(message, IPPROTO_IPV6, IPV6_PKTINFO)) {
    const auto info = payload_of<in6_pktinfo>(message);
    std::memcpy(control.asked.emplace().data(), &info.ipi6_addr, sizeof info.ipi6_addr);
  } else if (has_type(message, IPPROTO_IP, IP_PKTINFO)) {
    control.asked = from_ipv4(payload_of<in_pktinfo>(message).ipi_spec_dst, 0).ip;
  } else if (has_type(message, IPPROTO_IPV6, IPV6_TCLASS)) {
    control.ecn = Ecn{narrow<uint8_t>(payload_of<int>(message) & kEcnBits)};
  } else if (has_type(message, IPPROTO_IP, IP_TOS)) {
    control.ecn = Ecn{narrow<uint8_t>(payload_of<uint8_t>(message) & kEcnBits)};
  } else if (has_type(message, SOL_UDP, UDP_GRO)) {
    control.merged_size = narrow<size_t>(std::max(payload_of<int>(message), 0));
  }
}

}  // namespace

ReceivedControl read_control(const msghdr& header) {
  ReceivedControl control;
  // CMSG_NXTHDR wants a pointer to non-const, and changes nothing.
  auto* all = const_cast<msghdr*>(&header);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  for (const cmsghdr* message = CMSG_FIRSTHDR(all); message != nullptr;
       message = CMSG_NXTHDR(all, const_cast<cmsghdr*>(message))) {  // NOLINT
    read_message(*message, control);
  }
  return control;
}

std::optional<sock_extended_err> network_error(const cmsghdr& message) {
  const bool is_error =
      has_type(message, IPPROTO_IP, IP_RECVERR) || has_type(message, IPPROTO_IPV6, IPV6_RECVERR);
  return is_error ? std::optional{payload_of<sock_extended_err>(message)} : std::nullopt;
}

void SentControl::begin(msghdr& header) {
  header_ = &header;
  header_->msg_control = nullptr;
  header_->msg_controllen = 0;
}

template <class T>
void SentControl::add(int level, int type, const T& value) {
  header_->msg_control = bytes_.data();
  auto* message = reinterpret_cast<cmsghdr*>(bytes_.data() + header_->msg_controllen);  // NOLINT
  *message = {.cmsg_len = CMSG_LEN(sizeof value), .cmsg_level = level, .cmsg_type = type};
  std::memcpy(CMSG_DATA(message), &value, sizeof value);
  header_->msg_controllen += CMSG_SPACE(sizeof value);
}

void SentControl::add_source(const IpBytes& own, uint32_t scope, bool ipv4_only) {
  if (ipv4_only) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, &own[12], sizeof info.ipi_spec_dst);
    add(IPPROTO_IP, IP_PKTINFO, info);
  } else {
    in6_pktinfo info{};
    std::memcpy(&info.ipi6_addr, own.data(), sizeof info.ipi6_addr);
    info.ipi6_ifindex = scope;
    add(IPPROTO_IPV6, IPV6_PKTINFO, info);
  }
}

void SentControl::add_mark(Ecn ecn, bool to_ipv4) {
  if (ecn != Ecn::kNotEct) {
    add(to_ipv4 ? IPPROTO_IP : IPPROTO_IPV6, to_ipv4 ? IP_TOS : IPV6_TCLASS, static_cast<int>(ecn));
  }
}

void SentControl::add_cut(uint16_t size) { add(SOL_UDP, UDP_SEGMENT, size); }

}  // namespace cress::runtime
