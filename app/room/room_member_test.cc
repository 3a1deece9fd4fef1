#include "app/room/room_member.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/call/control_message.hh"
#include "app/room/room_test_tools.hh"
#include "media/frame/fragment.hh"
#include "media/rate/adaptive_encoder.hh"
#include "transport/room/media_head.hh"

namespace cress::room {
namespace {

double psnr(const media::Picture& a, const media::Picture& b) {
  double sum = 0;
  for (size_t i = 0; i < a.luma_size(); ++i) {
    const double difference = static_cast<double>(a.y()[i]) - b.y()[i];
    sum += difference * difference;
  }
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(a.luma_size()) / std::max(sum, 1.0));
}

Duration longest_gap(const std::vector<const RoomShown*>& shown) {
  Duration longest{};
  for (size_t i = 1; i < shown.size(); ++i) {
    longest = std::max(longest, shown[i]->frame.shown - shown[i - 1]->frame.shown);
  }
  return longest;
}

Duration delay_p95(const std::vector<const RoomShown*>& shown) {
  std::vector<Duration> delays;
  for (const RoomShown* frame : shown) {
    delays.push_back(frame->frame.shown - frame->frame.captured);
  }
  std::ranges::sort(delays);
  return delays.empty() ? Duration::max() : delays[delays.size() * 95 / 100];
}

/// A receiver displayed the same as all others of the same frame, and what was captured.
void expect_pictures_are_true(const std::vector<const Seat*>& viewers, const Seat& sender,
                              size_t at_least) {
  std::map<uint32_t, media::PicturePtr> seen;
  media::SyntheticCamera camera{
      {.width = kTestWidth, .height = kTestHeight, .seed = sender.camera_seed}};
  size_t compared = 0;
  for (const Seat* viewer : viewers) {
    for (const RoomShown* shown : viewer->shown_of(sender.number)) {
      const auto [at, is_first] = seen.emplace(shown->frame.frame_id, shown->frame.picture);
      ASSERT_EQ(*at->second, *shown->frame.picture) << "frame " << shown->frame.frame_id;
      compared += is_first ? 0 : 1;
      if (is_first && shown->frame.picture->width == kTestWidth) {
        ASSERT_GT(psnr(*camera.picture(shown->frame.frame_id), *shown->frame.picture), 20.0);
      }
    }
  }
  EXPECT_GE(compared, at_least);
}

TEST(RoomMember, ThreeMembersSeeAndHearEachOtherAndKnowTheirNames) {
  SimulatedRoom room;
  std::vector<Seat*> seats;
  for (const char* name : {"Ada", "Ben", "Cem"}) {
    seats.push_back(&room.join({.name = name, .seed = seats.size() + 1}));
  }
  room.run_until(kTimeZero + 8s);
  for (const Seat* seat : seats) {
    EXPECT_TRUE(seat->has(RoomEvent::Kind::kWelcome, seat->number));
    const auto others = seat->member->others();
    ASSERT_EQ(others.size(), 2U);
    for (const OtherMember& other : others) {
      SCOPED_TRACE(other.person.name);
      EXPECT_TRUE(other.is_live);
      EXPECT_EQ(other.frames_unopened, 0U);
      EXPECT_EQ(other.frames_undecodable, 0U);
      EXPECT_EQ(other.key_frames_asked, 0U);
      EXPECT_GT(other.sound_played, 100U) << "the synthetic voices speak half of the time";
      EXPECT_LE(other.sound_concealed, 8U);
      const auto shown = seat->shown_of(other.number);
      ASSERT_GT(shown.size(), 200U);
      EXPECT_LE(shown.front()->frame.shown, kTimeZero + 1s);
      EXPECT_LE(longest_gap(seat->shown_of(other.number, kTimeZero + 2s)), 150ms);
    }
    EXPECT_EQ(std::ranges::count(seat->coded, true, &app::CodedVideo::key_frame), 1);
    EXPECT_GT(seat->played.size(), 350U);
  }
  EXPECT_NE(seats[0]->other("Ben"), nullptr);
  EXPECT_NE(seats[0]->other("Cem"), nullptr);
  for (const Seat* sender : seats) {
    std::vector<const Seat*> viewers;
    std::ranges::copy_if(seats, std::back_inserter(viewers),
                         [&](const Seat* seat) { return seat != sender; });
    expect_pictures_are_true(viewers, *sender, 200);
  }
}

TEST(RoomMember, DecodingAllOthersInOneOtherThreadShowsTheSame) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .loss = 0.03, .seed = 3});
  Seat& dia = room.join({.name = "Dia", .loss = 0.03, .seed = 4, .decoding = 8ms});
  room.run_until(kTimeZero + 8s);
  for (const OtherMember& other : dia.member->others()) {
    SCOPED_TRACE(other.person.name);
    EXPECT_EQ(other.frames_undecodable, 0U);
    EXPECT_GT(dia.shown_of(other.number).size(), 150U);
    EXPECT_LE(longest_gap(dia.shown_of(other.number, kTimeZero + 2s)), 300ms);
  }
  expect_pictures_are_true({&ben, &cem, &dia}, ada, 300);
  expect_pictures_are_true({&ada, &ben, &dia}, cem, 200);
}

