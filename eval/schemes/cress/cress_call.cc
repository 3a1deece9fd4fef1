#include "eval/schemes/cress/cress_call.hh"

#include <algorithm>
#include <utility>

#include "eval/schemes/cress/sprout_flow.hh"
#include "transport/sim/datagram.hh"
#include "transport/wire/datagram.hh"

namespace cress::schemes {
namespace {

app::CallOptions with_camera(app::CallOptions options, const media::VideoSource* source) {
  if (source == nullptr) {
    options.video.reset();
    return options;
  }
  app::VideoSenderOptions& video = options.video ? *options.video : options.video.emplace();
  video.width = source->width();
  video.height = source->height();
  video.frame_rate = source->frame_rate();
  return options;
}

}  // namespace

CressCall::CressCall(TimePoint start, app::CallOptions options,
                     std::unique_ptr<control::Control> control, CallMedia media)
    : source_(std::move(media.camera)),
      start_(start),
      microphone_(start, std::move(media.microphone)),
      call_(start, with_camera(options, source_.get()), std::move(control)) {}

TimePoint CressCall::next_capture() const {
  return source_ ? start_ + source_->frame_rate().time_of(next_picture_) : kNever;
}

void CressCall::handle_datagram(TimePoint now, const Address& /*from*/,
                                std::span<const std::byte> bytes) {
  if (now < start_) {
    return;  // nobody is there to read it
  }
  (void)call_.handle_datagram(now, bytes, ecn_);  // the endpoint counts bad ones itself
}

void CressCall::handle_timeout(TimePoint now) {
  call_.handle_timeout(now);
  while (microphone_.next_capture() <= now) {
    call_.capture_sound(now, microphone_.take());
  }
  while (next_capture() <= now) {
    call_.capture(now, source_->picture(next_picture_++));
  }
}

std::optional<Transmit> CressCall::poll_transmit(TimePoint now) {
  auto bytes = now < start_ ? std::nullopt : call_.poll_transmit(now);
  if (!bytes) {
    return std::nullopt;
  }
  const DataSize size{static_cast<int64_t>(bytes->size())};
  return Transmit{.to = {},
                  .bytes = *std::move(bytes),
                  .wire_size = size + wire::kTagSize + sim::kUdpIpOverhead,
                  .ecn = call_.endpoint().ecn(now)};
}

TimePoint CressCall::poll_timeout() const {
  return std::min({call_.poll_timeout(), next_capture(), microphone_.next_capture()});
}

HostSample CressCall::sample(TimePoint now) const { return sample_of(call_.endpoint(), now); }

std::optional<CodedFrame> CressCall::poll_coded() {
  const auto coded = call_.poll_coded();
  if (!coded) {
    return std::nullopt;
  }
  return CodedFrame{.frame_id = coded->frame_id,
                    .captured = coded->captured,
                    .size = coded->size,
                    .budget = coded->budget,
                    .quantizer = coded->quantizer,
                    .key_frame = coded->key_frame,
                    .attempts = coded->attempts};
}

std::optional<ShownFrame> CressCall::poll_shown() {
  auto frame = call_.poll_shown();
  if (!frame) {
    return std::nullopt;
  }
  delivered_ += frame->size;
  return ShownFrame{frame->frame_id, frame->captured, frame->shown, std::move(frame->picture)};
}

}  // namespace cress::schemes
