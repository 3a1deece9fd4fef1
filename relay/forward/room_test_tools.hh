#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "media/frame/assembler.hh"
#include "media/frame/frame_report.hh"
#include "media/playout/frame_clock.hh"
#include "relay/forward/room.hh"
#include "transport/base/rng.hh"
#include "transport/room/media_head.hh"
#include "transport/room/outbox.hh"
#include "transport/sim/link.hh"

namespace cress::relay {

// A room in the simulated world: members without codecs, whose frames have realistic patterns,
// sizes and references, each behind a link of its own. For tests and benchmarks.

inline constexpr Duration kPictureEvery = Duration{33'333'333};
inline constexpr Duration kSoundEvery = 20ms;

/// A frame that a member received from another.
struct SeenFrame {
  room::MemberNumber from = room::kNobody;
  uint32_t id = 0;
  FrameKind kind = FrameKind::kNone;
  TimePoint captured{};
  TimePoint shown{};
};
struct HeardSound {
  room::MemberNumber from = room::kNobody;
  TimePoint captured{};
  TimePoint heard{};
};

struct TestMemberOptions {
  bool has_camera = true;
  bool speaks = false;
  /// Set: it ignores the rate that the relay allows.
  std::optional<DataRate> video_rate{};
  int layers = 3;
  /// Parity fragments per frame.
  int parity = 0;
};

class TestMember {
 public:
  TestMember(TimePoint now, TestMemberOptions options, uint64_t seed)
      : options_(options),
        rng_(seed),
        endpoint_(now, {}, std::make_unique<control::CressControl>(control::room_control())),
        next_picture_(now + rng_.below(33) * 1ms),
        next_sound_(now + rng_.below(20) * 1ms) {
    endpoint_.open_flow(session::kAudioFlow, {.priority = session::Priority::kAudio,
                                              .report_outcomes = false,
                                              .queue_max = DataSize{600}});
    endpoint_.open_flow(session::kControlFlow, {.priority = session::Priority::kControl});
    endpoint_.open_flow(session::kVideoFlow, {.priority = session::Priority::kVideo});
    outbox_.put(room::Card{.revision = 1, .sealed = std::vector<std::byte>(100, std::byte{7})});
  }

  void handle_datagram(TimePoint now, std::span<const std::byte> datagram) {
    (void)endpoint_.handle_datagram(now, datagram);
    drain(now);
  }
  void handle_timeout(TimePoint now) {
    endpoint_.handle_timeout(now);
    for (; next_picture_ <= now; next_picture_ += kPictureEvery) {
      capture(now);
    }
    for (; next_sound_ <= now; next_sound_ += kSoundEvery) {
      capture_sound(now);
    }
    for (auto& [number, seen] : seen_) {
      seen.clock.handle_timeout(now);
      show(now, number, seen);
    }
    drain(now);
  }
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now) {
    return endpoint_.poll_transmit(now);
  }
  TimePoint poll_timeout() const {
    return std::min({endpoint_.poll_timeout(), next_picture_, next_sound_});
  }

  void put(const room::RoomMessage& message) { outbox_.put(message); }
  void set_speaks(bool speaks) { options_.speaks = speaks; }
  void set_camera(bool on) { options_.has_camera = on; }

  room::MemberNumber number() const { return welcome_ ? welcome_->number : room::kNobody; }
  const std::optional<room::Welcome>& welcome() const { return welcome_; }
  const std::map<room::MemberNumber, room::Card>& others() const { return others_; }
  const std::optional<room::SpeakerNews>& speaker() const { return speaker_; }
  const std::optional<room::VideoRate>& video_rate() const { return video_rate_; }
  const std::optional<room::Farewell>& farewell() const { return farewell_; }
  const std::vector<SeenFrame>& shown() const { return shown_; }
  const std::vector<HeardSound>& heard() const { return heard_; }
  uint64_t key_frames_sent() const { return key_frames_sent_; }
  uint64_t frames_sent() const { return frames_sent_; }
  /// Complete frames whose reference never arrived, not even later.
  uint64_t undecodable() const {
    uint64_t count = 0;
    for (const auto& [number, seen] : seen_) {
      count += std::ranges::count_if(seen.reference_of, [&whole = seen.whole](const auto& entry) {
        return !whole.contains(entry.second);
      });
    }
    return count;
  }
  uint64_t wrong_bytes() const { return wrong_bytes_; }
  session::Endpoint& endpoint() { return endpoint_; }

