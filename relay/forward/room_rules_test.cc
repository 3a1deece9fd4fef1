// The limits of a room, each on both sides. Members send exactly what a test wants and never report
// arrivals, so that the relay assumes 300 kbit/s for their links, of which it plans with 270.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/forward/room.hh"
#include "relay/forward/room_world_test_tools.hh"
#include "transport/wire/datagram.hh"

namespace cress::relay {
namespace {

constexpr Duration kPlanInterval = 200ms;

class RoomBench {
 public:
  explicit RoomBench(RoomOptions options = {}) : room(kTimeZero, std::move(options)) {}

  /// A member with a camera: one frame is enough for three seconds.
  room::MemberNumber join() {
    members_.push_back(*room.join(now));
    stray(members_.back(), FrameKind::kLayer2, DataSize{200});
    verify_all();
    return members_.back();
  }
  /// Each member lets its media go to all others.
  void verify_all() {
    ++audiences_;
    for (const room::MemberNumber member : members_) {
      say(member, room::Audience{.revision = audiences_, .members = members_});
    }
  }
  room::MemberNumber join_without_camera() {
    members_.push_back(*room.join(now));
    verify_all();
    return members_.back();
  }
  void keep_cameras() {
    for (const room::MemberNumber member : members_) {
      stray(member, FrameKind::kLayer2, DataSize{200});
    }
  }
  /// A member that requests no video.
  room::MemberNumber join_blind() {
    const room::MemberNumber number = join();
    say(number, room::View{.revision = 1, .pictures = 0});
    return number;
  }
  bool say(room::MemberNumber from, session::FlowId flow, std::span<const std::byte> message) {
    wire::DatagramBuilder builder{DataSize{1200}};
    EXPECT_TRUE(builder.add_message(flow, message));
    const DataSize payload = builder.payload();
    wire::Header header;
    header.sequence = wire::WireSeq::wrap(sequences_[from]);
    sequences_[from] += static_cast<uint64_t>(payload.bytes()) + 50;
    return room.handle_datagram(now, from, builder.finish(header));
  }
  bool say(room::MemberNumber from, const room::RoomMessage& message) {
    return say(from, session::kControlFlow, room::build_room_message(message));
  }
  /// An audio message that costs a leg this much.
  void sound(room::MemberNumber from, DataSize cost, uint8_t level) {
    constexpr size_t kClear = static_cast<size_t>(room::kSoundClearSize.bytes());
    const auto size = static_cast<size_t>(cost.bytes() - overhead().bytes()) - 2 - 1 - kClear;
    const std::vector<std::byte> clear(kClear);
    const std::vector<std::byte> sealed(size);
    say(from, session::kAudioFlow,
        room::build_member_message(
            0, room::build_sound_body({.level = level, .clear = clear, .sealed = sealed})));
  }
  /// The first part of a frame, of one part where it fits.
  void frame(room::MemberNumber from, FrameKind kind, uint32_t id, uint32_t reference,
             size_t size) {
    const media::EncodedFrame frame{.id = id,
                                    .reference_id = reference,
                                    .key_frame = reference == id,
                                    .temporal_layer = kind == FrameKind::kLayer1   ? 1
                                                      : kind == FrameKind::kLayer2 ? 2
                                                                                   : 0,
                                    .anchor = kind == FrameKind::kAnchor,
                                    .data = std::vector<std::byte>(size)};
    say(from, session::kVideoFlow,
        room::build_member_message(0, media::fragment(frame, DataSize{1100}, 0)[0]));
  }
  /// A frame that costs a leg this much. Its reference never existed: it is measured, and forwarded
  /// to no leg.
  void stray(room::MemberNumber from, FrameKind kind, DataSize cost) {
    const uint32_t id = next_id_ += 2;
    frame(from, kind, id, id - 1,
          static_cast<size_t>((cost - overhead() - media::kFragmentHeaderSize).bytes()) - 2);
  }
  /// The cost of one message on a leg.
  static DataSize overhead() { return control::CressControl{leg_control()}.message_overhead(); }

  void run_until(TimePoint end) {
    for (;;) {
      while (const auto transmit = room.poll_transmit(now)) {
        sent_to[transmit->to].append(reinterpret_cast<const char*>(transmit->bytes.data()),
                                     transmit->bytes.size());
      }
      while (const auto departure = room.poll_departure()) {
        departures.push_back(*departure);
      }
      if (room.poll_timeout() > end) {
        now = end;
        return;
      }
      now = std::max(now, room.poll_timeout());
      room.handle_timeout(now);
    }
  }
  DataRate rate_told(room::MemberNumber number) const {
    for (const MemberView& view : room.member_views()) {
      if (view.number == number) {
        return view.video_rate;
      }
    }
    return DataRate::bits_per_second(-1);
  }

  bool was_sent(room::MemberNumber to, const std::string& mark) {
    return sent_to[to].find(mark) != std::string::npos;
  }

  TimePoint now = kTimeZero;
  Room room;
  std::vector<Departure> departures;
  uint32_t serial = 0;
  std::map<room::MemberNumber, std::string> sent_to;  // all datagrams, one after the other