TEST(RoomMember, OnNarrowAndLossyLegsNoFrameDecodesWrongly) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .loss = 0.03, .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .loss = 0.08, .seed = 3});
  Seat& dia = room.join({.name = "Dia", .down = DataRate::kilobits_per_second(500), .seed = 4});
  room.run_until(kTimeZero + 25s);
  expect_pictures_are_true({&ben, &cem, &dia}, ada, 600);
  expect_pictures_are_true({&ada, &cem, &dia}, ben, 600);
  for (Seat* viewer : {&ada, &ben, &cem, &dia}) {
    for (const OtherMember& other : viewer->member->others()) {
      EXPECT_EQ(other.frames_undecodable, 0U);
      EXPECT_EQ(other.frames_unopened, 0U);
      EXPECT_FALSE(other.is_distrusted);
      EXPECT_LE(other.key_frames_asked, 4U) << other.person.name;
    }
  }
  // A narrow link means fewer frames, not none, and they are recent.
  const auto shown = dia.shown_of(ben.number, kTimeZero + 5s);
  EXPECT_GT(shown.size(), 20U);
  EXPECT_LE(delay_p95(shown), 600ms);
}

TEST(RoomMember, NewMemberSeesAllWithinASecondWithoutDisturbance) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 6s);
  const Duration before = delay_p95(ben.shown_of(ada.number, kTimeZero + 2s));
  Seat& cem = room.join({.name = "Cem", .seed = 3});
  room.run_until(kTimeZero + 12s);
  for (const Seat* seen : {&ada, &ben}) {
    const auto shown = cem.shown_of(seen->number);
    ASSERT_FALSE(shown.empty());
    EXPECT_LE(shown.front()->frame.shown - cem.joined, 1s);
    EXPECT_TRUE(seen->has(RoomEvent::Kind::kJoined, cem.number));
    EXPECT_TRUE(cem.has(RoomEvent::Kind::kPresent, seen->number));
    EXPECT_FALSE(cem.has(RoomEvent::Kind::kJoined, seen->number)) << "is no news to who came later";
    EXPECT_LE(seen->shown_of(cem.number).front()->frame.shown - cem.joined, 1s);
  }
  const auto during = ben.shown_of(ada.number, kTimeZero + 6s);
  EXPECT_LE(longest_gap(during), 200ms);
  EXPECT_LE(delay_p95(during), before * 12 / 10 + 5ms);
}

TEST(RoomMember, LeavingMemberDisappearsWithoutOtherEffects) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .seed = 3});
  room.run_until(kTimeZero + 5s);
  room.leave(cem);
  room.run_until(kTimeZero + 10s);
  for (Seat* seat : {&ada, &ben}) {
    EXPECT_EQ(seat->member->others().size(), 1U);
    EXPECT_TRUE(seat->has(RoomEvent::Kind::kLeft, cem.number));
    EXPECT_EQ(seat->other("Cem"), nullptr);
    EXPECT_TRUE(seat->shown_of(cem.number, kTimeZero + 5500ms).empty());
    const auto shown = seat->shown_of(seat == &ada ? ben.number : ada.number, kTimeZero + 4500ms);
    EXPECT_LE(longest_gap(shown), 150ms) << "new keys are not seen";
    EXPECT_EQ(seat->member->others().front().frames_unopened, 0U);
    EXPECT_EQ(seat->member->others().front().key_frames_asked, 0U);
  }
  EXPECT_EQ(room.room().members(), 2U);
}

TEST(RoomMember, CardsCarryNamesAndMuteState) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .loss = 0.2, .seed = 2});
  room.run_until(kTimeZero + 2s);
  ada.member->set_person(room.now(), {.name = "Ada L.", .muted = true, .camera_off = true});
  room.run_until(kTimeZero + 4s);
  ASSERT_NE(ben.other("Ada L."), nullptr);
  EXPECT_TRUE(ben.other("Ada L.")->person.muted);
  EXPECT_TRUE(ben.other("Ada L.")->person.camera_off);
  EXPECT_TRUE(ben.has(RoomEvent::Kind::kChanged, ada.number));
}