 private:
  struct Seen {
    // A key frame may take seconds on a narrow leg.
    media::Assembler assembler{{.age_max = 8s}};
    media::FrameClock clock{};
    std::set<uint32_t> whole;
    std::map<uint32_t, uint32_t> reference_of;
  };

  static std::byte fill_of(uint32_t id) { return static_cast<std::byte>(id * 31U + 5U); }

  // The usual pattern: an anchor every half second, then layers 2, 1, 2 and base.
  FrameKind next_kind() {
    const uint32_t since = next_id_ - anchored_at_;
    if (!newest_sent_base_ || needs_anchor_ || since >= 15) {
      return FrameKind::kAnchor;
    }
    switch (options_.layers == 3 ? since % 4 : 0) {
      case 0:
        return FrameKind::kBase;
      case 2:
        return FrameKind::kLayer1;
      default:
        return FrameKind::kLayer2;
    }
  }
  DataRate rate() const {
    return options_.video_rate.value_or(video_rate_ ? video_rate_->rate : DataRate{});
  }
  DataSize size_of(FrameKind kind, bool key) {
    const DataSize mean = rate() * kPictureEvery;
    const double weight = key                          ? 6
                          : kind == FrameKind::kAnchor ? 3.5
                          : kind == FrameKind::kBase   ? 1.5
                          : kind == FrameKind::kLayer1 ? 0.8
                                                       : 0.6;
    return DataSize{
        static_cast<int64_t>(static_cast<double>(mean.bytes()) * weight * rng_.uniform(0.7, 1.3))};
  }

  void capture(TimePoint now) {
    if (!options_.has_camera || rate() == DataRate{}) {
      ++next_id_;
      return;
    }
    const uint32_t id = next_id_;
    const FrameKind kind = next_kind();
    ++next_id_;
    const bool key = kind == FrameKind::kAnchor && (!known_anchor_ || wants_key_);
    const DataSize window = endpoint_.available_window(now);
    const DataSize size = std::min(size_of(kind, key), DataSize{window.bytes() * 9 / 10});
    if (size < DataSize{300}) {
      return;
    }
    const bool is_anchor = kind == FrameKind::kAnchor;
    media::EncodedFrame frame{
        .id = id,
        .reference_id = key         ? id
                        : is_anchor ? *known_anchor_
                                    : *newest_sent_base_,
        .capture_time = now,
        .key_frame = key,
        .temporal_layer = kind == FrameKind::kLayer1   ? 1
                          : kind == FrameKind::kLayer2 ? 2
                                                       : 0,
        .anchor = is_anchor,
        .data = std::vector<std::byte>(static_cast<size_t>(size.bytes()), fill_of(id))};
    ++frames_sent_;
    key_frames_sent_ += key ? 1 : 0;
    if (is_anchor) {
      anchored_at_ = id;
      needs_anchor_ = false;
      wants_key_ = wants_key_ && !key;
      sent_anchors_.insert(id);
    }
    if (kind <= FrameKind::kBase) {
      newest_sent_base_ = id;
    }
    for (const auto& message :
         media::fragment(frame, endpoint_.message_max() - room::kMemberHeadSize, options_.parity)) {
      const auto message_id =
          endpoint_.send(now, session::kVideoFlow, room::build_member_message(0, message));
      carried_[message_id] = {id, kind};
    }
  }

  void capture_sound(TimePoint now) {
    ++sounds_;
    if (!options_.speaks && sounds_ % 10 != 0) {
      return;  // silence is reported only occasionally
    }
    std::vector<std::byte> clear(10);
    for (size_t i = 0; i < 8; ++i) {
      clear[i] = static_cast<std::byte>(now.time_since_epoch().count() >> (8 * i));
    }
    const std::vector<std::byte> sealed(options_.speaks ? 90 : 20, std::byte{3});
    const auto level =
        static_cast<uint8_t>(options_.speaks ? 25 + rng_.below(10) : 80 + rng_.below(40));
    const auto body = room::build_sound_body({.level = level, .clear = clear, .sealed = sealed});
    const session::Leave leave = endpoint_.control().outstanding(now) > DataSize{3000}
                                     ? session::Leave::kWithinWindow
                                     : session::Leave::kNow;
    endpoint_.send(now, session::kAudioFlow, room::build_member_message(0, body), leave);
  }