 private:
  std::vector<room::MemberNumber> members_;
  std::map<room::MemberNumber, uint64_t> sequences_;
  uint32_t next_id_ = 0;
  uint32_t audiences_ = 0;
};

DataRate of_kbps(int64_t value) { return DataRate::kilobits_per_second(value); }

// Steps of 10 ms from now on until `done`; the steps of a room are multiples of that.
template <class Each, class Done>
Duration time_until(RoomBench& bench, Each each, Done done) {
  const TimePoint from = bench.now;
  while (!done() && bench.now < from + 20s) {
    each();
    bench.run_until(bench.now + 10ms);
  }
  return bench.now - from;
}

TEST(RoomLimit, BitsBeyondAMembersRateAreDroppedUnread) {
  RoomBench bench{{.member_rate_max = of_kbps(80), .member_burst = 500ms}};  // 10 kB/s, 5 kB
  const room::MemberNumber member = *bench.room.join(bench.now);
  bench.run_until(kTimeZero + 1s);
  const std::vector<std::byte> noise(1000);  // too short for a valid datagram
  const auto say = [&](size_t size) {
    const uint64_t before = bench.room.stats().datagrams_over_limit;
    EXPECT_TRUE(bench.room.handle_datagram(bench.now, member, std::span{noise}.first(size)));
    return bench.room.stats().datagrams_over_limit == before;
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(say(1000)) << i;
  }
  EXPECT_FALSE(say(1));
  bench.run_until(bench.now + 50ms);
  EXPECT_FALSE(say(501));
  EXPECT_TRUE(say(499));
  bench.run_until(bench.now + 10s);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(say(1000)) << i;
  }
  EXPECT_FALSE(say(1));
  EXPECT_EQ(bench.room.stats().datagrams_in, 14U);
}

TEST(RoomLimit, DatagramsBeyondAMembersRateAreReportedAsAFlood) {
  RoomBench bench{{.member_datagrams_per_second = 10, .member_burst = 500ms}};
  const room::MemberNumber member = bench.join();
  const room::MemberNumber other = bench.join();
  bench.run_until(kTimeZero + 1s);
  const auto say = [&](room::MemberNumber from) {
    return bench.say(from, room::View{.revision = 1});
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(say(member)) << i;
  }
  EXPECT_FALSE(say(member));
  EXPECT_TRUE(say(other));
  EXPECT_EQ(bench.room.stats().datagrams_over_limit, 1U);
  bench.run_until(bench.now + 99ms);
  EXPECT_FALSE(say(member));
  bench.run_until(bench.now + 2ms);
  EXPECT_TRUE(say(member));
  EXPECT_TRUE(bench.say(static_cast<room::MemberNumber>(member + kLegsMax), room::Leaving{}));
  EXPECT_EQ(bench.room.stats().datagrams_unknown, 1U);
}

TEST(RoomLimit, ControlMessagesBeyondTheirRateAreNotRead) {
  RoomBench bench{{.control_messages_per_second = 5}};
  const room::MemberNumber member = bench.join();
  bench.run_until(kTimeZero + 1s);
  const auto is_over = [&] {
    const uint64_t before = bench.room.stats().control_over_limit;
    bench.say(member, room::View{.revision = 1});
    return bench.room.stats().control_over_limit > before;
  };
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(is_over()) << i;
  }
  EXPECT_TRUE(is_over());
  bench.run_until(bench.now + 199ms);
  EXPECT_TRUE(is_over());
  bench.run_until(bench.now + 2ms);
  EXPECT_FALSE(is_over());
  EXPECT_TRUE(is_over());
  // Data that is not read has no effect.
  bench.say(member, room::Leaving{});
  bench.run_until(bench.now + 100ms);
  EXPECT_EQ(bench.room.members(), 1U);
  bench.run_until(bench.now + 200ms);
  bench.say(member, room::Leaving{});
  bench.run_until(bench.now + 200ms);
  EXPECT_EQ(bench.room.members(), 0U);
}

TEST(RoomLimit, TinyFramesBeyondTheirRateAreNotForwarded) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  bench.join();
  const RoomOptions limits;
  constexpr int kSeconds = 5;
  for (uint32_t i = 0; i < kSeconds * 1000; ++i) {
    bench.frame(from, FrameKind::kAnchor, 1000 + i, 1000 + i, 20);
    bench.run_until(bench.now + 1ms);
  }
  const auto burst = limits.member_frames_per_second * limits.member_media_burst / 1s;
  const auto allowed = limits.member_frames_per_second * kSeconds + burst;
  EXPECT_NEAR(static_cast<double>(bench.room.stats().frames_over_limit),
              static_cast<double>(kSeconds * 1000 - allowed), 5);
}

TEST(RoomLimit, SmallAudioMessagesBeyondTheirRateAreNotForwarded) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  bench.join();
  const RoomOptions limits;
  constexpr int kSeconds = 5;
  for (int i = 0; i < kSeconds * 1000; ++i) {
    bench.sound(from, DataSize{120}, 20);
    bench.run_until(bench.now + 1ms);
  }
  const auto burst = limits.member_sounds_per_second * limits.member_media_burst / 1s;
  const auto allowed = limits.member_sounds_per_second * kSeconds + burst;
  EXPECT_NEAR(static_cast<double>(bench.room.stats().sounds_over_limit),
              static_cast<double>(kSeconds * 1000 - allowed), 5);
}

std::vector<std::byte> marked(std::string_view mark) {
  const auto bytes = std::as_bytes(std::span{mark});
  return {bytes.begin(), bytes.end()};
}

/// One message a second is allowed, two at once: of three in a row the third is not forwarded, and
/// one that comes a second later is. `say` sends a message with the mark; `over` counts refusals.
void expect_third_in_a_row_is_refused(RoomBench& bench, room::MemberNumber to,
                                      const std::function<void(std::string_view mark)>& say,
                                      const std::function<uint64_t()>& over) {
  bench.run_until(kTimeZero + 10s);
  const auto mark_of = [](uint32_t serial) { return "mark " + std::to_string(serial) + "."; };
  const auto is_over = [&] {
    const uint64_t before = over();
    say(mark_of(++bench.serial));
    bench.run_until(bench.now + 100ms);
    return over() > before;
  };
  EXPECT_FALSE(is_over());
  EXPECT_FALSE(is_over());
  EXPECT_TRUE(is_over());
  bench.run_until(bench.now + 1s);
  EXPECT_FALSE(is_over());
  bench.run_until(bench.now + 1s);
  for (uint32_t i = 1; i <= bench.serial; ++i) {
    EXPECT_EQ(bench.was_sent(to, mark_of(i)), i != 3) << i;
  }
}

TEST(RoomLimit, ProofsBeyondTheirRateAreNotForwarded) {
  RoomBench bench{{.proofs_per_second = 1, .member_proof_burst = 2s}};
  const room::MemberNumber from = bench.join_without_camera();
  const room::MemberNumber to = bench.join_without_camera();
  bench.run_until(kTimeZero + 10s);
  bench.sound(from, DataSize{200}, 20);
  expect_third_in_a_row_is_refused(
      bench, to,
      [&](std::string_view mark) {
        bench.say(from, room::Proof{.serial = bench.serial, .bytes = marked(mark)});
      },
      [&] { return bench.room.stats().proofs_over_limit; });
}

