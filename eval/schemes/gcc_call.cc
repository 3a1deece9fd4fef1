#include "eval/schemes/gcc_call.hh"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

namespace cress::schemes {

GccCall::GccCall(TimePoint start, const GccOptions& options,
                 std::shared_ptr<media::VideoSource> source) {
  if (source) {
    sender_.emplace(start, options, std::move(source));
  }
}

void GccCall::handle_datagram(TimePoint now, const sim::Datagram& datagram) {
  const auto packet = parse_gcc_packet(datagram.bytes);
  if (!packet) {
    return;
  }
  if (const auto* media = std::get_if<GccMedia>(&*packet)) {
    receiver_.handle_media(now, *media);
  } else if (const auto* padding = std::get_if<GccPadding>(&*packet)) {
    receiver_.handle_padding(now, *padding);
  } else if (!sender_) {
    return;
  } else if (const auto* feedback = std::get_if<GccFeedback>(&*packet)) {
    sender_->handle_feedback(now, *feedback);
  } else if (const auto* nack = std::get_if<GccNack>(&*packet)) {
    sender_->handle_nack(now, *nack);
  } else {
    sender_->handle_key_frame_request(now);
  }
}

void GccCall::handle_timeout(TimePoint now) {
  receiver_.handle_timeout(now);
  if (sender_) {
    sender_->handle_timeout(now);
  }
}

std::optional<sim::Datagram> GccCall::poll_transmit(TimePoint now) {
  auto bytes = receiver_.poll_datagram();
  if (!bytes && sender_) {
    bytes = sender_->poll_datagram(now);
  }
  if (!bytes) {
    return std::nullopt;
  }
  const DataSize size{static_cast<int64_t>(bytes->size())};
  return sim::Datagram{*std::move(bytes), size + sim::kUdpIpOverhead};
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