  void drain(TimePoint now) {
    while (const auto message = endpoint_.poll_message()) {
      handle_message(now, *message);
    }
    while (const auto outcome = endpoint_.poll_outcome()) {
      outbox_.handle_outcome(now, *outcome);
      const auto carried =
          outcome->flow == session::kVideoFlow ? carried_.find(outcome->id) : carried_.end();
      if (carried != carried_.end()) {
        needs_anchor_ =
            needs_anchor_ || (outcome->kind != session::MessageOutcome::Kind::kDelivered &&
                              carried->second.second <= FrameKind::kBase);
        carried_.erase(carried);
      }
    }
    outbox_.flush(now, endpoint_);
  }

  void handle_message(TimePoint now, const session::MessageReceived& message) {
    if (message.flow == session::kControlFlow) {
      handle_control(message.bytes);
      return;
    }
    const auto parsed = room::parse_member_message(message.bytes);
    if (message.flow == session::kAudioFlow) {
      const auto body = room::parse_sound_body(parsed->body);
      int64_t captured = 0;
      for (size_t i = 0; i < 8; ++i) {
        captured |= std::to_integer<int64_t>(body->clear[i]) << (8 * i);
      }
      heard_.push_back({parsed->member, TimePoint{Duration{captured}}, now});
      return;
    }
    Seen& seen = seen_[parsed->member];
    const auto result = seen.assembler.handle_fragment(now, parsed->body);
    if (result && result->has_value()) {
      media::EncodedFrame frame = **result;
      wrong_bytes_ += std::ranges::count_if(
          frame.data, [&frame](std::byte b) { return b != fill_of(frame.id); });
      seen.whole.insert(frame.id);
      seen.reference_of[frame.id] = frame.reference_id;
      seen.clock.handle_frame(now, std::move(frame));
      show(now, parsed->member, seen);
    }
  }

  void show(TimePoint now, room::MemberNumber from, Seen& seen) {
    while (const auto frame = seen.clock.poll_decode(now)) {
      const FrameKind kind = frame->key_frame || frame->anchor ? FrameKind::kAnchor
                             : frame->temporal_layer == 0      ? FrameKind::kBase
                             : frame->temporal_layer == 1      ? FrameKind::kLayer1
                                                               : FrameKind::kLayer2;
      shown_.push_back({from, frame->id, kind, frame->capture_time, now});
    }
  }

  void handle_control(std::span<const std::byte> bytes) {
    if (media::parse_key_frame_request(bytes)) {
      wants_key_ = true;
      needs_anchor_ = true;
    } else if (const auto report = media::parse_frame_report(bytes)) {
      for (const uint32_t anchor : sent_anchors_) {
        const uint32_t back = report->newest - anchor;
        if (anchor <= report->newest &&
            (back == 0 || (back <= 32 && (report->before >> (back - 1) & 1U) != 0)) &&
            anchor >= known_anchor_.value_or(0)) {
          known_anchor_ = anchor;
        }
      }
      sent_anchors_.erase(sent_anchors_.begin(),
                          sent_anchors_.lower_bound(known_anchor_.value_or(0)));
    } else if (const auto message = room::parse_room_message(bytes)) {
      handle_room_message(*message);
    }
  }
  void handle_room_message(const room::RoomMessage& message) {
    if (const auto* welcome = std::get_if<room::Welcome>(&message)) {
      welcome_ = *welcome;
    } else if (const auto* news = std::get_if<room::MemberNews>(&message)) {
      others_[news->number] = news->card;
    } else if (const auto* left = std::get_if<room::MemberLeft>(&message)) {
      others_.erase(left->number);
      seen_.erase(left->number);
    } else if (const auto* speaker = std::get_if<room::SpeakerNews>(&message)) {
      speaker_ = *speaker;
    } else if (const auto* rate = std::get_if<room::VideoRate>(&message)) {
      if (!video_rate_ || rate->revision > video_rate_->revision) {
        video_rate_ = *rate;
      }
    } else if (const auto* farewell = std::get_if<room::Farewell>(&message)) {
      farewell_ = *farewell;
    }
  }

  TestMemberOptions options_;
  Rng rng_;
  session::Endpoint endpoint_;
  room::Outbox outbox_;
  TimePoint next_picture_;
  TimePoint next_sound_;
  uint64_t sounds_ = 0;

  uint32_t next_id_ = 0;
  uint32_t anchored_at_ = 0;
  std::optional<uint32_t> newest_sent_base_;
  std::optional<uint32_t> known_anchor_;
  std::set<uint32_t> sent_anchors_;
  bool needs_anchor_ = false;
  bool wants_key_ = false;
  std::map<session::MessageId, std::pair<uint32_t, FrameKind>> carried_;
  uint64_t key_frames_sent_ = 0;
  uint64_t frames_sent_ = 0;