TEST(RoomMember, AMemberIsSilentUntilAudioIsPlayed) {
  SimulatedRoom room;
  room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  while (ben.other("Ada") == nullptr) {
    ASSERT_LT(room.now(), kTimeZero + 2s);
    EXPECT_TRUE(ben.played.empty());
    room.run_until(room.now() + 1ms);
  }
  EXPECT_EQ(ben.other("Ada")->level_dbov, -127);
}

TEST(RoomMember, MemberWhoseVideoIsNotRequestedSendsNone) {
  relay::RoomOptions options;
  SimulatedRoom room{options};
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  room.run_until(kTimeZero + 3s);
  EXPECT_EQ(ada.member->video_rate_max(), DataRate{});
  const auto sent = std::ranges::count_if(
      ada.coded, [](const app::CodedVideo& coded) { return coded.size > DataSize{}; });
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 6s);
  EXPECT_GT(ben.shown_of(ada.number).size(), 60U);
  EXPECT_GT(ada.member->video_rate_max(), DataRate{});
  EXPECT_LE(sent, 5) << "until the relay had said so";
}

TEST(RoomMember, TheRelaysFarewellIsTheLastEvent) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 2s);
  room.room().close(room.now(), {.reason = room::FarewellReason::kDraining, .again_in = 1500ms});
  room.run_until(kTimeZero + 4s);
  for (const Seat* seat : {&ada, &ben}) {
    ASSERT_TRUE(seat->member->farewell().has_value());
    EXPECT_EQ(seat->events.back().kind, RoomEvent::Kind::kFarewell);
    EXPECT_EQ(seat->events.back().farewell.again_in, 1500ms);
  }
}

std::vector<RoomEvent> events_of(RoomMember& member) {
  std::vector<RoomEvent> events;
  while (const auto event = member.poll_event()) {
    events.push_back(*event);
  }
  return events;
}

// ---- A relay of our own making: frames modified in transit are not displayed.

secure::Secret helpers_secret() {
  secure::Secret secret;
  secret.bytes()[5] = std::byte{5};
  return secret;
}

/// The relay's end of a leg together with the keys of a member with the room's link.
class LyingRelay {
 public:
  explicit LyingRelay(bool welcomes = true, RoomMemberOptions options = {})
      : endpoint_(kTimeZero, {}, test_control()) {
    app::open_call_flows(endpoint_);
    options.media = test_media();
    options.prefer = app::Preference::kSharp;  // no frame waits for display
    member_ = std::make_unique<RoomMember>(kTimeZero, std::move(options), test_control());
    if (welcomes) {
      welcome();
    }
  }
  void welcome() {
    notify(room::Welcome{.number = 1, .members_max = 8});
    exchange();
  }

  void introduce_helper() {
    notify(
        room::MemberNews{2, {1, helper_.make_card(app::encode(app::PersonState{.name = "Two"}))}});
    exchange();
    for (const auto& card : cards_) {
      (void)helper_.handle_card(1, card);
    }
    exchange();
  }
  void notify(const room::RoomMessage& message) {
    endpoint_.send(now_, session::kControlFlow, room::build_room_message(message),
                   session::Leave::kNow);
  }
  void send_frame(const media::EncodedFrame& frame, MemberNumber as = 2) {
    for (const auto& message : media::fragment(frame, DataSize{900})) {
      endpoint_.send(now_, session::kVideoFlow, room::build_member_message(as, message),
                     session::Leave::kNow);
    }
    exchange();
  }
  media::EncodedFrame code(uint32_t id) {
    now_ += 33ms;
    media::EncodedFrame frame =
        encoder_.encode(now_, id, camera_.picture(id), DataSize{6000}).frame;
    encoder_.handle_decoded(id);
    return frame;
  }
  media::EncodedFrame seal(media::EncodedFrame frame) {
    frame.data = helper_.seal(now_, secure::MediaKind::kVideo, frame_metadata(frame), frame.data);
    return frame;
  }
  void exchange() {
    for (int round = 0; round < 3; ++round) {
      while (const auto share = helper_.poll_share()) {
        notify(room::MemberShare{2, share->bytes});
      }
      now_ += 1ms;
      member_->handle_timeout(now_);
      while (const auto bytes = endpoint_.poll_transmit(now_)) {
        (void)member_->handle_datagram(now_, *bytes);
      }
      while (const auto bytes = member_->poll_transmit(now_)) {
        (void)endpoint_.handle_datagram(now_, *bytes);
      }
      while (const auto message = endpoint_.poll_message()) {
        const auto parsed = room::parse_room_message(message->bytes);
        if (const auto* shares = parsed ? std::get_if<room::Shares>(&*parsed) : nullptr) {
          for (const room::Share& share : shares->shares) {
            (void)helper_.handle_share(now_, 1, share.bytes);
          }
        } else if (const auto* card = parsed ? std::get_if<room::Card>(&*parsed) : nullptr) {
          cards_.push_back(card->sealed);
        } else if (const auto* audience =
                       parsed ? std::get_if<room::Audience>(&*parsed) : nullptr) {
          audience_ = audience->members;
        }
      }
      while (auto shown = member_->poll_shown()) {
        shown_.push_back(*std::move(shown));
      }
    }
  }

