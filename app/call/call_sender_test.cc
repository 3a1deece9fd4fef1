#include "app/call/call_sender.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "app/call/call_test_tools.hh"
#include "media/frame/fragment.hh"
#include "media/frame/parity.hh"
#include "media/playout/audio_message.hh"
#include "media/rate/frame_budget.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::app {
namespace {

constexpr DataRate kbit(int64_t rate) { return DataRate::kilobits_per_second(rate); }

struct SentMessage {
  session::FlowId flow = 0;
  std::vector<std::byte> bytes;
};

/// A CallSender on a session whose link the test sets, and the other end of it.
struct Outgoing {
  explicit Outgoing(CallSenderOptions options = {.video = VideoSenderOptions{.width = 64,
                                                                             .height = 48}},
                    SetLink at_start = {})
      : link(at_start),
        endpoint(kTimeZero, {}, std::make_unique<SetControl>(link)),
        peer(kTimeZero, {}, std::make_unique<SetControl>(link)),
        sender(kTimeZero, std::move(options), endpoint) {
    open_call_flows(endpoint);
    open_call_flows(peer);
  }

  /// What is sent at the instant `now`, as the other end receives it.
  std::vector<SentMessage> transmit(TimePoint now) {
    std::vector<SentMessage> sent;
    while (const auto datagram = endpoint.poll_transmit(now)) {
      EXPECT_TRUE(peer.handle_datagram(now, *datagram));
      while (auto message = peer.poll_message()) {
        sent.push_back({message->flow, std::move(message->bytes)});
      }
    }
    return sent;
  }
  /// Captures a picture; returns its outcome. Nothing has been sent yet.
  CodedVideo capture(TimePoint now, const media::PicturePtr& picture = grey_picture()) {
    sender.capture(now, picture);
    const auto coded = sender.poll_coded();
    EXPECT_TRUE(coded);
    EXPECT_FALSE(sender.poll_coded());
    return coded.value_or(CodedVideo{});
  }
  /// 20 ms of voice; the size of its message.
  DataSize capture_sound(TimePoint now) {
    const DataSize before = endpoint.queued(session::kAudioFlow);
    sender.capture_sound(now, voice.frame(40 + next_sound++));  // the voice has begun by then
    return endpoint.queued(session::kAudioFlow) - before;
  }
  /// `lost` of the last messages did not arrive.
  void lose(int lost) {
    for (int i = 0; i < lost; ++i) {
      sender.handle_outcome(kTimeZero, {.flow = session::kAudioFlow,
                                        .id = static_cast<session::MessageId>(i),
                                        .kind = session::MessageOutcome::Kind::kLost});
    }
  }
  /// The rule's result for this window when nothing waits.
  std::optional<DataSize> budget_of(DataSize window) const {
    return media::frame_budget(
        {.window = window,
         .message_max = endpoint.message_max(),
         .message_overhead = std::max(wire::kMessageOverhead, link.message_overhead),
         .loss = sender.loss()});
  }