  std::optional<room::Welcome> welcome_;
  std::map<room::MemberNumber, room::Card> others_;
  std::optional<room::SpeakerNews> speaker_;
  std::optional<room::VideoRate> video_rate_;
  std::optional<room::Farewell> farewell_;
  std::map<room::MemberNumber, Seen> seen_;
  std::vector<SeenFrame> shown_;
  std::vector<HeardSound> heard_;

  uint64_t wrong_bytes_ = 0;
};

/// A constant rate, in opportunities of 1500 bytes.
inline std::shared_ptr<const sim::DeliveryTrace> constant_trace(DataRate rate) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (int64_t i = 1; i * sim::kOpportunitySize.bits() <= 20 * rate.bits_per_second(); ++i) {
    trace->opportunities.push_back({i * (sim::kOpportunitySize / rate)});
  }
  return trace;
}

struct LegLinks {
  std::shared_ptr<const sim::DeliveryTrace> down;
  std::shared_ptr<const sim::DeliveryTrace> up;
  double loss = 0;
};

/// A room and its members, each with one uplink and one downlink. Steps all of them in virtual
/// time, as sim::World does for two hosts.
class RoomWorld {
 public:
  explicit RoomWorld(RoomOptions options = {}) : room_(kTimeZero, std::move(options)) {}

  /// Adds a member now. Returns its index here.
  size_t join(const LegLinks& links, TestMemberOptions options = {}) {
    const auto number = room_.join(now_);
    const uint64_t seed = 100 * (1 + hosts_.size());
    const auto link = [&](const auto& trace, uint64_t which) {
      return std::make_unique<sim::Link>(
          sim::LinkOptions{.trace = trace, .loss = links.loss, .seed = seed + which, .queue = {}});
    };
    hosts_.push_back({number.value_or(room::kNobody),
                      std::make_unique<TestMember>(now_, options, seed), link(links.up, 1),
                      link(links.down, 2)});
    drain_room();
    return hosts_.size() - 1;
  }
  void leave(size_t at, room::LeaveReason reason = room::LeaveReason::kLeft) {
    room_.leave(now_, hosts_.at(at).number, reason);
    hosts_.at(at).member.reset();
    drain_room();
  }
  void drain_room() {
    while (auto out = in_room([this] { return room_.poll_transmit(now_); })) {
      for (const std::byte b : clock_ ? std::span<std::byte>{} : std::span{out->bytes}) {
        digest_ = (digest_ ^ std::to_integer<uint64_t>(b)) * 0x100000001b3U;
      }
      if (watches_) {
        watch(*out);
      }
      for (Host& host : hosts_) {
        if (host.number == out->to && host.member) {
          const DataSize size{static_cast<int64_t>(out->bytes.size())};
          host.down->push(now_, {std::move(out->bytes), size + sim::kUdpIpOverhead});
          break;
        }
      }
    }
    while (const auto departure = room_.poll_departure()) {
      departures_.push_back(*departure);
    }
  }
  void run_until(TimePoint end) {
    for (TimePoint next = next_event(); next <= end; next = next_event()) {
      now_ = std::max(now_, next);
      step();
    }
    now_ = end;
  }

  /// Sends a datagram on the member's link in addition to its own.
  void push_up(size_t at, std::vector<std::byte> datagram) {
    const DataSize size{static_cast<int64_t>(datagram.size())};
    hosts_.at(at).up->push(now_, {std::move(datagram), size + sim::kUdpIpOverhead});
  }
  /// Stops the member and its links.
  void forget(size_t at) {
    hosts_.at(at).member.reset();
    hosts_.at(at).up.reset();
    hosts_.at(at).down.reset();
  }
  /// From now on checks for every fragment that the room sends whether all of its reference frame
  /// was sent to the same leg before. Returns the number of violations so far.
  void watch_references() { watches_ = true; }
  uint64_t sent_without_reference() const { return sent_without_reference_; }
  /// Real time spent in the room since the last call, for benchmarks.
  Duration take_room_time() {
    const Duration clock_cost = static_cast<int64_t>(std::exchange(room_calls_, 0)) * clock_cost_;
    return std::exchange(room_time_, Duration{}) - clock_cost;
  }
  void set_clock(std::function<Duration()> clock) {
    clock_ = std::move(clock);
    constexpr int kTries = 1000;
    Duration total{};
    for (int i = 0; i < kTries; ++i) {
      const Duration before = clock_();
      total += clock_() - before;
    }
    clock_cost_ = total / kTries;
  }
  bool is_lossy(size_t at) const { return hosts_.at(at).down->options().loss > 0; }
  /// Digest of all datagrams that the room sent, in order (FNV-1a).
  uint64_t digest() const { return digest_; }