  RoomMember& member() { return *member_; }
  secure::RoomKeys& helper() { return helper_; }
  const std::vector<RoomShown>& shown() const { return shown_; }
  const std::vector<MemberNumber>& audience() const { return audience_; }
  TimePoint now() const { return now_; }

 private:
  TimePoint now_ = kTimeZero;
  session::Endpoint endpoint_;
  std::unique_ptr<RoomMember> member_;
  secure::RoomKeys helper_{test_media(), 2, {.draw_secret = helpers_secret}};
  media::SyntheticCamera camera_{{.width = kTestWidth, .height = kTestHeight}};
  media::AdaptiveEncoder encoder_{
      {.width = kTestWidth, .height = kTestHeight, .temporal_layers = 3, .anchor_interval = 4}};
  std::vector<std::vector<std::byte>> cards_;
  std::vector<MemberNumber> audience_;
  std::vector<RoomShown> shown_;
};

TEST(RoomMember, FrameWithAModifiedHeaderIsNeverDisplayed) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  ASSERT_TRUE(relay.member().others().front().is_live);
  relay.send_frame(relay.seal(relay.code(0)));
  ASSERT_EQ(relay.shown().size(), 1U);
  uint32_t id = 1;
  uint64_t refused = 0;
  const auto expect_refused = [&](const char* what, const auto& change) {
    SCOPED_TRACE(what);
    media::EncodedFrame frame = relay.seal(relay.code(id++));
    change(frame);
    const size_t shown = relay.shown().size();
    relay.send_frame(frame);
    EXPECT_EQ(relay.shown().size(), shown);
    EXPECT_EQ(relay.member().others().front().frames_unopened, ++refused);
  };
  expect_refused("capture time", [](auto& frame) { frame.capture_time += 1s; });
  expect_refused("number", [](auto& frame) { frame.id += 1, frame.reference_id += 1; });
  ++id;
  expect_refused("reference", [](auto& frame) {
    frame.reference_id = frame.reference_id == 0 ? 1 : frame.reference_id - 1;
  });
  expect_refused("layer", [](auto& frame) {
    frame.anchor = false;
    frame.temporal_layer = frame.temporal_layer == 1 ? 2 : 1;
  });
  expect_refused("anchor", [](auto& frame) {
    frame.temporal_layer = 0;
    frame.anchor = !frame.anchor;
  });
  expect_refused("key", [](auto& frame) {
    frame.temporal_layer = 0;
    frame.anchor = false;
    frame.key_frame = true;
    frame.reference_id = frame.id;
  });
  expect_refused("a byte", [](auto& frame) { frame.data.back() ^= std::byte{1}; });
  expect_refused("cut", [](auto& frame) { frame.data.pop_back(); });
  // Later complete frames are displayed again, because the sender's encoder has continued.
  EXPECT_EQ(relay.member().others().front().frames_undecodable, 0U);
}

/// A frame sealed in the helper's name by another member: all of them have its secret.
media::EncodedFrame forge(const secure::RoomKeys& owner, uint64_t counter,
                          media::EncodedFrame frame) {
  std::string label = "cress sender";
  label.append(reinterpret_cast<const char*>(owner.instance().data()), owner.instance().size());
  const secure::Secret media = test_media();
  const secure::Secret secret = helpers_secret();
  std::vector<std::byte> both(media.bytes().begin(), media.bytes().end());
  both.insert(both.end(), secret.bytes().begin(), secret.bytes().end());
  secure::SFrameKey key{secure::SFrameSuite::kAes128GcmSha256, secure::Use::kSeal,
                        uint64_t{owner.member()} * 256,
                        secure::expand(secure::extract(both, "cress frame 1"), label).bytes()};
  frame.data = key.seal(counter, frame_metadata(frame), frame.data);
  return frame;
}

