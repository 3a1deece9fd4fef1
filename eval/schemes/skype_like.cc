#include "eval/schemes/skype_like.hh"

#include <algorithm>
#include <array>
#include <utility>

#include "media/frame/fragment.hh"
#include "transport/base/check.hh"

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
constexpr double kLossUnit = 65535;
// Nobody's clock reads more: three years. Keeps every sum of times below far from its limit.
constexpr uint64_t kSentTimeMaxMicroseconds = 100'000'000'000'000;
// More than this cannot be a gap of lost datagrams: at 1.5 Mbit/s it would take minutes. The far
// end has started anew, or makes it up.
constexpr uint32_t kSequenceLeapMax = 1U << 15U;

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

/// Every sample the mean of the four it covers; at an odd edge, of those there are.
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

SkypeLikeOptions SkypeLikeOptions::recorded_2017() {
  SkypeLikeOptions options;
  options.start = DataRate::kilobits_per_second(45);
  options.raise_factor = 1.06;
  options.ceiling = DataRate::kilobits_per_second(105);
  return options;
}

SkypeLikeController::SkypeLikeController(TimePoint start, const SkypeLikeOptions& options)
    : options_(options), target_(options.start), next_raise_(start + options.raise_interval) {
  check(options.floor >= DataRate::kilobits_per_second(1) && options.floor <= options.start &&
            options.start <= options.ceiling,
        "SkypeLikeOptions: floor <= start <= ceiling");
  check(options.raise_factor >= 1 && options.lower_factor > 0 && options.lower_factor <= 1,
        "SkypeLikeOptions: factors out of range");
  check(options.half_size_below <= options.full_size_above,
        "SkypeLikeOptions: half_size_below <= full_size_above");
  check(options.raise_interval > Duration{} && options.patience > Duration{} &&
            options.hold > Duration{},
        "SkypeLikeOptions: durations out of range");
}

void SkypeLikeController::handle_feedback(TimePoint now, const RateFeedback& feedback) {
  const bool trouble =
      feedback.loss > options_.loss_tolerated || feedback.queueing_delay > options_.delay_tolerated;
  if (!trouble) {
    trouble_since_.reset();
    heard_good_ = true;
    return;
  }
  if (!trouble_since_) {
    trouble_since_ = now;
    received_sum_ = {};
    reports_ = 0;
  }
  heard_good_ = false;
  // Clamped one by one, so that no report can outweigh the others.
  received_sum_ = received_sum_ + std::min(feedback.received, options_.ceiling);
  ++reports_;
  if (now - *trouble_since_ < options_.patience) {
    return;
  }
  const DataRate received = received_sum_ * (1.0 / static_cast<double>(reports_));
  target_ = std::clamp(received * options_.lower_factor, options_.floor, target_);
  next_raise_ = now + options_.hold;
  trouble_since_.reset();  // patience begins anew
}

void SkypeLikeController::handle_timeout(TimePoint now) {
  if (now < next_raise_) {
    return;
  }
  if (std::exchange(heard_good_, false)) {
    target_ = std::min(target_ * options_.raise_factor, options_.ceiling);
  }
  next_raise_ = now + options_.raise_interval;
}

void ArrivalBooks::handle_arrival(uint32_t sequence, Duration transit, DataSize size) {
  // Arithmetic modulo 2^32: a number up to half the circle ahead is newer, the rest are older.
  const uint32_t ahead = sequence - newest_;
  if (!heard_ || (ahead < 1U << 31U && ahead > kSequenceLeapMax)) {
    newest_ = sequence;
    expected_ += 1;
  } else if (ahead < 1U << 31U) {
    newest_ = sequence;
    expected_ += ahead;
  }
  least_transit_ = heard_ ? std::min(least_transit_, transit) : transit;
  newest_transit_ = transit;
  heard_ = true;
  ++received_;
  size_ += size;
}

std::optional<RateFeedback> ArrivalBooks::take_feedback(Duration interval) {
  if (!heard_) {
    return std::nullopt;
  }
  RateFeedback feedback;
  if (expected_ > 0) {
    feedback.loss =
        std::max(0.0, 1 - static_cast<double>(received_) / static_cast<double>(expected_));
  }
  feedback.queueing_delay = std::min(newest_transit_ - least_transit_, kQueueingDelayMax);
  feedback.received = DataRate::from(size_, interval);
  expected_ = 0;
  received_ = 0;
  size_ = {};
  return feedback;
}

SkypeLikeCall::SkypeLikeCall(TimePoint start, const SkypeLikeOptions& options,
                             std::shared_ptr<media::VideoSource> source)
    : options_(options),
      camera_(start, std::move(source)),
      controller_(start, options),
      next_report_(start + kReportInterval) {
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

media::CodedPicture SkypeLikeCall::encode(TimePoint now, uint32_t picture) {
  const DataRate target = controller_.target();
  const bool is_half = encoder_->width() != camera_.source().width();
  const bool half = target < (is_half ? options_.full_size_above : options_.half_size_below);
  if (half) {
    encoder_->set_size((camera_.source().width() + 1) / 2, (camera_.source().height() + 1) / 2);
  } else {
    encoder_->set_size(camera_.source().width(), camera_.source().height());
  }
  encoder_->set_target(target);
  const media::PicturePtr full = camera_.source().picture(picture);
  return encoder_->encode(
      half ? halved(*full) : *full,
      {.key_frame = std::exchange(key_frame_wanted_, false), .capture_time = now});
}

void SkypeLikeCall::capture(TimePoint now) {
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
  const auto feedback = books_.take_feedback(kReportInterval);
  if (!feedback) {
    return;
  }
  Writer writer{kReportKind};
  writer.put(static_cast<uint16_t>(feedback->loss * kLossUnit));
  writer.put(static_cast<uint32_t>(to_milliseconds(feedback->queueing_delay)));
  writer.put(static_cast<uint32_t>(
      std::min(feedback->received.kilobits_per_second(), 4e9)));  // what the field holds
  writer.put(static_cast<uint8_t>(receiver_.needs_key_frame() ? 1 : 0));
  outgoing_.push_back(writer.take());
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
  const auto sent_microseconds = get<uint64_t>(datagram, 5);
  if (sent_microseconds > kSentTimeMaxMicroseconds) {
    return;
  }
  const TimePoint sent =
      kTimeZero + std::chrono::microseconds{static_cast<int64_t>(sent_microseconds)};
  books_.handle_arrival(get<uint32_t>(datagram, 1), now - sent,
                        DataSize{static_cast<int64_t>(datagram.size())});
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
  if (now >= camera_.next_capture()) {
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
  return std::min(
      {controller_.poll_timeout(), receiver_.poll_timeout(), next_report_, camera_.next_capture()});
}

HostSample SkypeLikeCall::sample(TimePoint /*now*/) const {
  return {.window = {}, .forecast = camera_ ? std::optional{controller_.target()} : std::nullopt};
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