  TimePoint now() const { return now_; }
  Room& room() { return room_; }
  TestMember& member(size_t at) { return *hosts_.at(at).member; }
  room::MemberNumber number(size_t at) const { return hosts_.at(at).number; }
  sim::Link& down(size_t at) { return *hosts_.at(at).down; }
  sim::Link& up(size_t at) { return *hosts_.at(at).up; }
  const std::vector<Departure>& departures() const { return departures_; }

 private:
  struct Host {
    room::MemberNumber number = room::kNobody;
    std::unique_ptr<TestMember> member;
    std::unique_ptr<sim::Link> up;
    std::unique_ptr<sim::Link> down;
  };

  template <class Act>
  std::invoke_result_t<Act> in_room(Act act) {
    ++room_calls_;
    const Duration before = clock_ ? clock_() : Duration{};
    struct Stop {
      RoomWorld& world;
      Duration before;
      ~Stop() { world.room_time_ += world.clock_ ? world.clock_() - before : Duration{}; }
    } stop{*this, before};
    return act();
  }

  struct SentFrame {
    size_t count = 0;
    std::set<uint16_t> parts;
  };

  void watch(const LegTransmit& out) {
    const auto datagram = wire::parse_datagram(out.bytes);
    for (const wire::MessageView& message : datagram->messages) {
      if (message.flow != session::kVideoFlow) {
        continue;
      }
      const auto from = room::parse_member_message(message.bytes);
      const media::FragmentHeader header = media::parse_fragment(from->body)->header;
      auto& frames = sent_[{out.to, from->member}];
      SentFrame& frame = frames[header.frame_id];
      if (frame.parts.empty() && !header.key_frame) {
        const auto reference = frames.find(header.frame_id - header.reference_distance);
        sent_without_reference_ +=
            reference == frames.end() || reference->second.parts.size() < reference->second.count
                ? 1
                : 0;
      }
      frame.count = header.count;
      if (!header.is_parity()) {
        frame.parts.insert(header.index);
      }
    }
  }

  TimePoint next_event() const {
    TimePoint next = room_.poll_timeout();
    for (const Host& host : hosts_) {
      if (host.member) {
        next = std::min({next, host.member->poll_timeout(), host.up->poll_timeout(),
                         host.down->poll_timeout()});
      }
    }
    return next;
  }
  void drain(Host& host) {
    while (auto bytes = host.member->poll_transmit(now_)) {
      const DataSize size{static_cast<int64_t>(bytes->size())};
      host.up->push(now_, {*std::move(bytes), size + sim::kUdpIpOverhead});
    }
  }
  void step() {
    for (Host& host : hosts_) {
      if (!host.member) {
        continue;
      }
      host.up->handle_timeout(now_);
      while (const auto datagram = host.up->poll_delivered(now_)) {
        in_room([&] { room_.handle_datagram(now_, host.number, datagram->bytes); });
        drain_room();
      }
      host.down->handle_timeout(now_);
      while (const auto datagram = host.down->poll_delivered(now_)) {
        host.member->handle_datagram(now_, datagram->bytes);
        drain(host);
      }
      if (host.member->poll_timeout() <= now_) {
        host.member->handle_timeout(now_);
        drain(host);
      }
    }
    if (room_.poll_timeout() <= now_) {
      in_room([this] { room_.handle_timeout(now_); });
      drain_room();
    }
  }

  Room room_;
  std::vector<Host> hosts_;
  std::vector<Departure> departures_;
  std::function<Duration()> clock_;
  Duration room_time_{};
  Duration clock_cost_{};  // the clock's own cost per call
  uint64_t room_calls_ = 0;
  bool watches_ = false;
  std::map<std::pair<room::MemberNumber, room::MemberNumber>, std::map<uint32_t, SentFrame>> sent_;
  uint64_t sent_without_reference_ = 0;
  uint64_t digest_ = 0xcbf29ce484222325U;
  TimePoint now_ = kTimeZero;
};

}  // namespace cress::relay
