#include "eval/schemes/skype_like.hh"

#include <algorithm>
#include <utility>

#include "media/frame/fragment.hh"

namespace cress::schemes {
namespace {

// Datagrams, big-endian. Media: kind 1, sequence (4), sent time in µs (8), then a fragment
// (docs/protocol/media.md). Report: kind 2, loss in 1/65535 (2), queueing delay in ms (4), received
// kbit/s (4), 1 if a key frame is wanted (1).
constexpr uint8_t kMediaKind = 1;
constexpr uint8_t kReportKind = 2;
constexpr size_t kMediaHeaderSize = 13;
constexpr size_t kReportSize = 12;
constexpr DataSize kDatagramMax{1200};
constexpr Duration kReportInterval = 200ms;
constexpr double kLossUnit = 65535;

class Writer {
 public:
  explicit Writer(uint8_t kind) : bytes_{static_cast<std::byte>(kind)} {}
  template <class T>
  Writer& put(T value) {
    for (size_t i = sizeof(T); i-- > 0;) {
      bytes_.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
    }
    return *this;
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

template <class T>
T get(std::span<const std::byte> bytes, size_t at) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = value << 8U | std::to_integer<uint64_t>(bytes[at + i]);
  }
  return static_cast<T>(value);
}

}  // namespace

void SkypeLikeController::handle_feedback(TimePoint now, const RateFeedback& feedback) {
  const bool trouble =
      feedback.loss > options_.loss_tolerated || feedback.queueing_delay > options_.delay_tolerated;
  if (!trouble) {
    trouble_since_.reset();
    return;
  }
  if (!trouble_since_) {
    trouble_since_ = now;
  }
  if (now - *trouble_since_ >= options_.patience) {
    target_ = std::clamp(feedback.received * options_.lower_factor, options_.floor, target_);
    next_raise_ = now + options_.hold;
    trouble_since_ = now;  // patience begins anew
  }
}

void SkypeLikeController::handle_timeout(TimePoint now) {
  while (next_raise_ <= now) {
    if (!trouble_since_) {
      target_ = std::min(target_ * options_.raise_factor, options_.ceiling);
    }
    next_raise_ += options_.raise_interval;
  }
}

SkypeLikeCall::SkypeLikeCall(TimePoint start, const SkypeLikeOptions& options,
                             std::shared_ptr<media::VideoSource> source)
    : options_(options),
      source_(std::move(source)),
      controller_(options),
      start_(start),
      next_report_(start + kReportInterval) {
  if (source_) {
    encoder_.emplace(media::Vp8EncoderOptions{.width = source_->width(),
                                              .height = source_->height(),
                                              .frame_rate = source_->frame_rate(),
                                              .rate_mode = media::RateMode::kConstantBitrate,
                                              .target = options.start,
                                              .drop_frames = true});
  }
}

void SkypeLikeCall::capture(TimePoint now) {
  const uint32_t id = next_picture_++;
  encoder_->set_target(controller_.target());
  const auto coded =
      encoder_->encode(*source_->picture(id),
                       {.key_frame = std::exchange(key_frame_wanted_, false), .capture_time = now});
  coded_.push_back({.frame_id = id,
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
  const DataSize message_max = kDatagramMax - DataSize{kMediaHeaderSize};
  for (const auto& fragment : media::fragment(frame, message_max)) {
    Writer writer{kMediaKind};
    writer.put(next_sequence_++);
    writer.put(std::chrono::duration_cast<std::chrono::microseconds>(now - kTimeZero).count());
    auto datagram = writer.take();
    datagram.insert(datagram.end(), fragment.begin(), fragment.end());
    outgoing_.push_back(std::move(datagram));
  }
}

void SkypeLikeCall::send_report(TimePoint now) {
  next_report_ = now + kReportInterval;
  if (!heard_media_) {
    return;
  }
  const auto expected = static_cast<int64_t>(newest_sequence_ - reported_sequence_);
  const double loss = expected <= 0
                          ? 0
                          : 1 - std::min(1.0, static_cast<double>(received_since_report_) /
                                                  static_cast<double>(expected));
  const Duration queueing = newest_transit_ - least_transit_.value_or(newest_transit_);
  const double kbps = DataRate::from(received_size_, kReportInterval).kilobits_per_second();
  Writer writer{kReportKind};
  writer.put(static_cast<uint16_t>(loss * kLossUnit));
  writer.put(static_cast<uint32_t>(to_milliseconds(queueing)));
  writer.put(static_cast<uint32_t>(kbps));
  writer.put(static_cast<uint8_t>(receiver_.needs_key_frame() ? 1 : 0));
  outgoing_.push_back(writer.take());
  reported_sequence_ = newest_sequence_;
  received_since_report_ = 0;
  received_size_ = {};
}

void SkypeLikeCall::handle_report(TimePoint now, std::span<const std::byte> datagram) {
  if (datagram.size() != kReportSize) {
    return;
  }
  controller_.handle_feedback(
      now, {.loss = get<uint16_t>(datagram, 1) / kLossUnit,
            .queueing_delay = std::chrono::milliseconds{get<uint32_t>(datagram, 3)},
            .received = DataRate::kilobits_per_second(get<uint32_t>(datagram, 7))});
  key_frame_wanted_ = key_frame_wanted_ || get<uint8_t>(datagram, 11) != 0;
}

void SkypeLikeCall::handle_media(TimePoint now, std::span<const std::byte> datagram) {
  if (datagram.size() < kMediaHeaderSize) {
    return;
  }
  const auto sequence = get<uint32_t>(datagram, 1);
  const TimePoint sent = kTimeZero + std::chrono::microseconds{get<int64_t>(datagram, 5)};
  if (!heard_media_) {
    heard_media_ = true;
    reported_sequence_ = sequence - 1;
    newest_sequence_ = sequence;
  }
  newest_sequence_ = std::max(newest_sequence_, sequence);
  ++received_since_report_;
  received_size_ += DataSize{static_cast<int64_t>(datagram.size())};
  newest_transit_ = now - sent;
  least_transit_ = std::min(least_transit_.value_or(newest_transit_), newest_transit_);
  receiver_.handle_fragment(now, datagram.subspan(kMediaHeaderSize));
}

void SkypeLikeCall::handle_datagram(TimePoint now, const sim::Datagram& datagram) {
  if (datagram.bytes.empty()) {
    return;
  }
  if (datagram.bytes[0] == std::byte{kMediaKind}) {
    handle_media(now, datagram.bytes);
  } else if (datagram.bytes[0] == std::byte{kReportKind}) {
    handle_report(now, datagram.bytes);
  }
}

void SkypeLikeCall::handle_timeout(TimePoint now) {
  controller_.handle_timeout(now);
  receiver_.handle_timeout(now);
  if (now >= next_report_) {
    send_report(now);
  }
  while (source_ && start_ + source_->frame_rate().time_of(next_picture_) <= now) {
    capture(now);
  }
}

std::optional<sim::Datagram> SkypeLikeCall::poll_transmit(TimePoint /*now*/) {
  if (outgoing_.empty()) {
    return std::nullopt;
  }
  sim::Datagram datagram{std::move(outgoing_.front()), {}};
  outgoing_.pop_front();
  datagram.wire_size = DataSize{static_cast<int64_t>(datagram.bytes.size())} + sim::kUdpIpOverhead;
  return datagram;
}

TimePoint SkypeLikeCall::poll_timeout() const {
  const TimePoint captures =
      source_ ? start_ + source_->frame_rate().time_of(next_picture_) : kNever;
  return std::min({controller_.poll_timeout(), receiver_.poll_timeout(), next_report_, captures});
}

HostSample SkypeLikeCall::sample(TimePoint /*now*/) const {
  return {.window = {}, .forecast = source_ ? std::optional{controller_.target()} : std::nullopt};
}

std::optional<CodedFrame> SkypeLikeCall::poll_coded() {
  if (coded_.empty()) {
    return std::nullopt;
  }
  const CodedFrame frame = coded_.front();
  coded_.pop_front();
  return frame;
}

std::optional<ShownFrame> SkypeLikeCall::poll_shown() {
  auto frame = receiver_.poll_shown();
  if (!frame) {
    return std::nullopt;
  }
  delivered_ += frame->size;
  return ShownFrame{frame->frame_id, frame->captured, frame->shown, std::move(frame->picture)};
}

}  // namespace cress::schemes