TEST(RoomLimit, SecretsBeyondTheirRateAreNotForwarded) {
  RoomBench bench{{.shares_per_second = 10, .member_proof_burst = 2s}};
  const room::MemberNumber from = bench.join();
  const room::MemberNumber to = bench.join();
  bench.run_until(kTimeZero + 1s);
  const auto share = [&](size_t count) {
    room::Shares shares{.serial = ++bench.serial};
    shares.shares.assign(count, {to, marked("share " + std::to_string(bench.serial) + ".")});
    bench.say(from, shares);
    bench.run_until(bench.now + 100ms);
    return bench.room.stats().shares_over_limit;
  };
  EXPECT_EQ(share(10), 0U);
  EXPECT_EQ(share(10), 0U);  // of 20, and one more after 0.1 s
  EXPECT_EQ(share(10), 8U);
  EXPECT_TRUE(bench.was_sent(to, "share 3."));
  EXPECT_EQ(share(1), 8U);
  EXPECT_EQ(share(1), 8U);
  EXPECT_EQ(share(3), 10U);
}

TEST(RoomLimit, CardsBeyondTheirRateAreNotForwardedButTheLast) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  const room::MemberNumber to = bench.join();
  bench.run_until(kTimeZero + 2s);
  const auto mark_of = [](uint32_t i) { return "card " + std::to_string(i) + "."; };
  constexpr uint32_t kSeconds = 5;
  constexpr uint32_t kCards = 40 * kSeconds;  // fewer than control messages are allowed
  for (uint32_t i = 0; i < kCards; ++i) {
    bench.say(from, room::Card{.revision = 100 + i, .sealed = marked(mark_of(i))});
    bench.run_until(bench.now + 25ms);
  }
  bench.run_until(bench.now + 1s);
  EXPECT_EQ(bench.room.stats().control_over_limit, 0U);
  uint32_t forwarded = 0;
  for (uint32_t i = 0; i < kCards; ++i) {
    forwarded += bench.was_sent(to, mark_of(i)) ? 1 : 0;
  }
  const auto allowed = static_cast<uint32_t>(RoomOptions{}.cards_per_second) * (kSeconds + 2);
  EXPECT_LE(forwarded, allowed);
  EXPECT_GE(forwarded, allowed / 2);
  EXPECT_TRUE(bench.was_sent(to, mark_of(kCards - 1)));
}

TEST(RoomLimit, LinesOfChatBeyondTheirRateAreNotForwarded) {
  RoomBench bench{{.chats_per_second = 1, .member_chat_burst = 2s}};
  const room::MemberNumber from = bench.join_without_camera();
  const room::MemberNumber to = bench.join_without_camera();
  const room::MemberNumber stranger = *bench.room.join(bench.now);
  expect_third_in_a_row_is_refused(
      bench, to,
      [&](std::string_view mark) {
        bench.say(from, room::Chat{.serial = bench.serial, .line = marked(mark)});
      },
      [&] { return bench.room.stats().chats_over_limit; });
  EXPECT_FALSE(bench.was_sent(stranger, "mark ")) << "nobody has verified it";
  EXPECT_FALSE(bench.was_sent(from, "mark ")) << "it wrote them";
}

