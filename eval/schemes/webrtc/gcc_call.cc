#include "eval/schemes/webrtc/gcc_call.hh"

#include <algorithm>
#include <utility>

namespace cress::schemes {

GccCall::GccCall(TimePoint start, const GccOptions& options,
                 std::shared_ptr<media::VideoSource> source) {
  if (source) {
    sender_.emplace(start, options, std::move(source));
  }
}

void GccCall::handle_datagram(TimePoint now, const Address& /*from*/,
                              std::span<const std::byte> bytes) {
  const auto packet = parse_gcc_packet(bytes);
  if (!packet) {
    return;
  }
  switch (packet->kind) {
    case GccPacket::Kind::kMedia:
      receiver_.handle_media(now, packet->media);
      return;
    case GccPacket::Kind::kPadding:
      receiver_.handle_padding(now, packet->padding);
      return;
    case GccPacket::Kind::kFeedback:
      if (sender_) {
        sender_->handle_feedback(now, packet->feedback);
      }
      return;
    case GccPacket::Kind::kNack:
      if (sender_) {
        sender_->handle_nack(now, packet->nack);
      }
      return;
    case GccPacket::Kind::kKeyFrameRequest:
      if (sender_) {
        sender_->handle_key_frame_request(now);
      }
      return;
  }
}

void GccCall::handle_timeout(TimePoint now) {
  receiver_.handle_timeout(now);
  if (sender_) {
    sender_->handle_timeout(now);
  }
}

std::optional<Transmit> GccCall::poll_transmit(TimePoint now) {
  auto bytes = receiver_.poll_datagram();
  if (!bytes && sender_) {
    bytes = sender_->poll_datagram(now);
  }
  if (!bytes) {
    return std::nullopt;
  }
  return Transmit{.to = {}, .bytes = *std::move(bytes)};
}

TimePoint GccCall::poll_timeout() const {
  return std::min(receiver_.poll_timeout(), sender_ ? sender_->poll_timeout() : kNever);
}

HostSample GccCall::sample(TimePoint /*now*/) const {
  if (!sender_) {
    return {};
  }
  return {.window = sender_->queued(), .forecast = sender_->target()};
}

std::optional<CodedFrame> GccCall::poll_coded() {
  return sender_ ? sender_->poll_coded() : std::nullopt;
}

}  // namespace cress::schemes
