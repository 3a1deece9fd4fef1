#include "eval/schemes/like/like_call.hh"

#include <algorithm>
#include <utility>

#include "media/frame/fragment.hh"
#include "transport/base/check.hh"

namespace cress::schemes {
namespace {

/// Every sample is the mean of the four it covers; at an odd edge, of those that exist.
void halve_plane(const uint8_t* from, int width, int height, uint8_t* to) {
  for (int y = 0; y < height; y += 2) {
    const uint8_t* upper = from + static_cast<ptrdiff_t>(y) * width;
    const uint8_t* lower = y + 1 < height ? upper + width : upper;
    for (int x = 0; x < width; x += 2) {
      const int right = std::min(x + 1, width - 1);
      *to++ = static_cast<uint8_t>((upper[x] + upper[right] + lower[x] + lower[right] + 2) / 4);
    }
  }
}

media::Picture halved(const media::Picture& from) {
  media::Picture to = media::make_picture((from.width + 1) / 2, (from.height + 1) / 2);
  halve_plane(from.y(), from.width, from.height, to.y());
  halve_plane(from.u(), from.chroma_width(), from.chroma_height(), to.u());
  halve_plane(from.v(), from.chroma_width(), from.chroma_height(), to.v());
  return to;
}

}  // namespace

LikeCall::LikeCall(TimePoint start, const LikeOptions& options,
                   std::shared_ptr<media::VideoSource> source)
    : options_(options), camera_(start, std::move(source)), peer_(start, options) {
  if (camera_) {
    encoder_ = std::make_unique<media::Vp8Encoder>(
        media::Vp8EncoderOptions{.width = camera_.source().width(),
                                 .height = camera_.source().height(),
                                 .frame_rate = camera_.source().frame_rate(),
                                 .rate_mode = media::RateMode::kConstantBitrate,
                                 .target = options.start,
                                 .drop_frames = true});
  }
}

media::CodedPicture LikeCall::encode(TimePoint now, uint32_t picture) {
  const DataRate target = peer_.target();
  const bool is_half = encoder_->width() != camera_.source().width();
  const bool half = target < (is_half ? options_.full_size_above : options_.half_size_below);
  if (half) {
    encoder_->set_size((camera_.source().width() + 1) / 2, (camera_.source().height() + 1) / 2);
  } else {
    encoder_->set_size(camera_.source().width(), camera_.source().height());
  }
  encoder_->set_target(target);
  const media::PicturePtr full = camera_.source().picture(picture);
  return encoder_->encode(half ? halved(*full) : *full,
                          {.key_frame = peer_.take_key_frame_wanted(), .capture_time = now});
}

void LikeCall::capture(TimePoint now) {
  const uint32_t id = camera_.take(now);
  const media::CodedPicture coded = encode(now, id);
  coded_.push({.frame_id = id,
               .captured = now,
               .size = coded.size(),
               .budget = {},
               .quantizer = coded.quantizer,
               .key_frame = coded.key_frame});
  if (coded.dropped()) {
    return;
  }
  const media::EncodedFrame frame{.id = id,
                                  .reference_id = coded.key_frame ? id : last_coded_.value_or(id),
                                  .capture_time = now,
                                  .key_frame = coded.key_frame,
                                  .data = coded.data};
  last_coded_ = id;
  for (const auto& fragment : media::fragment(frame, LikePeer::kMediaMax)) {
    peer_.send(now, fragment);
  }
}

void LikeCall::handle_datagram(TimePoint now, const Address& /*from*/,
                               std::span<const std::byte> bytes) {
  const auto fragment = peer_.handle_datagram(now, bytes);
  if (!fragment.empty()) {
    receiver_.handle_fragment(now, fragment);
  }
}

void LikeCall::handle_timeout(TimePoint now) {
  receiver_.handle_timeout(now);
  peer_.handle_timeout(now, receiver_.needs_key_frame());
  if (now >= camera_.next_capture()) {
    capture(now);
  }
}

TimePoint LikeCall::poll_timeout() const {
  return std::min({peer_.poll_timeout(), receiver_.poll_timeout(), camera_.next_capture()});
}

HostSample LikeCall::sample(TimePoint /*now*/) const {
  return {.window = {}, .forecast = camera_ ? std::optional{peer_.target()} : std::nullopt};
}

std::optional<ShownFrame> LikeCall::poll_shown() {
  auto frame = receiver_.poll_shown();
  if (!frame) {
    return std::nullopt;
  }
  delivered_ += frame->size;
  return ShownFrame{frame->frame_id, frame->captured, frame->shown, std::move(frame->picture)};
}

}  // namespace cress::schemes