TEST(RoomLimit, FramesBeyondTwiceTheRequestedRateAreRejected) {
  // No member requests it: twice a thumbnail's rate is 10 kB/s, times a second and a half.
  RoomBench bench{{.thumbnail_rate = of_kbps(40), .cache = {.frame_max = DataSize{10'000}}}};
  const room::MemberNumber member = *bench.room.join(bench.now);
  bench.run_until(kTimeZero + 10ms);
  uint32_t id = 0;
  const auto is_refused = [&](size_t size) {
    const uint64_t before = bench.room.stats().fragments_refused;
    ++id;
    bench.frame(member, FrameKind::kAnchor, id, id, size);
    return bench.room.stats().fragments_refused > before;
  };
  EXPECT_FALSE(is_refused(10'000));
  EXPECT_TRUE(is_refused(200));  // of 10 ms 100 are left
  bench.run_until(bench.now + 500ms);
  EXPECT_TRUE(is_refused(5110));
  EXPECT_FALSE(is_refused(5090));
  bench.run_until(bench.now + 10s);
  EXPECT_FALSE(is_refused(10'000));
  EXPECT_TRUE(is_refused(5010));
  EXPECT_FALSE(is_refused(4990));
}

TEST(RoomLimit, ALargestFrameMayAlwaysComeOnce) {
  RoomBench bench{{.thumbnail_rate = of_kbps(40), .cache = {.frame_max = DataSize{20'000}}}};
  const room::MemberNumber member = *bench.room.join(bench.now);
  bench.run_until(kTimeZero + 10s);
  bench.frame(member, FrameKind::kAnchor, 1, 1, 20'000);
  EXPECT_EQ(bench.room.stats().fragments_refused, 0U);
  bench.frame(member, FrameKind::kAnchor, 2, 2, 200);
  EXPECT_EQ(bench.room.stats().fragments_refused, 1U);
}

TEST(RoomLimit, KeyFrameRequestsOfAReceiverAreLimited) {
  RoomBench bench{{.key_frames_per_leg_burst = 2}};
  for (int i = 0; i < 4; ++i) {
    bench.join_blind();
  }
  bench.run_until(kTimeZero + 1s);
  EXPECT_EQ(bench.room.stats().key_frame_requests, 0U);
  bench.join();  // has no anchor of any of the four
  for (const auto& [after, requests] :
       {std::pair{10ms, 2U}, {990ms, 2U}, {1110ms, 3U}, {1990ms, 3U}, {2110ms, 4U}, {2990ms, 4U}}) {
    bench.run_until(kTimeZero + 1s + after);
    bench.keep_cameras();
    EXPECT_EQ(bench.room.stats().key_frame_requests, requests) << to_milliseconds(after);
  }
}

// A sender takes a reported frame, and all that it depends on, for something to refer to.
TEST(RoomReports, AFrameWhoseReferenceIsMissingIsNotReported) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  bench.frame(sender, FrameKind::kBase, 4, 3, 200);
  bench.run_until(bench.now + 200ms);
  EXPECT_EQ(bench.room.stats().frame_reports, 0U);
  bench.frame(sender, FrameKind::kAnchor, 3, 3, 200);
  bench.run_until(bench.now + 200ms);
  EXPECT_EQ(bench.room.stats().frame_reports, 1U);
}

TEST(RoomReports, ASenderOfFramesThatNobodyCanDecodeIsAskedForAKeyFrame) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  bench.frame(sender, FrameKind::kAnchor, 3, 3, 200);
  bench.say(bench.join(), room::View{.revision = 1, .pinned = sender, .pictures = 1});
  bench.run_until(kTimeZero + 200ms);
  const uint64_t asked = bench.room.stats().key_frame_requests;
  for (uint32_t id = 5; bench.now < kTimeZero + 1900ms; ++id) {
    bench.frame(sender, FrameKind::kBase, id, id - 1, 200);  // 4 never comes
    bench.run_until(bench.now + 100ms);
  }
  EXPECT_EQ(bench.room.stats().key_frame_requests, asked);
  bench.frame(sender, FrameKind::kBase, 50, 49, 200);
  bench.run_until(kTimeZero + 2300ms);
  bench.frame(sender, FrameKind::kBase, 51, 50, 200);
  bench.run_until(kTimeZero + 2500ms);
  EXPECT_EQ(bench.room.stats().key_frame_requests, asked + 1);
}

TEST(RoomLimit, OneSenderIsAskedOnceASecondForAllItsReceivers) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  for (int i = 0; i < 3; ++i) {
    bench.say(bench.join(), room::View{.revision = 1, .pinned = sender, .pictures = 1});
  }
  for (const auto& [after, requests] :
       {std::pair{10ms, 1U}, {990ms, 1U}, {1110ms, 2U}, {1990ms, 2U}, {2110ms, 3U}}) {
    bench.run_until(kTimeZero + after);
    EXPECT_EQ(bench.room.stats().key_frame_requests, requests) << to_milliseconds(after);
  }
}

TEST(RoomLimit, AKeyFrameThatIsComingIsWaitedForASecond) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  bench.run_until(kTimeZero + 50ms);
  bench.frame(sender, FrameKind::kAnchor, 1, 1, 5000);  // never complete
  bench.join();
  bench.run_until(kTimeZero + 1s);
  EXPECT_EQ(bench.room.stats().key_frame_requests, 0U);
  bench.run_until(kTimeZero + 1200ms);
  EXPECT_EQ(bench.room.stats().key_frame_requests, 1U);
}

TEST(RoomLimit, AMemberNotHeardForLongIsLost) {
  RoomBench bench{{.lost_after = 3s}};
  const room::MemberNumber member = bench.join();
  bench.run_until(kTimeZero + 1s);
  bench.say(member, room::View{.revision = 1});
  bench.run_until(kTimeZero + 3990ms);
  EXPECT_EQ(bench.room.members(), 1U);
  bench.run_until(kTimeZero + 4110ms);
  EXPECT_EQ(bench.room.members(), 0U);
  EXPECT_EQ(bench.departures,
            (std::vector<Departure>{{member, room::LeaveReason::kLost, std::nullopt}}));
  EXPECT_TRUE(bench.room.empty());
}

TEST(RoomLimit, AFarewellIsRepeatedForASecondAtMost) {
  RoomBench bench;
  const room::MemberNumber member = bench.join();
  bench.run_until(kTimeZero + 1s);
  bench.room.kick(bench.now, member);
  EXPECT_EQ(bench.room.members(), 0U);
  bench.run_until(kTimeZero + 1990ms);
  EXPECT_TRUE(bench.departures.empty());
  EXPECT_FALSE(bench.room.empty());
  ASSERT_EQ(bench.room.member_views().size(), 1U);
  EXPECT_TRUE(bench.room.member_views()[0].is_leaving);
  bench.run_until(kTimeZero + 2110ms);
  EXPECT_EQ(bench.departures, (std::vector<Departure>{{member, room::LeaveReason::kKicked,
                                                       room::FarewellReason::kKicked}}));
}

TEST(RoomLimit, MessagesLargerThanALegsAreRejected) {
  RoomBench bench;
  const room::MemberNumber member = bench.join();
  const auto message_max = static_cast<size_t>(
      session::Endpoint{kTimeZero, {}, std::make_unique<control::CressControl>(leg_control())}
          .message_max()
          .bytes());
  const auto malformed = [&](size_t size) {
    const uint64_t before = bench.room.stats().messages_malformed;
    bench.say(member, session::kAudioFlow, std::vector<std::byte>(size));
    return bench.room.stats().messages_malformed > before;
  };
  EXPECT_FALSE(malformed(message_max));
  EXPECT_TRUE(malformed(message_max + 1));
  EXPECT_EQ(bench.room.stats().sounds_in, 1U);
  EXPECT_TRUE(malformed(1));
  EXPECT_EQ(bench.room.stats().sounds_in, 1U);
  EXPECT_TRUE(malformed(2));  // a header without a body
  EXPECT_EQ(bench.room.stats().sounds_in, 2U);
}

// In each tenth of a second this many bytes of a kind: ten times as many bytes per second.
void send_strays(RoomBench& bench, room::MemberNumber from,
                 const std::map<FrameKind, int64_t>& bytes) {
  for (const auto& [kind, size] : bytes) {
    for (int64_t left = size; left > 0; left -= 1000) {
      bench.stray(from, kind, DataSize{std::max<int64_t>(std::min<int64_t>(left, 1000), 200)});
    }
  }
}

TEST(RoomPlan, LoweredLevelRisesAfterFourSeconds) {
  using enum FrameKind;
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  const room::MemberNumber receiver = bench.join();
  const auto level = [&] { return bench.room.level(receiver, sender); };
  const auto run = [&](int64_t layer2, auto done) {
    int tick = 0;
    return time_until(
        bench,
        [&] {
          if (tick++ % 10 == 0) {  // plus 48, 48 and 16 kbit/s
            send_strays(bench, sender,
                        {{kAnchor, 600}, {kBase, 600}, {kLayer1, 200}, {kLayer2, layer2}});
          }
        },
        done);
  };
  const auto lasts = [&bench](Duration length) {
    return [&bench, end = bench.now + length] { return bench.now >= end; };
  };
  run(200, lasts(4s));
  ASSERT_EQ(level(), kLayer2);
  ASSERT_LT(run(4000, [&] { return level() != kLayer2; }), 3s);
  ASSERT_EQ(level(), kLayer1);
  // Soon there would be room for all of it.
  const Duration until_raised = run(200, [&] { return level() == kLayer2; });
  EXPECT_GT(until_raised, 4s - kPlanInterval / 2);
  EXPECT_LE(until_raised, 4s + kPlanInterval);
}

TEST(RoomPlan, ANewcomerGetsAnchorsOfEverybodyForTwoSeconds) {
  RoomBench bench;
  const room::MemberNumber first = bench.join_blind();
  const room::MemberNumber second = bench.join_blind();
  const auto send = [&](int tick) {
    if (tick % 10 == 0) {  // 40 and 480 kbit/s: the second does not fit
      send_strays(bench, first, {{FrameKind::kAnchor, 500}});
      send_strays(bench, second, {{FrameKind::kAnchor, 6000}});
    }
  };
  int tick = 0;
  time_until(
      bench, [&] { send(tick++); }, [&] { return bench.now >= kTimeZero + 3s; });
  const room::MemberNumber newcomer = bench.join();
  bench.run_until(bench.now);
  const auto level = [&] { return bench.room.level(newcomer, second); };
  EXPECT_EQ(level(), FrameKind::kAnchor);
  const Duration until = time_until(
      bench, [&] { send(tick++); }, [&] { return level() == FrameKind::kNone; });
  EXPECT_GE(until, 2s);
  EXPECT_LE(until, 2s + kPlanInterval + 20ms);
  EXPECT_GE(bench.room.level(newcomer, first), FrameKind::kAnchor);
}

TEST(RoomPlan, SenderWithoutVideoForThreeSecondsHasNoCamera) {
  RoomBench bench;
  const room::MemberNumber without = bench.join_without_camera();
  const room::MemberNumber with = bench.join_blind();
  const room::MemberNumber receiver = bench.join();
  bench.say(receiver, room::View{.revision = 1, .pictures = 1});
  const auto level = [&](room::MemberNumber of) { return bench.room.level(receiver, of); };
  bench.run_until(kTimeZero + 2 * kPlanInterval);  // requested at once, planned at the next step
  EXPECT_GT(level(without), FrameKind::kNone);
  EXPECT_EQ(level(with), FrameKind::kNone);
  int tick = 0;
  const Duration until = time_until(
      bench,
      [&] {
        if (tick++ % 10 == 0) {
          send_strays(bench, with, {{FrameKind::kAnchor, 500}});
        }
      },
      [&] { return level(with) > FrameKind::kNone; });
  EXPECT_GT(until, 3s - 2 * kPlanInterval - 20ms);
  EXPECT_LE(until, 3s - kPlanInterval + 20ms);
}

// Audio messages per second of one member that were not forwarded to another, of fifty, once the
// rates are known.
uint64_t sounds_left_out(const std::vector<int64_t>& costs, size_t receivers = 1) {
  RoomBench bench;
  std::vector<room::MemberNumber> speakers;
  for (size_t i = 0; i < costs.size(); ++i) {
    speakers.push_back(bench.join_blind());
  }
  for (size_t i = 0; i < receivers; ++i) {
    bench.join_blind();
  }
  uint64_t before = 0;
  for (int i = 0; i < 250; ++i) {
    before = i == 200 ? bench.room.stats().sounds_left_out : before;
    for (size_t k = 0; k < costs.size(); ++k) {
      // The first is the loudest.
      bench.sound(speakers[k], DataSize{costs[k]}, static_cast<uint8_t>(20 + 3 * k));
    }
    bench.run_until(bench.now + 20ms);
  }
  return bench.room.stats().sounds_left_out - before;
}

TEST(RoomPlan, AudioTakesAtMostHalfOfTheLeg) {
  // 169 bytes 50 times a second: two of them are 135'200 bit/s, half of the leg is 135'000.
  EXPECT_EQ(sounds_left_out({168, 168}), 0U);
  EXPECT_EQ(sounds_left_out({168, 170}), 50U);
  EXPECT_EQ(sounds_left_out({170, 168}), 50U);
}

TEST(RoomPlan, TheLoudestIsHeardWhateverItTakes) {
  EXPECT_EQ(sounds_left_out({700}), 0U);  // 280 kbit/s: more than the leg can carry
}

TEST(RoomPlan, QuieterAudioThatFitsIsHeard) {
  // For the silent one the second is too much and the third is not. For the first the second always
  // fits, the third does not; for the second the third fits; for the third the second is too much.
  EXPECT_EQ(sounds_left_out({200, 160, 100}), 50U + 0U + 50U);
}

TEST(RoomPlan, VideoGetsTheRestOfTheCapacity) {
  using enum FrameKind;
  for (const bool speaks : {false, true}) {
    RoomBench bench;
    const room::MemberNumber sender = bench.join_blind();
    const room::MemberNumber receiver = bench.join();
    for (int i = 0; i < 250; ++i) {
      if (i % 5 == 0) {  // 96 kbit/s each: with the margin 250 of 270
        send_strays(bench, sender, {{kAnchor, 1200}, {kBase, 1200}});
      }
      if (speaks) {
        bench.sound(sender, DataSize{250}, 20);  // 100 kbit/s
      }
      bench.run_until(bench.now + 20ms);
    }
    EXPECT_EQ(bench.room.level(receiver, sender), speaks ? kAnchor : kLayer2);
  }
}

TEST(RoomPlan, OrderIsPinnedThenSpeakerThenLastSpeakers) {
  RoomBench bench;
  std::vector<room::MemberNumber> senders;
  for (int i = 0; i < 4; ++i) {
    senders.push_back(bench.join_blind());
  }
  const room::MemberNumber receiver = bench.join();
  uint32_t revision = 0;
  const auto look = [&](room::MemberNumber pinned, uint32_t pictures) {
    bench.keep_cameras();
    bench.say(receiver, room::View{.revision = ++revision, .pinned = pinned, .pictures = pictures});
    bench.run_until(bench.now + 2 * kPlanInterval);
    std::set<size_t> shown;
    for (size_t i = 0; i < senders.size(); ++i) {
      if (bench.room.level(receiver, senders[i]) > FrameKind::kNone) {
        shown.insert(i);
      }
    }
    return shown;
  };
  for (const size_t speaks : {2U, 1U, 3U}) {
    bench.keep_cameras();
    for (int i = 0; i < 50; ++i) {
      bench.sound(senders[speaks], DataSize{100}, 20);
      bench.run_until(bench.now + 20ms);
    }
  }
  ASSERT_EQ(bench.room.speaker(), senders[3]);
  EXPECT_EQ(look(room::kNobody, 1), (std::set<size_t>{3}));
  EXPECT_EQ(look(room::kNobody, 2), (std::set<size_t>{1, 3}));
  EXPECT_EQ(look(senders[0], 1), (std::set<size_t>{0}));
  EXPECT_EQ(look(senders[0], 2), (std::set<size_t>{0, 3}));
  EXPECT_EQ(look(senders[0], 3), (std::set<size_t>{0, 1, 3}));
  EXPECT_EQ(look(senders[0], 0), (std::set<size_t>{}));
  // An older view changes nothing.
  revision = 2;
  EXPECT_EQ(look(senders[0], 3), (std::set<size_t>{}));
}

TEST(RoomRate, IsTheLegsCapacityRoundedDown) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  bench.run_until(kTimeZero + 10ms);
  EXPECT_EQ(bench.rate_told(sender), DataRate{});
  bench.join();
  bench.run_until(kTimeZero + 20ms);
  EXPECT_EQ(bench.rate_told(sender), of_kbps(250));  // of 270
}

TEST(RoomRate, SmallDisplayGetsAThumbnailsRate) {
  for (const auto& [height, rate] :
       {std::pair{0U, 250}, {1U, 200}, {180U, 200}, {181U, 250}, {720U, 250}}) {
    RoomBench bench{{.thumbnail_rate = of_kbps(210)}};
    const room::MemberNumber sender = bench.join_blind();
    bench.say(bench.join(), room::View{.revision = 1, .pictures = 1, .height = height});
    bench.run_until(kTimeZero + 10ms);
    EXPECT_EQ(bench.rate_told(sender), of_kbps(rate)) << height;
  }
}

TEST(RoomRate, IsNeverBelowTheMinimumWhileRequested) {
  RoomBench bench{{.thumbnail_rate = of_kbps(20)}};
  const room::MemberNumber sender = bench.join_blind();
  bench.say(bench.join(), room::View{.revision = 1, .pictures = 1, .height = 90});
  bench.run_until(kTimeZero + 10ms);
  EXPECT_EQ(bench.rate_told(sender), of_kbps(150));
}

TEST(RoomRate, OthersThanTheFirstShareTheLeg) {
  RoomBench bench{{.video_rate_max = of_kbps(240)}};
  std::vector<room::MemberNumber> senders;
  for (int i = 0; i < 2; ++i) {
    senders.push_back(bench.join_blind());
  }
  bench.join();
  bench.run_until(kTimeZero + 10ms);
  EXPECT_EQ(bench.rate_told(senders[0]), of_kbps(200));
  EXPECT_EQ(bench.rate_told(senders[1]), of_kbps(150));  // a half is 135
}

// How long until the requested rate changes, once the receiver's video is small; if ever.
std::optional<Duration> time_until_lowered(DataRate thumbnail) {
  RoomBench bench{{.thumbnail_rate = thumbnail}};
  const room::MemberNumber sender = bench.join_blind();
  const room::MemberNumber receiver = bench.join();
  bench.run_until(kTimeZero + 1s);
  const DataRate before = bench.rate_told(sender);
  EXPECT_EQ(before, of_kbps(250));
  bench.say(receiver, room::View{.revision = 1, .pictures = 1, .height = 90});
  const Duration until = time_until(
      bench, [&] { bench.keep_cameras(); }, [&] { return bench.rate_told(sender) != before; });
  return until < 20s ? std::optional{until} : std::nullopt;
}

TEST(RoomRate, FallsAfterThreeSecondsAndNotForAFifthLess) {
  EXPECT_EQ(time_until_lowered(of_kbps(200)), std::nullopt);
  const auto lowered = time_until_lowered(of_kbps(199));  // 150, rounded
  ASSERT_TRUE(lowered);
  EXPECT_GT(*lowered, 2500ms);
  EXPECT_LE(*lowered, 3500ms);
}

TEST(RoomRate, RisesAtOnce) {
  RoomBench bench;
  const room::MemberNumber sender = bench.join_blind();
  const room::MemberNumber receiver = bench.join();
  bench.say(receiver, room::View{.revision = 1, .pictures = 1, .height = 90});
  bench.run_until(kTimeZero + 100ms);
  ASSERT_EQ(bench.rate_told(sender), of_kbps(250));  // less than a thumbnail's
  bench.say(receiver, room::View{.revision = 2, .pictures = 0});
  for (int second = 1; second <= 4; ++second) {
    bench.keep_cameras();
    bench.run_until(kTimeZero + second * 1s);
  }
  ASSERT_EQ(bench.rate_told(sender), DataRate{});
  bench.say(receiver, room::View{.revision = 3, .pictures = 1});
  bench.run_until(kTimeZero + 4600ms);
  EXPECT_EQ(bench.rate_told(sender), of_kbps(250));
}

TEST(RoomNews, OnlyNewerCardsAndValidSendersCount) {
  RoomBench bench;
  const room::MemberNumber member = bench.join();
  const auto malformed = [&](const room::RoomMessage& message) {
    const uint64_t before = bench.room.stats().messages_malformed;
    bench.say(member, message);
    return bench.room.stats().messages_malformed > before;
  };
  EXPECT_FALSE(malformed(room::Card{.revision = 1}));
  EXPECT_FALSE(malformed(room::KeyFrameWanted{member}));
  EXPECT_FALSE(malformed(room::KeyFrameWanted{60'000}));
  EXPECT_TRUE(malformed(room::Welcome{.number = 1}));
  EXPECT_TRUE(malformed(room::VideoRate{.revision = 9}));
  EXPECT_TRUE(malformed(room::MemberLeft{.number = 1}));
  const uint64_t before = bench.room.stats().messages_malformed;
  bench.say(member, session::kControlFlow, std::vector{std::byte{15}});  // a call's
  EXPECT_EQ(bench.room.stats().messages_malformed, before);
  bench.say(member, session::kControlFlow, std::vector{std::byte{16}});
  EXPECT_EQ(bench.room.stats().messages_malformed, before + 1);
}

TEST(RoomNews, CardsAreRepeatedToTheOthersTwiceASecondAtMost) {
  SimulatedRoom world;
  const LegLinks links{.down = constant_trace(of_kbps(20'000)),
                       .up = constant_trace(of_kbps(6'000))};
  world.join(links);
  world.join(links);
  world.run_until(kTimeZero + 3s);
  std::set<uint32_t> seen;
  uint32_t revision = 1;
  while (world.now() < kTimeZero + 6s) {
    world.member(0).put(room::Card{.revision = ++revision});
    world.run_until(world.now() + 50ms);
    seen.insert(world.member(1).others().at(world.number(0)).revision);
  }
  seen.erase(1);
  EXPECT_GE(seen.size(), 6U);
  EXPECT_LE(seen.size(), 9U);  // two at once, six in three seconds
  world.run_until(kTimeZero + 8s);
  EXPECT_EQ(world.member(1).others().at(world.number(0)).revision, revision);
  // An older one, received late, is ignored.
  world.member(0).put(room::Card{.revision = 5});
  world.run_until(kTimeZero + 10s);
  EXPECT_EQ(world.member(1).others().at(world.number(0)).revision, revision);
}

TEST(RoomPresence, NoMediaGoesToAMemberWithoutACard) {
  SimulatedRoom world;
  const LegLinks links{.down = constant_trace(of_kbps(20'000)),
                       .up = constant_trace(of_kbps(6'000))};
  const size_t ghost = world.join(links, {.has_card = false});
  for (int i = 0; i < 2; ++i) {
    world.join(links, {.speaks = true});
  }
  world.run_until(kTimeZero + 5s);
  EXPECT_TRUE(world.member(ghost).shown().empty());
  EXPECT_TRUE(world.member(ghost).heard().empty());
  for (const size_t honest : {1, 2}) {
    EXPECT_TRUE(world.member(honest).others().contains(world.number(ghost))) << "is announced";
    EXPECT_GT(world.member(honest).shown().size(), 100U);
    EXPECT_GT(world.member(honest).heard().size(), 100U);
  }
  // Its card comes: a moment later media does, too.
  world.member(ghost).put(room::Card{.revision = 1, .sealed = std::vector<std::byte>(100)});
  world.run_until(kTimeZero + 6s);
  EXPECT_GT(world.member(ghost).shown().size(), 10U);
  EXPECT_GT(world.member(ghost).heard().size(), 20U);
  EXPECT_EQ(world.member(ghost).undecodable(), 0U);
}

TEST(RoomPresence, AMemberNobodyVerifiedIsNotTheSpeaker) {
  RoomBench bench;
  const room::MemberNumber honest = bench.join();
  const room::MemberNumber ghost = *bench.room.join(bench.now);
  const auto speaker_after_noise = [&] {
    for (int i = 0; i < 200; ++i) {
      bench.sound(ghost, DataSize{200}, 0);
      bench.run_until(bench.now + 20ms);
    }
    return bench.room.speaker();
  };
  EXPECT_EQ(speaker_after_noise(), std::nullopt);
  bench.say(honest, room::Audience{.revision = 100, .members = {ghost}});
  EXPECT_EQ(speaker_after_noise(), ghost);
}

TEST(RoomPresence, MediaNeedsThatEachHasVerifiedTheOther) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  const room::MemberNumber to = bench.join();
  const auto heard_after = [&](room::MemberNumber whose, const room::Audience& audience) {
    const uint64_t before = bench.room.stats().sounds_out;
    bench.say(whose, audience);
    bench.sound(from, DataSize{200}, 20);
    bench.run_until(bench.now + 30ms);
    return bench.room.stats().sounds_out - before;
  };
  EXPECT_EQ(heard_after(from, {.revision = 100, .members = {to}}), 1U);
  EXPECT_EQ(heard_after(to, {.revision = 100, .members = {}}), 0U);
  EXPECT_EQ(heard_after(to, {.revision = 101, .members = {from}}), 1U);
  EXPECT_EQ(heard_after(from, {.revision = 101, .members = {}}), 0U);
}

TEST(RoomPresence, AnOlderAudienceChangesNothing) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  const room::MemberNumber to = bench.join();
  const auto heard_after = [&](const room::Audience& audience) {
    const uint64_t before = bench.room.stats().sounds_out;
    bench.say(from, audience);
    bench.sound(from, DataSize{200}, 20);
    bench.run_until(bench.now + 30ms);
    return bench.room.stats().sounds_out - before;
  };
  EXPECT_EQ(heard_after({.revision = 9, .members = {to, 777}}), 1U) << "777: there is none";
  EXPECT_EQ(heard_after({.revision = 8, .members = {}}), 1U);
  EXPECT_EQ(heard_after({.revision = 9, .members = {}}), 1U);
  EXPECT_EQ(heard_after({.revision = 10, .members = {}}), 0U);
}

TEST(RoomPresence, AMemberInTheSlotOfAVerifiedOneIsNotVerified) {
  RoomBench bench{{.members_max = 3}};
  const room::MemberNumber from = bench.join();
  const room::MemberNumber before = bench.join();
  bench.room.leave(bench.now, before, room::LeaveReason::kLeft);
  for (size_t i = 0; i < kLegsMax - 1; ++i) {  // until the slot comes round again
    const room::MemberNumber later = *bench.room.join(bench.now);
    const uint64_t out = bench.room.stats().sounds_out;
    bench.sound(from, DataSize{200}, 20);
    EXPECT_EQ(bench.room.stats().sounds_out, out) << later;
    bench.room.leave(bench.now, later, room::LeaveReason::kLeft);
    bench.run_until(bench.now + 20ms);
  }
}

TEST(RoomPresence, ASecretIsGivenToItsMemberAlone) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  const room::MemberNumber to = bench.join();
  const room::MemberNumber other = bench.join();
  bench.say(from, room::Shares{.serial = 1,
                               .shares = {{to, marked("for one of them")},
                                          {other, marked("for the other")},
                                          {from, marked("for myself")},
                                          {777, marked("for nobody")}}});
  bench.run_until(bench.now + 100ms);
  EXPECT_TRUE(bench.was_sent(to, "for one of them"));
  EXPECT_FALSE(bench.was_sent(to, "for the other"));
  EXPECT_TRUE(bench.was_sent(other, "for the other"));
  EXPECT_FALSE(bench.was_sent(from, "for myself"));
}

TEST(RoomPresence, AProofOfAudioGoesToThoseWhoGotThatAudio) {
  RoomBench bench;
  const room::MemberNumber from = bench.join_without_camera();
  const room::MemberNumber to = bench.join_without_camera();
  const auto gets = [&](const std::string& mark) {
    bench.say(from, room::Proof{.serial = ++bench.serial, .bytes = marked(mark)});
    bench.run_until(bench.now + 100ms);
    return bench.was_sent(to, mark);
  };
  bench.run_until(kTimeZero + 10s);
  EXPECT_FALSE(gets("before any audio"));
  bench.sound(from, DataSize{200}, 20);
  EXPECT_TRUE(gets("of that audio"));
  bench.run_until(bench.now + 2800ms);
  EXPECT_TRUE(gets("late, behind an outage"));
  bench.run_until(bench.now + 200ms);
  EXPECT_FALSE(gets("three seconds later"));
}

TEST(RoomPresence, AProofOfVideoGoesToThoseWhoMaySeeIt) {
  RoomBench bench;
  const room::MemberNumber from = bench.join();
  const room::MemberNumber sees = bench.join();
  const room::MemberNumber blind = bench.join_blind();
  bench.run_until(bench.now + 5s);
  bench.keep_cameras();
  bench.run_until(bench.now + 1s);
  ASSERT_GT(bench.room.level(sees, from), FrameKind::kNone);
  bench.say(from, room::Proof{.serial = 1, .of_video = true, .bytes = marked("of my video")});
  bench.run_until(bench.now + 100ms);
  EXPECT_TRUE(bench.was_sent(sees, "of my video"));
  EXPECT_FALSE(bench.was_sent(blind, "of my video"));
  EXPECT_FALSE(bench.was_sent(from, "of my video"));
}

TEST(RoomPresence, OnlyItsTokenEndsAnEarlierPresence) {
  RoomBench bench;
  room::PresenceToken token{};
  token[3] = std::byte{7};
  const room::MemberNumber early = *bench.room.join(bench.now, token);
  const room::MemberNumber plain = *bench.room.join(bench.now);
  const room::MemberNumber later = bench.join();
  const auto members_after = [&](const room::Replacing& replacing) {
    bench.say(later, replacing);
    return bench.room.members();
  };
  room::PresenceToken guess = token;
  guess[15] = std::byte{1};
  EXPECT_EQ(members_after({early, guess}), 3U);
  EXPECT_EQ(members_after({early, {}}), 3U);
  EXPECT_EQ(members_after({plain, {}}), 3U) << "without a token nobody takes its place";
  EXPECT_EQ(members_after({plain, token}), 3U);
  EXPECT_EQ(members_after({early, token}), 2U);
  bench.run_until(bench.now + 10ms);
  ASSERT_EQ(bench.departures.size(), 1U);
  EXPECT_EQ(bench.departures[0].number, early);
  EXPECT_EQ(bench.departures[0].reason, room::LeaveReason::kLost);
}

TEST(RoomNews, LeavesTwoSecondsApartBeginEpochs) {
  SimulatedRoom world;
  const LegLinks links{.down = constant_trace(of_kbps(20'000)),
                       .up = constant_trace(of_kbps(6'000))};
  for (int i = 0; i < 5; ++i) {
    world.join(links);
  }
  const auto epoch_after_leave = [&world](size_t member, TimePoint at) {
    world.run_until(at);
    world.member(member).put(room::Leaving{});
    world.run_until(at + 1s);
    return world.member(4).epoch();
  };
  EXPECT_EQ(epoch_after_leave(0, kTimeZero + 1s), 1U) << "the first at once";
  EXPECT_EQ(epoch_after_leave(1, kTimeZero + 2500ms), 1U);
  EXPECT_EQ(epoch_after_leave(2, kTimeZero + 3500ms), 2U);
  const size_t newcomer = world.join(links);
  world.run_until(kTimeZero + 6s);
  EXPECT_EQ(world.member(newcomer).welcome()->epoch, 2U);
}

TEST(RoomLimit, WithEverySlotTakenJoinFails) {
  Room room{kTimeZero, {.members_max = 1}};
  for (size_t i = 0; i < kLegsMax; ++i) {
    EXPECT_TRUE(room.join(kTimeZero)) << i;
  }
  EXPECT_EQ(room.stats().refused_joins, kLegsMax - 1);
  EXPECT_FALSE(room.join(kTimeZero));
  EXPECT_EQ(room.stats().refused_joins, kLegsMax);
  EXPECT_EQ(room.stats().joins, 1U);
}

// Frames that refer to one of two parts, whose second part arrives last: those that the leg then
// gets.
uint64_t sent_after_reference_is_whole(uint32_t back) {
  RoomBench bench;
  const room::MemberNumber from = bench.join_blind();
  bench.join();
  bench.run_until(bench.now + 300ms);
  const uint32_t id = 1000;
  const auto frame = [&](uint32_t number, uint32_t reference, size_t size) {
    return media::fragment({.id = number,
                            .reference_id = reference,
                            .key_frame = number == reference,
                            .anchor = true,
                            .data = std::vector<std::byte>(size)},
                           DataSize{120}, 0);
  };
  const auto say = [&](const std::vector<std::byte>& part) {
    bench.say(from, session::kVideoFlow, room::build_member_message(0, part));
    bench.run_until(bench.now + 1ms);
  };
  const auto key = frame(id, id, 150);
  EXPECT_EQ(key.size(), 2U);
  say(key[0]);
  say(frame(id + back, id, 50)[0]);
  const uint64_t before = bench.room.stats().fragments_out;
  EXPECT_EQ(before, 1U);
  say(key[1]);
  // No member reports arrivals, so the leg may hold the last one back.
  const bool waits = bench.room.member_views()[1].waiting > DataSize{};
  return bench.room.stats().fragments_out - before + (waits ? 1 : 0);
}

TEST(RoomLimit, AFrameWaitsForAReferenceSixtyFourBefore) {
  EXPECT_EQ(sent_after_reference_is_whole(1), 2U);
  EXPECT_EQ(sent_after_reference_is_whole(64), 2U);
  EXPECT_EQ(sent_after_reference_is_whole(65), 1U);
}

TEST(RoomLimit, NumbersAreGivenInOrderAndNoneTwice) {
  Room room{kTimeZero, {}};
  for (room::MemberNumber expected = 1; expected <= 200; ++expected) {
    const auto number = room.join(kTimeZero);
    EXPECT_EQ(number, expected);
    room.leave(kTimeZero, *number, room::LeaveReason::kLeft);
  }
}

}  // namespace
}  // namespace cress::relay