TEST(RoomMember, FramesInAnothersNameAreFoundAndThenNoneIsDisplayed) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  relay.send_frame(relay.seal(relay.code(0)));
  const media::EncodedFrame forged = relay.code(1);
  (void)relay.seal(forged);  // its owner's frame with this counter does not arrive
  media::EncodedFrame changed = forged;
  changed.capture_time += 1ms;
  relay.send_frame(forge(relay.helper(), 1, changed));
  ASSERT_EQ(relay.shown().size(), 2U) << "as long as nothing contradicts it";
  EXPECT_FALSE(relay.member().others().front().is_distrusted);
  const auto proof = relay.helper().poll_proof(relay.now() + 2s);
  ASSERT_TRUE(proof);
  relay.notify(room::MemberProof{2, {.serial = 1, .of_video = true, .bytes = proof->bytes}});
  relay.exchange();
  EXPECT_TRUE(relay.member().others().front().is_distrusted);
  relay.send_frame(relay.seal(relay.code(2)));
  EXPECT_EQ(relay.shown().size(), 2U);
  EXPECT_EQ(relay.member().stats().proofs_refused, 0U);
  const auto events = events_of(relay.member());
  EXPECT_EQ(events.back().kind, RoomEvent::Kind::kDistrusted);
  EXPECT_EQ(events.back().member, 2);
}

TEST(RoomMember, FrameInTheDecoderWhenItsSenderIsDistrustedIsNotDisplayed) {
  RoomMemberOptions options;
  options.hands_out_decoding = true;
  LyingRelay relay{true, std::move(options)};
  relay.introduce_helper();
  relay.introduce_helper();
  const media::EncodedFrame forged = relay.code(0);
  (void)relay.seal(forged);
  media::EncodedFrame changed = forged;
  changed.capture_time += 1ms;
  relay.send_frame(forge(relay.helper(), 0, changed));
  const auto work = relay.member().poll_decode_work();
  ASSERT_NE(work, nullptr);
  const auto proof = relay.helper().poll_proof(relay.now() + 2s);
  ASSERT_TRUE(proof);
  relay.notify(room::MemberProof{2, {.serial = 1, .of_video = true, .bytes = proof->bytes}});
  relay.exchange();
  ASSERT_TRUE(relay.member().others().front().is_distrusted);
  work->run();
  relay.member().handle_decoded(relay.now(), *work);
  relay.exchange();
  EXPECT_TRUE(work->outcome() && *work->outcome()) << "it can be decoded";
  EXPECT_TRUE(relay.shown().empty());
}

std::vector<std::string> chat_of(RoomMember& member) {
  std::vector<std::string> lines;
  for (const RoomEvent& event : events_of(member)) {
    if (event.kind == RoomEvent::Kind::kChat) {
      lines.push_back(event.text);
    }
  }
  return lines;
}

std::vector<std::byte> line_of(LyingRelay& relay, std::string_view text) {
  return relay.helper().seal_chat(relay.now(), std::as_bytes(std::span{text}));
}

TEST(RoomMember, ALineBeforeTheProofOfPresenceIsReadAfterIt) {
  LyingRelay relay;
  relay.introduce_helper();
  for (uint32_t serial = 1; serial <= 20; ++serial) {
    relay.notify(room::MemberChat{2, {serial, line_of(relay, std::to_string(serial))}});
    relay.exchange();
  }
  EXPECT_TRUE(chat_of(relay.member()).empty());
  EXPECT_EQ(relay.member().stats().chats_refused, 20U - RoomMember::kChatsWaitingMax);
  relay.introduce_helper();
  const auto lines = chat_of(relay.member());
  ASSERT_EQ(lines.size(), RoomMember::kChatsWaitingMax);
  EXPECT_EQ(lines.front(), "1");
}

