#include "app/call/video_receiver.hh"

#include <utility>

namespace cress::app {

void VideoReceiver::handle_fragment(TimePoint now, std::span<const std::byte> message) {
  auto frame = assembler_.handle_fragment(now, message);
  has_received_ = true;
  if (!frame) {
    ++stats_.fragments_malformed;
    return;
  }
  if (frame->has_value()) {
    clock_.handle_frame(now, **std::move(frame));
  }
  decode_ready(now);
}

void VideoReceiver::decode_ready(TimePoint now) {
  clock_.handle_timeout(now);
  while (const auto frame = clock_.poll_decode(now)) {
    const auto picture = decoder_.decode(frame->data);
    if (!picture) {
      ++stats_.frames_undecodable;
      clock_.handle_decode_failure(now);
      continue;
    }
    if (*picture != nullptr) {
      shown_.push_back({frame->id, frame->capture_time, now, frame->size(), *picture});
    }
  }
}

std::optional<ShownFrame> VideoReceiver::poll_shown() {
  if (shown_.empty()) {
    return std::nullopt;
  }
  std::optional<ShownFrame> frame{std::move(shown_.front())};
  shown_.pop_front();
  return frame;
}

}  // namespace cress::app
