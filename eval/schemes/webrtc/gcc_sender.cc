#include "eval/schemes/webrtc/gcc_sender.hh"

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/frame/fragment.hh"
#include "media/frame/scale_picture.hh"
#include "transport/base/check.hh"
#include "transport/sim/datagram.hh"

namespace cress::schemes {
namespace {

// libwebrtc's: RTP packets of at most 1200 bytes.
constexpr DataSize kDatagramMax{1200};
constexpr DataSize kHeaders = sim::kUdpIpOverhead + kGccMediaHeader + media::kFragmentHeaderSize;
// libwebrtc's: the minimum interval between requested key frames.
constexpr Duration kKeyFrameGap = 300ms;
// The time over which the share of retransmissions is taken; and libwebrtc's bound on it.
constexpr Duration kRepeatWindow = 1s;
constexpr double kRepeatShareMax = 0.5;
constexpr DataSize kPaddingSize{1000};

DataSize size_of(const std::vector<std::byte>& bytes) {
  return DataSize{static_cast<int64_t>(bytes.size())};
}

}  // namespace

GccOptions GccOptions::draft() {
  GccOptions options;
  options.estimator.filter = GccEstimatorOptions::Filter::kKalman;
  options.estimator.detector = GccDetectorOptions::draft();
  options.prober.factors.clear();
  return options;
}

GccSender::GccSender(TimePoint start, const GccOptions& options,
                     std::shared_ptr<media::VideoSource> source)
    : options_(options),
      camera_(start, std::move(source)),
      estimator_(options.estimator),
      pacer_(options.pacer),
      prober_(options.estimator.delay.start, options.prober),
      scaler_(start, {camera_.source().width(), camera_.source().height()}, options.scaler),
      encoder_({.width = camera_.source().width(),
                .height = camera_.source().height(),
                .frame_rate = camera_.source().frame_rate(),
                .cpu_used = options.cpu_used,
                .denoise = options.denoise,
                .rate_mode = media::RateMode::kConstantBitrate,
                .target = options.estimator.delay.start,
                .drop_frames = true}),
      repeats_since_(start) {
  check(options.video_floor > DataRate{} && options.video_floor <= options.video_ceiling,
        "GccOptions: floor <= ceiling");
  pacer_.set_target(start, estimator_.target());
}

DataRate GccSender::video_target() const {
  const auto rate = static_cast<double>(estimator_.target().bits_per_second());
  const media::FrameRate frames = camera_.source().frame_rate();
  const double per_second =
      static_cast<double>(frames.numerator) / static_cast<double>(frames.denominator);
  const double packets = std::ceil(rate / per_second / static_cast<double>(kDatagramMax.bits()));
  const double headers = packets * per_second * static_cast<double>(kHeaders.bits());
  const double video = std::max(0.0, rate * (1 - repeat_share_) - headers);
  return std::clamp(DataRate::bits_per_second(std::llround(video)), options_.video_floor,
                    options_.video_ceiling);
}

media::CodedPicture GccSender::encode_picture(TimePoint now, uint32_t picture) {
  const GccPictureSize size = scaler_.size();
  encoder_.set_size(size.width, size.height);
  encoder_.set_target(video_target());
  const media::PicturePtr full = camera_.source().picture(picture);
  const bool is_full = size == GccPictureSize{full->width, full->height};
  const media::EncodeOptions how{.key_frame = std::exchange(key_frame_wanted_, false),
                                 .capture_time = now};
  return encoder_.encode(is_full ? *full : media::scale_picture(*full, size.width, size.height),
                         how);
}

void GccSender::capture(TimePoint now) {
  const uint32_t id = camera_.take(now);
  const bool wanted = key_frame_wanted_;
  const media::CodedPicture coded = encode_picture(now, id);
  coded_.push({.frame_id = id,
               .captured = now,
               .size = coded.size(),
               .budget = {},
               .quantizer = coded.quantizer,
               .key_frame = coded.key_frame});
  if (coded.dropped()) {
    key_frame_wanted_ = wanted;
    scaler_.handle_dropped(now);
    return;
  }
  if (coded.key_frame) {
    last_key_frame_ = now;
  }
  packetize(now, {.id = id,
                  .reference_id = coded.key_frame ? id : last_coded_.value_or(id),
                  .capture_time = now,
                  .key_frame = coded.key_frame,
                  .data = coded.data});
  last_coded_ = id;
  scaler_.handle_coded(now, coded.quantizer);
}

void GccSender::packetize(TimePoint now, const media::EncodedFrame& frame) {
  for (auto& fragment : media::fragment(frame, kDatagramMax - kGccMediaHeader)) {
    const DataSize size = size_of(fragment) + kGccMediaHeader + sim::kUdpIpOverhead;
    kept_.push_back({.fragment = fragment, .sent_again = {}});
    if (kept_.size() > kHistoryMax) {
      kept_.pop_front();
    }
    pacer_.push(now, {.media_sequence = next_media_++,
                      .sent_again = false,
                      .fragment = std::move(fragment),
                      .wire_size = size});
  }
  prober_.handle_first_packet(now);
}

void GccSender::note_sent(TimePoint now, DataSize size, int cluster) {
  ++next_transport_;
  sent_.push_back({.at = now, .size = size, .cluster = cluster, .reported = false});
  if (sent_.size() > kHistoryMax) {
    sent_.pop_front();
  }
  estimator_.handle_sent(now);
}

void GccSender::count_repeats(TimePoint now) {
  if (now - repeats_since_ < kRepeatWindow) {
    return;
  }
  const auto all = static_cast<double>(bytes_sent_.bytes());
  repeat_share_ =
      all > 0 ? std::min(kRepeatShareMax, static_cast<double>(bytes_sent_again_.bytes()) / all) : 0;
  bytes_sent_ = {};
  bytes_sent_again_ = {};
  repeats_since_ = now;
}

std::vector<std::byte> GccSender::send(TimePoint now, const GccPaced& packet, int cluster) {
  auto datagram = encode(GccMedia{.transport_sequence = next_transport_,
                                  .media_sequence = packet.media_sequence,
                                  .sent_again = packet.sent_again,
                                  .round_trip = estimator_.round_trip(),
                                  .fragment = packet.fragment});
  note_sent(now, packet.wire_size, cluster);
  bytes_sent_ += packet.wire_size;
  bytes_sent_again_ += packet.sent_again ? packet.wire_size : DataSize{};
  return datagram;
}

std::vector<std::byte> GccSender::send_padding(TimePoint now) {
  auto datagram = encode(GccPadding{next_transport_}, kPaddingSize);
  const DataSize size = kPaddingSize + sim::kUdpIpOverhead;
  pacer_.handle_sent(now, size);
  note_sent(now, size, prober_.handle_sent(now, size));
  return datagram;
}

std::optional<std::vector<std::byte>> GccSender::poll_datagram(TimePoint now) {
  if (now >= prober_.poll_timeout()) {
    if (const auto packet = pacer_.take_packet(now)) {
      return send(now, *packet, prober_.handle_sent(now, packet->wire_size));
    }
    return send_padding(now);
  }
  if (const auto packet = pacer_.poll_packet(now)) {
    return send(now, *packet, -1);
  }
  return std::nullopt;
}

void GccSender::handle_feedback(TimePoint now, const GccFeedback& feedback) {
  const int64_t oldest = int64_t{next_transport_} - std::ssize(sent_);
  std::vector<GccPacketResult> results;
  std::vector<int> clusters;
  std::optional<TimePoint> newest;  // when the newest arrived packet was sent
  std::optional<TimePoint> newest_arrival;
  for (size_t i = 0; i < feedback.arrivals.size(); ++i) {
    const int64_t sequence = int64_t{feedback.first_sequence} + static_cast<int64_t>(i);
    if (sequence < oldest || sequence >= int64_t{next_transport_}) {
      continue;
    }
    Sent& sent = sent_[static_cast<size_t>(sequence - oldest)];
    if (std::exchange(sent.reported, true)) {
      continue;
    }
    const auto& arrived = feedback.arrivals[i];
    results.push_back({.sent = sent.at, .arrived = arrived, .size = sent.size});
    clusters.push_back(sent.cluster);
    if (arrived && (!newest_arrival || *arrived >= *newest_arrival)) {
      newest_arrival = arrived;
      newest = sent.at;
    }
  }
  if (!newest) {
    return;
  }
  const Duration round_trip = std::max(Duration{}, now - *newest - feedback.held);
  estimator_.handle_feedback(now, results, round_trip);
  for (size_t i = 0; i < results.size(); ++i) {
    if (clusters[i] >= 0) {
      if (const auto measured = prober_.handle_result(clusters[i], results[i])) {
        estimator_.handle_probe(*measured);
      }
    }
  }
  pacer_.set_target(now, estimator_.target());
}

void GccSender::handle_nack(TimePoint now, const GccNack& nack) {
  const int64_t oldest = int64_t{next_media_} - std::ssize(kept_);
  for (const uint32_t sequence : nack.media_sequences) {
    if (sequence < oldest || sequence >= next_media_) {
      continue;
    }
    Kept& kept = kept_[static_cast<size_t>(int64_t{sequence} - oldest)];
    if (kept.sent_again && now - *kept.sent_again < estimator_.round_trip()) {
      continue;  // it is in transit
    }
    const DataSize size = size_of(kept.fragment) + kGccMediaHeader + sim::kUdpIpOverhead;
    if (pacer_.push(now, {.media_sequence = sequence,
                          .sent_again = true,
                          .fragment = kept.fragment,
                          .wire_size = size})) {
      kept.sent_again = now;
    }
  }
}

void GccSender::handle_key_frame_request(TimePoint now) {
  if (!last_key_frame_ || now - *last_key_frame_ >= kKeyFrameGap) {
    key_frame_wanted_ = true;
  }
}

void GccSender::handle_timeout(TimePoint now) {
  if (now >= estimator_.poll_timeout()) {
    estimator_.handle_timeout(now);
    pacer_.set_target(now, estimator_.target());
  }
  count_repeats(now);
  if (now >= camera_.next_capture()) {
    capture(now);
  }
}

TimePoint GccSender::poll_timeout() const {
  return std::min({camera_.next_capture(), pacer_.poll_timeout(), prober_.poll_timeout(),
                   estimator_.poll_timeout()});
}

}  // namespace cress::schemes