TEST(RoomMember, HostileLinesAreCleanedOrRefused) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  const auto notify = [&](MemberNumber writer, std::vector<std::byte> line) {
    relay.notify(room::MemberChat{writer, {.serial = 1, .line = std::move(line)}});
    relay.exchange();
    return chat_of(relay.member());
  };
  const auto line = line_of(relay, "one\n\x1B[31mtwo \xE2\x80\xAEthree\xFF ");
  EXPECT_EQ(notify(2, line), std::vector<std::string>{"one [31mtwo three"});
  EXPECT_EQ(notify(2, line), std::vector<std::string>{}) << "repeated";
  EXPECT_EQ(notify(2, line_of(relay, " \x01 ")), std::vector<std::string>{})
      << "nothing to be seen";
  EXPECT_EQ(notify(2, {}), std::vector<std::string>{});
  EXPECT_EQ(notify(2, std::vector<std::byte>(997, std::byte{9})), std::vector<std::string>{});
  EXPECT_EQ(notify(7, line_of(relay, "of nobody")), std::vector<std::string>{});
  EXPECT_EQ(relay.member().stats().chats_refused, 4U);
  EXPECT_EQ(notify(2, line_of(relay, "and on")), std::vector<std::string>{"and on"});
}

TEST(RoomMember, ALineThatOvertookIsHeldAndReadBeforeItsWriterLeaves) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  const auto notify = [&](uint32_t serial, std::string_view text) {
    relay.notify(room::MemberChat{2, {serial, line_of(relay, text)}});
    relay.exchange();
    return chat_of(relay.member());
  };
  EXPECT_TRUE(notify(2, "second").empty());
  EXPECT_LE(relay.member().poll_timeout(), relay.now() + ChatOrder::kHeldMax);
  EXPECT_EQ(notify(1, "first"), (std::vector<std::string>{"first", "second"}));
  EXPECT_TRUE(notify(4, "fourth").empty());
  relay.notify(room::MemberLeft{.number = 2});
  relay.exchange();
  const auto events = events_of(relay.member());
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].text, "fourth");
  EXPECT_EQ(events[1].kind, RoomEvent::Kind::kLeft);
}

TEST(RoomMember, LinesBeyondALimitAreDroppedBeforeTheyAreOpened) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  for (uint32_t serial = 1; serial <= 60; ++serial) {
    relay.notify(room::MemberChat{2, {serial, line_of(relay, std::to_string(serial))}});
    relay.exchange();
  }
  const auto lines = chat_of(relay.member());
  EXPECT_GE(lines.size(), 24U);
  EXPECT_LE(lines.size(), 40U);
  EXPECT_EQ(lines.size() + relay.member().stats().chats_over_limit, 60U);
}

TEST(RoomMember, AProofThatItsSenderDidNotSignChangesNothing) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  relay.send_frame(relay.seal(relay.code(0)));
  const auto forged = secure::build_frame_proof(
      {.kind = secure::MediaKind::kVideo, .first = 0, .frames = {secure::FrameHash{}}},
      secure::SigningKey{}, {});
  relay.notify(room::MemberProof{2, {.serial = 1, .of_video = true, .bytes = forged}});
  relay.notify(room::MemberProof{7, {.serial = 1, .of_video = true, .bytes = forged}});
  relay.exchange();
  EXPECT_EQ(relay.member().stats().proofs_refused, 2U);
  relay.send_frame(relay.seal(relay.code(1)));
  EXPECT_EQ(relay.shown().size(), 2U);
}

TEST(RoomMember, NobodyIsDistrustedBehindLossAndOutages) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .loss = 0.1, .seed = 2, .outage = 3s});
  Seat& cem = room.join({.name = "Cem", .down = DataRate::kilobits_per_second(300), .seed = 3});
  room.run_until(kTimeZero + 10s);
  Seat& dia = room.join({.name = "Dia", .loss = 0.1, .seed = 4, .outage = 5s});
  room.run_until(kTimeZero + 25s);
  for (const Seat* seat : {&ada, &ben, &cem, &dia}) {
    for (const OtherMember& other : seat->member->others()) {
      EXPECT_TRUE(other.is_live);
      EXPECT_FALSE(other.is_distrusted) << other.person.name;
      EXPECT_GT(other.sound_played, 200U);
    }
    EXPECT_EQ(seat->member->stats().proofs_refused, 0U);
  }
}