  SetLink link;
  session::Endpoint endpoint;
  session::Endpoint peer;
  CallSender sender;
  media::SyntheticVoice voice;
  uint64_t next_sound = 0;
};

CallSenderOptions small_video() { return {.video = VideoSenderOptions{.width = 64, .height = 48}}; }

TEST(CallFlows, LeaveInTheOrderOfTheirPriorities) {
  Outgoing call{{}, {.window = DataSize{5'000}}};
  for (const session::FlowId flow :
       {session::kPaddingFlow, session::kVideoFlow, session::kControlFlow, session::kAudioFlow}) {
    call.endpoint.send(kTimeZero, flow, {std::byte{flow}});
  }
  std::vector<session::FlowId> order;
  for (const SentMessage& message : call.transmit(kTimeZero)) {
    order.push_back(message.flow);
  }
  EXPECT_EQ(order, (std::vector<session::FlowId>{session::kAudioFlow, session::kControlFlow,
                                                 session::kVideoFlow, session::kPaddingFlow}));
}

TEST(CallFlows, OutcomesAreReportedOfMediaAndOfControlIfAsked) {
  for (const bool tell_control : {false, true}) {
    SetLink link;
    session::Endpoint endpoint{kTimeZero, {}, std::make_unique<SetControl>(link)};
    open_call_flows(endpoint, tell_control);
    for (const session::FlowId flow :
         {session::kAudioFlow, session::kControlFlow, session::kVideoFlow, session::kPaddingFlow}) {
      endpoint.send(kTimeZero, flow, {std::byte{1}});
    }
    endpoint.set_datagram_max(DataSize{1'000});  // drops all that waits
    std::vector<session::FlowId> flows;
    while (const auto outcome = endpoint.poll_outcome()) {
      flows.push_back(outcome->flow);
    }
    std::ranges::sort(flows);
    EXPECT_EQ(flows,
              tell_control
                  ? (std::vector<session::FlowId>{session::kAudioFlow, session::kControlFlow,
                                                  session::kVideoFlow})
                  : (std::vector<session::FlowId>{session::kAudioFlow, session::kVideoFlow}));
  }
}

TEST(CallFlows, AudioThatWaitsIsHeldToSixHundredBytes) {
  SetLink link;
  session::Endpoint endpoint{kTimeZero, {}, std::make_unique<SetControl>(link)};
  open_call_flows(endpoint);
  for (int i = 0; i < 6; ++i) {
    endpoint.send(kTimeZero, session::kAudioFlow, std::vector<std::byte>(100));
  }
  EXPECT_EQ(endpoint.queued(session::kAudioFlow), DataSize{600});
  endpoint.send(kTimeZero, session::kAudioFlow, std::vector<std::byte>(100));
  EXPECT_EQ(endpoint.queued(session::kAudioFlow), DataSize{600}) << "the oldest has gone";
}

TEST(CallSender, AFrameMayTakeTheWindowThatAudioLeaves) {
  Outgoing call{small_video(), {.window = DataSize{9'000}, .message_overhead = DataSize{70}}};
  EXPECT_EQ(call.capture(kTimeZero).budget, call.budget_of(DataSize{9'000}));
  call.transmit(kTimeZero);
  DataSize sound;
  for (const Duration at : {20ms, 40ms, 60ms}) {
    sound += call.capture_sound(kTimeZero + at) + DataSize{70};
    call.transmit(kTimeZero + at);
  }
  ASSERT_GT(sound, DataSize{3 * 90});
  EXPECT_EQ(call.capture(kTimeZero + 66ms).budget, call.budget_of(DataSize{9'000} - sound));
}

TEST(CallSender, AFrameTakesItsShareOfTheWindow) {
  CallSenderOptions options = small_video();
  options.trade.frame_share = 0.4;
  Outgoing call{options, {.window = DataSize{9'000}, .message_overhead = DataSize{70}}};
  call.capture(kTimeZero);
  call.transmit(kTimeZero);
  EXPECT_EQ(call.capture(kTimeZero + 33ms).budget, call.budget_of(DataSize{3'600}));
}

TEST(CallSender, AFrameTakesMoreOfASteadyLinksWindow) {
  CallSenderOptions options = small_video();
  options.trade.frame_share = 0.4;
  options.trade.frame_share_steady = 0.8;
  for (const auto& [steadiness, budget] :
       {std::pair{0.0, DataSize{3'600}}, std::pair{0.5, DataSize{5'400}},
        std::pair{1.0, DataSize{7'200}}}) {
    Outgoing call{options, {.window = DataSize{9'000}, .steadiness = steadiness}};
    call.capture(kTimeZero);
    call.transmit(kTimeZero);
    EXPECT_EQ(call.capture(kTimeZero + 33ms).budget, call.budget_of(budget)) << steadiness;
  }
}

TEST(CallSender, OnASteadyOrSharedLinkPlentyAllowsFinerFrames) {
  CallSenderOptions options = small_video();
  options.trade.plenty = {.finest_quantizer = 10};
  options.trade.plenty_steady = {.finest_quantizer = 6};
  const auto finest = [&](double steadiness, bool is_shared) {
    Outgoing call{options,
                  {.window = DataSize{90'000}, .steadiness = steadiness, .is_shared = is_shared}};
    call.capture(kTimeZero);
    call.transmit(kTimeZero);
    return call.capture(kTimeZero + 33ms).quantizer;
  };
  EXPECT_EQ(finest(0, false), 10);
  EXPECT_EQ(finest(0.5, false), 8);
  EXPECT_EQ(finest(1, false), 6);
  EXPECT_EQ(finest(0, true), 6);
  options.trade.plenty = {.finest_quantizer = 6, .share = 0};
  EXPECT_EQ(finest(0, false), options.video->quantizer_min) << "no frame takes nothing";
  EXPECT_EQ(finest(1, false), 6);
}

TEST(CallSender, TheShareOfAFrameGrowsWhileNoneLeaves) {
  const auto budget_after = [](Duration pause) {
    CallSenderOptions options = small_video();
    options.trade.frame_share = 0.4;
    Outgoing call{options, {.window = DataSize{9'000}}};
    call.capture(kTimeZero);
    call.transmit(kTimeZero);
    return call.capture(kTimeZero + pause).budget;
  };
  Outgoing call;
  EXPECT_EQ(budget_after(34ms), call.budget_of(DataSize{3'600}));
  EXPECT_EQ(budget_after(49ms), call.budget_of(DataSize{5'400})) << "half an interval: by a half";
  EXPECT_EQ(budget_after(64ms), call.budget_of(DataSize{7'200}));
  EXPECT_EQ(budget_after(200ms), call.budget_of(DataSize{9'000})) << "never more than the window";
}

TEST(CallSender, SmallFramesAreSpacedByWhatTheLinkUsuallyCarries) {
  const auto sent_in_a_second = [](std::optional<DataRate> usual) {
    CallSenderOptions options = small_video();
    options.trade = {.small_frame_interval = 33ms, .small_frame_unit = 100ms};
    Outgoing call{options, {.outstanding = DataSize{24'700}, .usual_rate = usual}};
    int sent = 0;
    for (TimePoint now = kTimeZero + 1s; now < kTimeZero + 3s; now += 33ms) {
      sent += call.capture(now).size > DataSize{} ? 1 : 0;
      call.transmit(now);
    }
    return sent / 2;
  };
  EXPECT_NEAR(sent_in_a_second(kbit(4'000)), 30, 1) << "half a unit in the network";
  EXPECT_NEAR(sent_in_a_second(kbit(1'000)), 15, 1) << "two units: 66 ms";
  EXPECT_NEAR(sent_in_a_second(kbit(250)), 4, 1) << "eight: 264 ms";
  EXPECT_NEAR(sent_in_a_second(std::nullopt), 2, 1) << "17 of 1500 bytes: 500 ms";
}

TEST(CallSender, ASmallFrameIsLargerOnAFastLink) {
  for (const auto& [usual, budget] :
       {std::pair<std::optional<DataRate>, DataSize>{std::nullopt, DataSize{300}},
        {kbit(1'000), DataSize{300}},
        {kbit(2'000), DataSize{500}},
        {kbit(20'000), DataSize{5'000}}}) {
    CallSenderOptions options = small_video();
    options.trade = {.small_frame_unit = 100ms, .small_frame_length = 2ms};
    Outgoing call{options, {.usual_rate = usual}};
    EXPECT_EQ(call.capture(kTimeZero).budget, budget);
  }
}

TEST(CallSender, ASilenceOfTheLinkHardlyCountsAsNeedForASmallerSize) {
  const auto key_frames_in_silence = [](double need) {
    media::SyntheticCamera camera{{.width = 640, .height = 360}};
    CallSenderOptions options{.video = VideoSenderOptions{.width = 640, .height = 360}};
    options.trade = {.small_frame_interval = 33ms, .small_frame_need = need};
    Outgoing call{options};
    int key_frames = 0;
    uint64_t next = 0;
    for (TimePoint now = kTimeZero; now < kTimeZero + 7s; now += 33ms) {
      const bool is_silent = now >= kTimeZero + 2s;
      call.link.window = is_silent ? DataSize{} : DataSize{20'000};
      call.link.outstanding = is_silent ? DataSize{20'000} : DataSize{};
      const CodedVideo coded = call.capture(now, camera.picture(next++));
      key_frames += is_silent && coded.key_frame ? 1 : 0;
      call.transmit(now);
    }
    return key_frames;
  };
  EXPECT_GT(key_frames_in_silence(1), 0) << "each change of size is one";
  EXPECT_EQ(key_frames_in_silence(0.1), 0);
}

TEST(CallSender, AudioMayFillWhatTheLinkUsuallyCarries) {
  for (const auto& [usual, leaves] :
       {std::pair<std::optional<DataRate>, bool>{std::nullopt, false}, {kbit(800), true}}) {
    Outgoing call{
        small_video(),
        {.outstanding = DataSize{10'000}, .forecast_rate = kbit(10), .usual_rate = usual}};
    call.capture_sound(kTimeZero);
    EXPECT_EQ(call.transmit(kTimeZero).size(), leaves ? 1U : 0U);
  }
}

TEST(CallSender, SmallFramesThinOutByTheSquareOfWhatIsInTheNetwork) {
  const auto sent_in_a_second = [](DataSize outstanding, bool by_square) {
    CallSenderOptions options = small_video();
    options.trade = {.small_frame_interval = 33ms, .by_square = by_square};
    Outgoing call{options, {.window = {}, .outstanding = outstanding}};
    int sent = 0;
    for (TimePoint now = kTimeZero + 1s; now < kTimeZero + 3s; now += 33ms) {
      sent += call.capture(now).size > DataSize{} ? 1 : 0;
      call.transmit(now);
    }
    return sent / 2;
  };
  EXPECT_EQ(sent_in_a_second(DataSize{}, true), 30);
  EXPECT_NEAR(sent_in_a_second(DataSize{2'700}, false), 15, 1) << "two opportunities: 66 ms";
  EXPECT_NEAR(sent_in_a_second(DataSize{2'700}, true), 7, 1) << "132 ms";
  EXPECT_NEAR(sent_in_a_second(DataSize{30'000}, true), 2, 1) << "500 ms";
}

TEST(CallSender, SmallFramesLeaveTheLinkToAudioThatWaits) {
  const auto sent_in_a_second = [](bool spares_sound) {
    CallSenderOptions options = small_video();
    options.trade = {.small_frame_interval = 33ms, .spares_sound = spares_sound};
    Outgoing call{options, {.window = {}, .outstanding = DataSize{3'000}}};
    int sent = 0;
    for (TimePoint now = kTimeZero + 1s; now < kTimeZero + 3s; now += 33ms) {
      sent += call.capture(now).size > DataSize{} ? 1 : 0;
      call.transmit(now);
    }
    return sent / 2;
  };
  EXPECT_NEAR(sent_in_a_second(false), 10, 1) << "every third frame";
  EXPECT_NEAR(sent_in_a_second(true), 2, 1) << "500 ms";
}

TEST(CallSender, AudioIsReservedForUntilItIsSixtyMillisecondsOld) {
  for (const auto& [age, counts] : {std::pair<Duration, bool>{60ms - 1us, true}, {60ms, false}}) {
    Outgoing call{small_video(), {.window = DataSize{9'000}}};
    const DataSize sound = call.capture_sound(kTimeZero);
    ASSERT_GT(sound, DataSize{20});
    call.transmit(kTimeZero);
    EXPECT_EQ(call.capture(kTimeZero + age).budget,
              call.budget_of(DataSize{9'000} - (counts ? sound : DataSize{})));
  }
}

TEST(CallSender, QueuedBytesReduceTheBudget) {
  Outgoing call{small_video(), {.window = DataSize{9'000}}};
  call.endpoint.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(500));
  EXPECT_EQ(call.capture(kTimeZero).budget, call.budget_of(DataSize{8'500}));
}

TEST(CallSender, ABudgetOfThreeHundredBytesIsUsedAndLessIsNot) {
  Outgoing call{small_video(), {.message_overhead = DataSize{80}}};
  const DataSize least = media::window_cost(
      DataSize{300},
      {.message_max = call.endpoint.message_max(), .message_overhead = DataSize{80}});
  call.link.window = least;
  EXPECT_EQ(call.capture(kTimeZero + 10s).budget, DataSize{300});
  call.link.window = DataSize{};
  EXPECT_TRUE(call.transmit(kTimeZero + 10s + 1ms).empty()) << "it waits for the window";
  Outgoing closed{small_video(), {.message_overhead = DataSize{80}}};
  closed.link.window = least - DataSize{1};
  closed.capture(kTimeZero);
  closed.link.window = DataSize{};
  EXPECT_EQ(closed.transmit(kTimeZero + 1ms).size(), 1U) << "a small frame, which leaves at once";
}

TEST(CallSender, SmallFramesGoIntoAClosedWindowFiveTimesASecond) {
  for (const auto& [later, budget] : {std::pair<Duration, int64_t>{199ms, 0},
                                      {200ms, 300},
                                      {265ms, 300},
                                      {266ms, 600},
                                      {331ms, 600},
                                      {332ms, 900},
                                      {398ms, 1'200},
                                      {464ms, 1'200},
                                      {10s, 1'200}}) {
    SCOPED_TRACE(to_milliseconds(later));
    Outgoing call{small_video()};
    EXPECT_EQ(call.capture(kTimeZero).budget, DataSize{300}) << "the first need not wait";
    EXPECT_EQ(call.transmit(kTimeZero).size(), 1U) << "with the window closed";
    EXPECT_EQ(call.capture(kTimeZero + later).budget, DataSize{budget});
    EXPECT_EQ(call.transmit(kTimeZero + later).empty(), budget == 0);
  }
}

TEST(CallSender, SmallFramesGoMoreSeldomWithMoreInTheNetwork) {
  // Proportional to what is in the network including the frame itself, from 1500 bytes to 2.5 times
  // that.
  for (const auto& [outstanding, interval] : {std::pair<int64_t, Duration>{1'200, 200ms},
                                              {2'700, 400ms},
                                              {3'450, 500ms},
                                              {3'500, 500ms},
                                              {100'000, 500ms}}) {
    for (const bool due : {false, true}) {
      SCOPED_TRACE(std::to_string(outstanding) + (due ? " due" : " early"));
      Outgoing call{small_video()};
      call.capture(kTimeZero);
      call.transmit(kTimeZero);
      call.link.outstanding = DataSize{outstanding};
      const TimePoint at = kTimeZero + interval - (due ? 0ms : 1ms);
      EXPECT_EQ(call.capture(at).budget, DataSize{due ? 300 : 0});
    }
  }
}

TEST(CallSender, NoSmallFrameFollowsOneThatStillWaits) {
  Outgoing call{small_video()};
  call.endpoint.send(kTimeZero, session::kControlFlow, std::vector<std::byte>(10));
  EXPECT_EQ(call.capture(kTimeZero).budget, DataSize{300}) << "only frames count";
  call.transmit(kTimeZero);
  call.endpoint.send(kTimeZero + 1s, session::kVideoFlow, std::vector<std::byte>(1));
  EXPECT_EQ(call.capture(kTimeZero + 1s).budget, DataSize{});
}

TEST(CallSender, WithoutTricklesAClosedWindowIsLeftAlone) {
  CallSenderOptions options = small_video();
  options.trickles = false;
  Outgoing call{options};
  for (int i = 0; i < 30; ++i) {
    const CodedVideo coded = call.capture(kTimeZero + i * 33ms);
    EXPECT_EQ(coded.budget, DataSize{});
    EXPECT_EQ(coded.size, DataSize{});
    EXPECT_EQ(coded.frame_id, static_cast<uint32_t>(i)) << "a skipped picture has its number, too";
  }
}

/// Captures a picture that takes a few bytes, and sends its frame.
CodedVideo capture_scene(Outgoing& call, TimePoint now) {
  media::SyntheticCamera camera{{.width = 64, .height = 48}};
  const CodedVideo coded = call.capture(now, camera.picture(0));
  call.transmit(now);
  return coded;
}

TEST(CallSender, AnUnusedRateAllowanceIsKeptFor150Milliseconds) {
  Outgoing call{small_video(), {.window = DataSize{900'000}}};
  call.sender.set_video_rate_max(kTimeZero, kbit(400));
  const CodedVideo first = capture_scene(call, kTimeZero);
  EXPECT_EQ(first.budget, DataSize{7'500}) << "150 ms at 400 kbit/s";
  ASSERT_GT(first.size, DataSize{300});
  const CodedVideo second = capture_scene(call, kTimeZero + 1ms);
  EXPECT_EQ(second.budget, DataSize{7'500 + 50} - first.size) << "less what the first took";
  EXPECT_EQ(capture_scene(call, kTimeZero + 2ms).budget,
            DataSize{7'500 + 2 * 50} - first.size - second.size);
  EXPECT_EQ(capture_scene(call, kTimeZero + 10s).budget, DataSize{7'500}) << "10 s add no more";
}

TEST(CallSender, NewRateDoesNotReplenishTheAllowance) {
  Outgoing call{small_video(), {.window = DataSize{900'000}}};
  call.sender.set_video_rate_max(kTimeZero, kbit(400));
  const CodedVideo first = capture_scene(call, kTimeZero);
  call.sender.set_video_rate_max(kTimeZero + 1ms, kbit(800));
  EXPECT_EQ(capture_scene(call, kTimeZero + 1ms).budget, DataSize{7'500 + 100} - first.size);
  call.sender.set_video_rate_max(kTimeZero + 2ms, kbit(40));
  EXPECT_EQ(capture_scene(call, kTimeZero + 2ms).budget, DataSize{750}) << "150 ms at 40 kbit/s";
  call.sender.set_video_rate_max(kTimeZero + 3ms, DataRate{});
  const CodedVideo none = capture_scene(call, kTimeZero + 1s);
  EXPECT_EQ(none.budget, DataSize{});
  EXPECT_EQ(none.size, DataSize{});
  call.sender.set_video_rate_max(kTimeZero + 2s, std::nullopt);
  EXPECT_EQ(capture_scene(call, kTimeZero + 2s).budget, call.budget_of(DataSize{900'000}));
}

TEST(CallSender, TheWindowBoundsAFrameBelowTheRateMax) {
  Outgoing call{small_video(), {.window = DataSize{2'000}}};
  call.sender.set_video_rate_max(kTimeZero, kbit(4'000));
  EXPECT_EQ(call.capture(kTimeZero).budget, call.budget_of(DataSize{2'000}));
}

/// Whether audio is sent at once into a closed window.
bool sound_leaves(DataSize outstanding, std::optional<DataRate> forecast) {
  Outgoing call{{}, {.outstanding = outstanding, .forecast_rate = forecast}};
  EXPECT_GT(call.capture_sound(kTimeZero), DataSize{});
  return !call.transmit(kTimeZero).empty();
}

TEST(CallSender, AudioLeavesAtOnceUntilTheLinkHoldsThatMuch) {
  // 200 ms of the forecast, between 3000 and 96 000 bytes.
  for (const auto& [forecast, most] :
       {std::pair<std::optional<DataRate>, int64_t>{std::nullopt, 3'000},
        {kbit(100), 3'000},
        {kbit(120), 3'000},
        {kbit(400), 10'000},
        {kbit(3'840), 96'000},
        {kbit(20'000), 96'000},
        {DataRate::bits_per_second(INT64_MAX / 2), 96'000}}) {
    EXPECT_TRUE(sound_leaves(DataSize{most}, forecast)) << most;
    EXPECT_FALSE(sound_leaves(DataSize{most + 1}, forecast)) << most;
  }
}

TEST(CallSender, AudioThatWaitedIsTheFirstToUseTheWindow) {
  Outgoing call{small_video(), {.outstanding = DataSize{50'000}}};
  call.endpoint.send(kTimeZero, session::kVideoFlow, std::vector<std::byte>(100));
  const DataSize sound = call.capture_sound(kTimeZero);
  EXPECT_TRUE(call.transmit(kTimeZero).empty());
  call.link.window = sound + DataSize{50};
  const auto sent = call.transmit(kTimeZero + 1ms);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].flow, session::kAudioFlow);
}

TEST(CallSender, AudioFollowsTheForecastAndTheLoss) {
  const auto spent = [](DataRate forecast, int lost, int& copies) {
    Outgoing call{{}, {.forecast_rate = forecast}};
    call.lose(lost);
    DataSize sum;
    for (int i = 0; i < 200; ++i) {
      const TimePoint now = kTimeZero + i * 20ms;
      sum += call.capture_sound(now);
      for (const SentMessage& message : call.transmit(now)) {
        copies += media::parse_sound(message.bytes)->copy.empty() ? 0 : 1;
      }
    }
    return sum;
  };
  int copies = 0;
  const DataSize narrow = spent(kbit(50), 0, copies);
  const DataSize wide = spent(kbit(1'000), 0, copies);
  EXPECT_GT(wide, 2 * narrow);
  EXPECT_EQ(copies, 0);
  spent(kbit(1'000), 30, copies);
  EXPECT_GT(copies, 50) << "with 14 % lost every frame is sent twice";
}

TEST(CallSender, LossIsMetWithParityForItsShare) {
  Outgoing call{small_video(), {.window = DataSize{60'000}}};
  call.lose(30);
  const double loss = call.sender.loss();
  ASSERT_NEAR(loss, 0.14, 0.001);
  media::SyntheticCamera camera{{.width = 64, .height = 48}};
  const CodedVideo coded = call.capture(kTimeZero, camera.picture(0));
  EXPECT_EQ(coded.budget, call.budget_of(DataSize{60'000}));
  const auto sent = call.transmit(kTimeZero);
  const auto count = media::fragment_count(coded.size, call.endpoint.message_max());
  EXPECT_EQ(static_cast<int64_t>(sent.size()),
            count + media::parity_for(static_cast<int>(count), loss));
  ASSERT_GT(static_cast<int64_t>(sent.size()), count);
  for (const SentMessage& message : sent) {
    EXPECT_EQ(message.flow, session::kVideoFlow);
    EXPECT_TRUE(media::parse_fragment(message.bytes));
  }
}

// On a lossy link alone: as much parity as data, if both fit into half of the window.
TEST(CallSender, OnALossyLinkSparePartsOfTheWindowAreParity) {
  media::SyntheticCamera camera{{.width = 64, .height = 48}};
  const auto messages_of_a_frame = [&](Outgoing& call) {
    const CodedVideo coded = call.capture(kTimeZero, camera.picture(0));
    const auto count = media::fragment_count(coded.size, call.endpoint.message_max());
    return std::pair{static_cast<int64_t>(call.transmit(kTimeZero).size()), count};
  };
  Outgoing wide{small_video(), {.window = DataSize{60'000}}};
  wide.lose(1);
  const auto [sent, count] = messages_of_a_frame(wide);
  EXPECT_EQ(sent, 2 * count);

  Outgoing narrow{small_video(), {.window = DataSize{2'000}}};
  narrow.lose(1);
  const auto [sent_there, count_there] = messages_of_a_frame(narrow);
  EXPECT_LT(sent_there, 2 * count_there) << "the frame alone takes a good part of the window";

  Outgoing lossless{small_video(), {.window = DataSize{60'000}}};
  const auto [sent_without, count_without] = messages_of_a_frame(lossless);
  EXPECT_EQ(sent_without, count_without);
}

// A burst of TCP into a full queue takes most of a frame of ours.
TEST(CallSender, InASharedQueueThreeQuartersOfAFrameMayBeLost) {
  Outgoing shared{{.video = VideoSenderOptions{.width = 320, .height = 240}},
                  {.window = DataSize{90'000}, .is_shared = true}};
  media::SyntheticCamera camera{{.width = 320, .height = 240}};
  const CodedVideo coded = shared.capture(kTimeZero, camera.picture(0));
  const auto count = media::fragment_count(coded.size, shared.endpoint.message_max());
  ASSERT_GT(count, 3);
  EXPECT_EQ(static_cast<int64_t>(shared.transmit(kTimeZero).size()), count + (3 * count + 3) / 4);
}

TEST(CallSender, AFrameAndItsParityNeverExceedTheCodesLength) {
  Outgoing shared{{.video = VideoSenderOptions{.width = 320, .height = 240}},
                  {.window = DataSize{90'000}, .is_shared = true}};
  shared.endpoint.set_datagram_max(DataSize{140});
  media::SyntheticCamera camera{{.width = 320, .height = 240}};
  const CodedVideo coded = shared.capture(kTimeZero, camera.picture(0));
  const auto count = media::fragment_count(coded.size, shared.endpoint.message_max());
  ASSERT_GT(count + 3 * count / 4, media::kCodedFragmentsMax);
  ASSERT_LT(count, media::kCodedFragmentsMax);
  EXPECT_EQ(shared.transmit(kTimeZero).size(), static_cast<size_t>(media::kCodedFragmentsMax));
}

uint32_t reference_distance(const std::vector<SentMessage>& sent) {
  const auto parsed = media::parse_fragment(sent.at(0).bytes);
  EXPECT_TRUE(parsed);
  return parsed->header.reference_distance;
}

TEST(CallSender, FrameReportsReachTheEncoder) {
  using Kind = session::MessageOutcome::Kind;
  Outgoing call{small_video(), {.window = DataSize{60'000}}};
  auto next = [&, frame = 0]() mutable {
    const TimePoint now = kTimeZero + frame++ * 200ms;
    call.capture(now);
    return reference_distance(call.transmit(now));
  };
  EXPECT_EQ(next(), 0U) << "a key frame";
  EXPECT_EQ(next(), 1U);
  EXPECT_EQ(next(), 1U);
  call.sender.handle_report({.newest = 0});
  // A message of another flow of that number is not frame 2's.
  call.sender.handle_outcome(kTimeZero + 750ms,
                             {.flow = session::kAudioFlow, .id = 2, .kind = Kind::kDropped});
  EXPECT_EQ(next(), 1U);
  call.sender.handle_outcome(kTimeZero + 750ms,
                             {.flow = session::kVideoFlow, .id = 3, .kind = Kind::kLost});
  EXPECT_EQ(next(), 4U) << "back to frame 0";
  call.sender.handle_key_frame_request(kTimeZero + 2s);
  EXPECT_EQ(next(), 0U);
}

// Each frame's distance to the one it refers to; frames 0 to 4 are reported at once. From then on
// nothing comes from the other end, or no reports.
std::vector<uint32_t> distances_without_reports(int lost, bool is_silent) {
  Outgoing call{small_video(), {.window = DataSize{60'000}}};
  call.lose(lost);
  std::vector<uint32_t> distances;
  for (uint32_t frame = 0; frame < 20; ++frame) {
    const TimePoint now = kTimeZero + frame * 33ms;
    call.capture(now);
    distances.push_back(reference_distance(call.transmit(now)));
    if (frame < 5) {
      call.sender.handle_report({.newest = frame, .before = (1U << frame) - 1});
    }
    if (frame < 5 || !is_silent) {
      call.peer.send(now, session::kControlFlow, {std::byte{1}});
      const auto datagram = call.peer.poll_transmit(now);
      EXPECT_TRUE(datagram && call.endpoint.handle_datagram(now, *datagram));
    }
  }
  return distances;
}

TEST(CallSender, InSilenceOnALossyLinkItRefersToKnownFrames) {
  const auto distances = distances_without_reports(1, true);
  for (uint32_t frame = 1; frame < 20; ++frame) {
    // 165 ms after frame 5, which knew of frame 4's report, and every 231 ms from then on.
    EXPECT_EQ(distances[frame], frame == 10 || frame == 17 ? frame - 4 : 1U) << frame;
  }
}

TEST(CallSender, WithoutLossesOrSilenceItRefersToTheFrameBefore) {
  for (const bool is_silent : {false, true}) {
    const auto distances = distances_without_reports(is_silent ? 0 : 1, is_silent);
    for (uint32_t frame = 1; frame < 20; ++frame) {
      EXPECT_EQ(distances[frame], 1U) << frame;
    }
  }
}

TEST(CallSender, ParityIsSpentBeforeAFrameIsLost) {
  using Kind = session::MessageOutcome::Kind;
  Outgoing call{small_video(), {.window = DataSize{60'000}}};
  call.lose(20);
  call.capture(kTimeZero);
  ASSERT_EQ(call.transmit(kTimeZero).size(), 2U) << "one fragment and its parity";
  call.sender.handle_report({.newest = 0});
  call.capture(kTimeZero + 33ms);
  ASSERT_EQ(call.transmit(kTimeZero + 33ms).size(), 2U);
  call.sender.handle_outcome(kTimeZero + 60ms,
                             {.flow = session::kVideoFlow, .id = 2, .kind = Kind::kLost});
  call.capture(kTimeZero + 66ms);
  EXPECT_EQ(reference_distance(call.transmit(kTimeZero + 66ms)), 1U);
  call.sender.handle_outcome(kTimeZero + 160ms,
                             {.flow = session::kVideoFlow, .id = 3, .kind = Kind::kLost});
  call.capture(kTimeZero + 199ms);
  EXPECT_EQ(reference_distance(call.transmit(kTimeZero + 199ms)), 3U);
}

TEST(CallSender, ALostFragmentIsSentAgainInTime) {
  using Kind = session::MessageOutcome::Kind;
  Outgoing call{small_video(), {.window = DataSize{60'000}}};
  const auto send = [&](TimePoint now) {
    call.capture(now);
    auto sent = call.transmit(now);
    EXPECT_EQ(sent.size(), 1U);
    return sent.at(0).bytes;
  };
  const auto outcome = [&](session::MessageId id, TimePoint now) {
    call.sender.handle_outcome(now, {.flow = session::kVideoFlow, .id = id, .kind = Kind::kLost});
    return call.transmit(now);
  };
  send(kTimeZero);
  const auto lost = send(kTimeZero + 33ms);
  const auto again = outcome(1, kTimeZero + 100ms);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].flow, session::kVideoFlow);
  EXPECT_EQ(again[0].bytes, lost);
  const auto once_more = outcome(2, kTimeZero + 150ms);
  ASSERT_EQ(once_more.size(), 1U);
  EXPECT_EQ(once_more[0].bytes, lost);
  EXPECT_TRUE(outcome(3, kTimeZero + 160ms).empty()) << "too late";
}

TEST(CallSender, AFragmentThatNoLongerFitsADatagramIsNotSentAgain) {
  using Kind = session::MessageOutcome::Kind;
  for (const bool fits : {true, false}) {
    Outgoing call{small_video(), {.window = DataSize{60'000}}};
    call.capture(kTimeZero);
    const auto sent = call.transmit(kTimeZero);
    ASSERT_EQ(sent.size(), 1U);
    const auto size = static_cast<int64_t>(sent[0].bytes.size());
    const DataSize head = DataSize{1200} - call.endpoint.message_max();
    call.endpoint.set_datagram_max(head + DataSize{fits ? size : size - 1});
    ASSERT_EQ(call.endpoint.message_max(), DataSize{fits ? size : size - 1});
    call.sender.handle_outcome(kTimeZero + 60ms,
                               {.flow = session::kVideoFlow, .id = 0, .kind = Kind::kLost});
    EXPECT_EQ(call.transmit(kTimeZero + 60ms).size(), fits ? 1U : 0U);
  }
}

TEST(CallSender, PaddingFillsTheRestOfTheWindowOnRequest) {
  for (const bool pads : {false, true}) {
    CallSenderOptions options = small_video();
    options.pads_window = pads;
    Outgoing call{options, {.window = DataSize{5'000}}};
    call.capture(kTimeZero);
    const DataSize video = call.endpoint.queued(session::kVideoFlow);
    ASSERT_GT(video, DataSize{});
    EXPECT_EQ(call.endpoint.queued(session::kPaddingFlow),
              pads ? DataSize{5'000} - video : DataSize{});
    call.link.window = DataSize{1'000'000};
    call.transmit(kTimeZero + 1s);
    call.capture(kTimeZero + 2s);
    EXPECT_EQ(call.endpoint.queued(session::kPaddingFlow), pads ? DataSize{32'000} : DataSize{})
        << "a peer may promise anything";
  }
}

/// Marks what it encrypts, so that a test can see it.
class MarkingSeal final : public MediaSeal {
 public:
  DataSize frame_growth() const override { return DataSize{16}; }
  void seal_frame(media::EncodedFrame& frame) override {
    frame.data.insert(frame.data.end(), 16, std::byte{0x5E});
  }
  std::vector<std::byte> seal_sound(std::vector<std::byte> message,
                                    const media::AudioFrame& samples) override {
    heard = samples;
    message.insert(message.begin(), std::byte{0x50});
    return message;
  }
  const std::vector<std::byte>& fragment_head() const override { return head; }

  std::vector<std::byte> head{std::byte{0xA}, std::byte{0xB}, std::byte{0xC}};
  media::AudioFrame heard{};
};

TEST(CallSender, SealedFramesLeaveRoomForTheSealsOverhead) {
  MarkingSeal seal;
  CallSenderOptions options = small_video();
  options.seal = &seal;
  Outgoing call{options, {.window = DataSize{7'000}, .message_overhead = DataSize{70}}};
  const CodedVideo coded = call.capture(kTimeZero);
  const auto budget = media::frame_budget({.window = DataSize{7'000},
                                           .message_max = call.endpoint.message_max() - DataSize{3},
                                           .message_overhead = DataSize{73}});
  EXPECT_EQ(coded.budget, *budget - DataSize{16});
  const auto sent = call.transmit(kTimeZero);
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_GT(sent[0].bytes.size(), 3U);
  EXPECT_TRUE(std::equal(seal.head.begin(), seal.head.end(), sent[0].bytes.begin()));
  const auto fragment = media::parse_fragment(std::span{sent[0].bytes}.subspan(3));
  ASSERT_TRUE(fragment);
  EXPECT_EQ(fragment->header.frame_size, coded.size + DataSize{16});
  EXPECT_EQ(fragment->payload.back(), std::byte{0x5E});
}

TEST(CallSender, SealedFragmentsFillAMessageAndNoMore) {
  MarkingSeal seal;
  CallSenderOptions options{.video = VideoSenderOptions{.width = 320, .height = 180}};
  options.seal = &seal;
  Outgoing call{options, {.window = DataSize{60'000}}};
  media::SyntheticCamera camera{{.width = 320, .height = 180}};
  const CodedVideo coded = call.capture(kTimeZero, camera.picture(0));
  const auto sent = call.transmit(kTimeZero);
  ASSERT_GT(sent.size(), 3U);
  EXPECT_EQ(
      static_cast<int64_t>(sent.size()),
      media::fragment_count(coded.size + DataSize{16}, call.endpoint.message_max() - DataSize{3}));
}

TEST(CallSender, AudioIsSentSealed) {
  MarkingSeal seal;
  CallSenderOptions options;
  options.seal = &seal;
  Outgoing call{options};
  call.capture_sound(kTimeZero);
  EXPECT_EQ(seal.heard, call.voice.frame(40)) << "the seal is given the samples, too";
  const auto sent = call.transmit(kTimeZero);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].bytes[0], std::byte{0x50});
  EXPECT_TRUE(media::parse_sound(std::span{sent[0].bytes}.subspan(1)));
}

TEST(CallSender, ReceiveOnlyPersonSendsNoFrames) {
  Outgoing call{{}};
  call.sender.handle_report({.newest = 3});
  call.sender.handle_key_frame_request(kTimeZero);
  call.lose(1);
  EXPECT_EQ(call.sender.loss(), 1.0 / 200);
  EXPECT_FALSE(call.sender.poll_coded());
  EXPECT_DEATH(call.sender.capture(kTimeZero, grey_picture()), "without video");
}

TEST(Preference, ItsNamesAreThree) {
  EXPECT_EQ(parse_preference("motion"), Preference::kMotion);
  EXPECT_EQ(parse_preference("balanced"), Preference::kBalanced);
  EXPECT_EQ(parse_preference("sharp"), Preference::kSharp);
  EXPECT_EQ(parse_preference("Sharp"), std::nullopt);
  EXPECT_EQ(parse_preference(""), std::nullopt);
}

TEST(Preference, SharpFillsTheWindowAndMotionAlwaysWaits) {
  const MotionTrade sharp = trade_of(Preference::kSharp);
  const MotionTrade balanced = trade_of(Preference::kBalanced);
  const MotionTrade motion = trade_of(Preference::kMotion);
  EXPECT_EQ(sharp.frame_share, 1.0);
  EXPECT_LT(balanced.frame_share, sharp.frame_share);
  EXPECT_LT(motion.frame_share, balanced.frame_share);
  EXPECT_LT(balanced.frame_share, balanced.frame_share_steady);
  EXPECT_EQ(motion.frame_share_steady, balanced.frame_share_steady);
  EXPECT_LT(balanced.frame_share_steady, sharp.frame_share_steady);
  EXPECT_GT(balanced.plenty.finest_quantizer, sharp.plenty.finest_quantizer);
  EXPECT_LT(balanced.plenty.share, sharp.plenty.share);
  EXPECT_EQ(balanced.plenty_steady.finest_quantizer, sharp.plenty.finest_quantizer);
  EXPECT_EQ(balanced.plenty_steady.share, sharp.plenty.share);
  EXPECT_LT(balanced.small_frame_interval, sharp.small_frame_interval);
  EXPECT_EQ(sharp.playout.most, 0ms);
  EXPECT_LT(balanced.playout.after_uneven, motion.playout.after_uneven);
}

}  // namespace
}  // namespace cress::app