TEST(RoomMember, WhoComesBackWithAnotherKeyIsAnnounced) {
  SimulatedRoom room;
  const secure::SigningKey cems;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  Seat& cem = room.join({.name = "Cem", .seed = 3, .identity = cems});
  room.run_until(kTimeZero + 2s);
  EXPECT_EQ(ada.other("Ben")->key_code, ben.member->key_code());
  EXPECT_EQ(ada.other("Cem")->key_code, cem.member->key_code());
  EXPECT_NE(ben.member->key_code(), cem.member->key_code());
  room.leave(ben);
  room.leave(cem);
  room.run_until(kTimeZero + 3s);
  const Seat& other_ben = room.join({.name = "Ben", .seed = 4});
  const Seat& same_cem = room.join({.name = "Cem", .seed = 5, .identity = cems});
  room.run_until(kTimeZero + 5s);
  EXPECT_TRUE(ada.has(RoomEvent::Kind::kKeyChanged, other_ben.number));
  EXPECT_TRUE(ada.has(RoomEvent::Kind::kJoined, same_cem.number));
  EXPECT_FALSE(ada.has(RoomEvent::Kind::kKeyChanged, same_cem.number));
}

TEST(RoomMember, ReplayedOrMisattributedFrameIsNotDisplayed) {
  LyingRelay relay;
  relay.introduce_helper();
  relay.introduce_helper();
  const media::EncodedFrame frame = relay.seal(relay.code(0));
  relay.send_frame(frame);
  ASSERT_EQ(relay.shown().size(), 1U);
  relay.send_frame(frame);
  relay.send_frame(frame, 3);
  relay.send_frame(frame, 1);
  EXPECT_EQ(relay.shown().size(), 1U);
  const auto others = relay.member().others();
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others.back().number, 3U);
  EXPECT_FALSE(others.back().is_live) << "no card";
}

TEST(RoomMember, FramesBeforeTheProofAreDisplayedAfterIt) {
  LyingRelay relay;
  // The helper's first card greets no member: it could be a replay.
  relay.introduce_helper();
  ASSERT_EQ(relay.member().others().size(), 1U);
  EXPECT_FALSE(relay.member().others().front().is_live);
  for (uint32_t id = 0; id < 5; ++id) {
    relay.send_frame(relay.seal(relay.code(id)));
  }
  EXPECT_TRUE(relay.shown().empty());
  relay.introduce_helper();
  EXPECT_TRUE(relay.member().others().front().is_live);
  EXPECT_EQ(relay.shown().size(), 5U);
}

TEST(RoomMember, FramesWithoutProofOfPresenceAreBounded) {
  LyingRelay relay;
  relay.introduce_helper();
  for (uint32_t id = 0; id < RoomMember::kWaitingMax + 20; ++id) {
    relay.send_frame(relay.seal(relay.code(id)));
  }
  EXPECT_TRUE(relay.shown().empty());
  EXPECT_EQ(relay.member().others().front().frames_unopened, 20U);
}

TEST(RoomMember, MessagesBeforeTheWelcomeAreKept) {
  LyingRelay relay{false};
  relay.introduce_helper();
  relay.send_frame(relay.seal(relay.code(0)));
  ASSERT_EQ(relay.member().others().size(), 1U);
  EXPECT_FALSE(relay.member().others().front().is_live);
  relay.welcome();
  ASSERT_EQ(relay.member().others().size(), 1U);
  EXPECT_EQ(relay.member().others().front().person.name, "Two");
  relay.introduce_helper();
  relay.introduce_helper();
  EXPECT_EQ(relay.shown().size(), 1U);
}

TEST(RoomMember, MembersWithoutAValidCardAreUnidentified) {
  LyingRelay relay;
  secure::Secret other_room;
  secure::RoomKeys stranger{other_room, 3};
  relay.notify(room::MemberNews{3, {1, stranger.make_card({})}});
  relay.notify(room::MemberNews{4, {1, relay.helper().make_card({})}});  // of another number
  relay.notify(room::MemberNews{5, {}});                                 // has sent none
  relay.exchange();
  EXPECT_EQ(relay.member().stats().cards_refused, 2U);
  std::vector<MemberNumber> unidentified;
  for (const OtherMember& other : relay.member().others()) {
    EXPECT_FALSE(other.is_live);
    EXPECT_EQ(other.person.name, "");
    unidentified.push_back(other.number);
  }
  EXPECT_EQ(unidentified, (std::vector<MemberNumber>{3, 4, 5}));
  EXPECT_FALSE(relay.member().poll_event() && relay.member().poll_event()) << "the welcome alone";
  relay.notify(room::MemberLeft{4});
  relay.exchange();
  EXPECT_EQ(relay.member().others().size(), 2U);
}

TEST(RoomMember, WhatArrivesAfterAMemberLeftDoesNotBringItBack) {
  LyingRelay relay;
  relay.introduce_helper();
  ASSERT_EQ(relay.member().others().size(), 1U);
  relay.notify(room::MemberLeft{2});
  relay.exchange();
  relay.introduce_helper();  // the news overtook
  relay.send_frame(relay.seal(relay.code(0)));
  EXPECT_TRUE(relay.member().others().empty());
  relay.send_frame(relay.code(1), 3);
  EXPECT_EQ(relay.member().others().size(), 1U) << "of one that is yet to be introduced";
}

TEST(RoomMember, MediaGoesToIdentifiedMembersAlone) {
  LyingRelay relay;
  relay.notify(room::MemberNews{3, {}});
  relay.introduce_helper();
  EXPECT_EQ(relay.audience(), std::vector<MemberNumber>{}) << "its card greets nobody: a replay?";
  relay.introduce_helper();
  ASSERT_TRUE(relay.member().others().front().is_live);
  EXPECT_EQ(relay.audience(), std::vector<MemberNumber>{2});
  relay.notify(room::MemberLeft{2});
  relay.exchange();
  EXPECT_EQ(relay.audience(), std::vector<MemberNumber>{});
}

TEST(RoomMember, MemberWithAnothersNameHidesNobody) {
  SimulatedRoom room;
  Seat& ada = room.join({.name = "Ada", .seed = 1});
  Seat& ben = room.join({.name = "Ben", .seed = 2});
  room.run_until(kTimeZero + 2s);
  room.crash(ben);  // silent, and still a member for the relay
  Seat& other = room.join({.name = "Ben", .seed = 3});
  room.run_until(kTimeZero + 8s);
  const auto others = ada.member->others();
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].number, ben.number);
  EXPECT_EQ(others[1].number, other.number);
}

TEST(RoomMember, AnOlderRateOrSpeakerOfTheRelayChangesNothing) {
  LyingRelay relay;
  const auto rate_after = [&](uint32_t revision, int64_t kbps) {
    relay.notify(
        room::VideoRate{.revision = revision, .rate = DataRate::kilobits_per_second(kbps)});
    relay.exchange();
    return relay.member().video_rate_max();
  };
  EXPECT_EQ(rate_after(2, 500), DataRate::kilobits_per_second(500));
  EXPECT_EQ(rate_after(1, 100), DataRate::kilobits_per_second(500));
  EXPECT_EQ(rate_after(2, 200), DataRate::kilobits_per_second(500));
  EXPECT_EQ(rate_after(3, 300), DataRate::kilobits_per_second(300));
  const auto speaker_after = [&](uint32_t revision, MemberNumber number) {
    relay.notify(room::SpeakerNews{.revision = revision, .number = number});
    relay.exchange();
    return relay.member().speaker();
  };
  EXPECT_EQ(speaker_after(2, 5), 5);
  EXPECT_EQ(speaker_after(1, 6), 5);
  EXPECT_EQ(speaker_after(2, 6), 5);
  EXPECT_EQ(speaker_after(3, 6), 6);
}

TEST(RoomMember, KeysOfAPastEpochAreErasedByTimeInAQuietRoom) {
  for (const bool is_removed : {false, true}) {
    LyingRelay relay;
    RoomMember& member = relay.member();
    relay.introduce_helper();
    relay.notify(room::MemberLeft{.number = 2, .epoch = 1});
    relay.exchange();
    ASSERT_EQ(member.epoch(), 1U);
    if (is_removed) {
      relay.notify(room::Farewell{.reason = room::FarewellReason::kKicked});
      relay.exchange();
    }
    EXPECT_EQ(member.past_epochs(), 1U);
    // Nothing arrives from now on, and it has nothing to send.
    TimePoint now = relay.now();
    const TimePoint over = now + secure::RoomKeys::kEpochKept;
    while (member.poll_timeout() <= over) {
      now = std::max(now, member.poll_timeout());
      member.handle_timeout(now);
      while (member.poll_transmit(now)) {
      }
    }
    EXPECT_EQ(member.past_epochs(), 0U) << is_removed;
    EXPECT_GT(now, over - 10ms);
  }
}

TEST(RoomMember, OnlyTheFirstFarewellCounts) {
  LyingRelay relay;
  relay.notify(room::Farewell{.reason = room::FarewellReason::kFull});
  relay.notify(room::Farewell{.reason = room::FarewellReason::kKicked});
  relay.notify(room::VideoRate{.revision = 1, .rate = DataRate::kilobits_per_second(500)});
  relay.exchange();
  ASSERT_TRUE(relay.member().farewell());
  EXPECT_EQ(relay.member().farewell()->reason, room::FarewellReason::kFull);
  EXPECT_FALSE(relay.member().video_rate_max());
}

}  // namespace
}  // namespace cress::room
