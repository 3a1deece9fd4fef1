// Goal: each rule of the endpoint, at its limit and one beyond. Method: a control whose answers the
// test sets and which records its calls; datagrams of the peer are built byte by byte.

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "transport/session/endpoint.hh"

namespace cress::session {
namespace {

using Kind = MessageOutcome::Kind;

/// A ScriptControl's answers and calls.
struct Script {
  DataSize window{1'000'000};
  DataSize forecast_total;
  DataSize message_overhead{48};
  Duration patience = Duration::max();
  Duration spacing{};
  Duration reordering_max = control::kThrowawayInterval;
  std::optional<Duration> heartbeat;
  TimePoint next_change = kNever;
  TimePoint feedback_due = kNever;
  std::optional<control::Feedback> feedback;
  bool answers_marks = true;

  int windows_read = 0;
  std::vector<control::ArrivedDatagram> arrived;
  struct Sent {
    TimePoint at{};
    uint64_t sequence = 0;
    DataSize payload;
    friend bool operator==(const Sent&, const Sent&) = default;
  };
  std::vector<Sent> sent;
  struct Fed {
    control::Feedback feedback;
    uint64_t next_sequence = 0;
    uint64_t received_or_lost = 0;
  };
  std::vector<Fed> fed;
};

class ScriptControl final : public control::Control {
 public:
  explicit ScriptControl(Script& script) : script_(script) {}
  void handle_arrival(TimePoint /*now*/, const control::ArrivedDatagram& datagram) override {
    script_.arrived.push_back(datagram);
  }
  std::optional<control::Feedback> poll_feedback(TimePoint /*now*/) override {
    return script_.feedback;
  }
  TimePoint feedback_due() const override { return script_.feedback_due; }
  void on_sent(TimePoint now, uint64_t sequence, DataSize payload) override {
    script_.sent.push_back({now, sequence, payload});
  }
  void handle_feedback(TimePoint /*now*/, const control::Feedback& feedback, uint64_t next_sequence,
                       uint64_t received_or_lost) override {
    script_.fed.push_back({feedback, next_sequence, received_or_lost});
  }
  DataSize window(TimePoint /*now*/) const override {
    ++script_.windows_read;
    return script_.window;
  }
  DataSize outstanding(TimePoint /*now*/) const override { return {}; }
  DataSize message_overhead() const override { return script_.message_overhead; }
  DataSize forecast_total() const override { return script_.forecast_total; }
  std::optional<DataRate> forecast_rate() const override { return std::nullopt; }
  Duration heartbeat_interval(TimePoint /*now*/, Duration usual) const override {
    return script_.heartbeat.value_or(usual);
  }
  Duration patience(TimePoint /*now*/) const override { return script_.patience; }
  TimePoint next_change(TimePoint /*now*/) const override { return script_.next_change; }
  Duration spacing(TimePoint /*now*/, DataSize /*size*/) const override { return script_.spacing; }
  Duration reordering_max() const override { return script_.reordering_max; }
  bool answers_marks() const override { return script_.answers_marks; }

 private:
  Script& script_;
};

/// A forecast made at this time (tenths of a millisecond) that decides all below `decided_before`.
wire::ForecastFrame news(uint64_t time_100us, uint64_t decided_before) {
  return {.received_or_lost = decided_before,
          .time_100us = time_100us,
          .counts = {},
          .arrivals = {},
          .decided_before = decided_before,
          .lost_complete_from = 0,
          .lost = {}};
}

class EndpointRules : public testing::Test {
 protected:
  struct Left {
    wire::Header header;
    std::optional<wire::ForecastFrame> forecast;
    std::vector<std::pair<FlowId, size_t>> messages;  // with their sizes
  };
  using Outcomes = std::vector<std::pair<MessageId, Kind>>;

  EndpointRules() : EndpointRules(EndpointOptions{}) {}
  explicit EndpointRules(EndpointOptions options)
      : endpoint_(kTimeZero, options, std::make_unique<ScriptControl>(script_)) {
    endpoint_.open_flow(kAudioFlow, {.priority = Priority::kAudio});
    endpoint_.open_flow(kVideoFlow, {.priority = Priority::kVideo});
    endpoint_.open_flow(kBulkFlow, {.priority = Priority::kBulk, .report_outcomes = false});
  }

  MessageId send(TimePoint now, size_t size, FlowId flow = kVideoFlow,
                 Leave leave = Leave::kWithinWindow) {
    return endpoint_.send(now, flow, std::vector<std::byte>(size), leave);
  }
  std::optional<Left> transmit(TimePoint now) {
    const auto bytes = endpoint_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    const auto parsed = wire::parse_datagram(*bytes);
    EXPECT_TRUE(parsed.has_value()) << "not accepted by the peer";
    Left left{parsed->header, parsed->forecast, {}};
    for (const wire::MessageView& message : parsed->messages) {
      left.messages.emplace_back(message.flow, message.bytes.size());
    }
    return left;
  }
  std::vector<Left> drain(TimePoint now) {
    std::vector<Left> all;
    while (const auto left = transmit(now)) {
      all.push_back(*left);
    }
    return all;
  }
  /// How many messages are sent now.
  size_t leaves(TimePoint now) {
    size_t messages = 0;
    for (const Left& left : drain(now)) {
      messages += left.messages.size();
    }
    return messages;
  }
  /// Sends `number` messages of 100 bytes, each in a datagram of its own: 154 of sequence each.
  void send_one_by_one(int number) {
    for (int i = 0; i < number; ++i) {
      send(kTimeZero, 100);
      ASSERT_EQ(drain(kTimeZero).size(), 1U);
    }
  }
  void deliver(TimePoint now, uint64_t sequence,
               const std::optional<wire::ForecastFrame>& forecast = {},
               const std::vector<FlowId>& flows = {}, wire::Header header = {},
               Ecn ecn = Ecn::kNotEct) {
    wire::DatagramBuilder builder{DataSize{1200}};
    ASSERT_TRUE(!forecast || builder.add_forecast(*forecast));
    for (const FlowId flow : flows) {
      builder.add_message(flow, std::vector<std::byte>(10));
    }
    header.sequence = wire::WireSeq::wrap(sequence);
    ASSERT_TRUE(endpoint_.handle_datagram(now, builder.finish(header), ecn).has_value());
  }
  Outcomes outcomes() {
    Outcomes all;
    while (const auto outcome = endpoint_.poll_outcome()) {
      all.emplace_back(outcome->id, outcome->kind);
    }
    return all;
  }
  size_t received() {
    size_t number = 0;
    for (; endpoint_.poll_message(); ++number) {
    }
    return number;
  }
  /// The outcomes of three messages at 0, 154 and 308, of four, after this forecast.
  std::vector<Kind> fates(uint64_t complete_from, const std::vector<wire::LostRange>& lost) {
    send_one_by_one(4);
    wire::ForecastFrame forecast = news(1, 462);
    forecast.lost_complete_from = complete_from;
    forecast.lost = lost;
    deliver(kTimeZero, 0, forecast);
    std::vector<Kind> kinds;
    for (const auto& [id, kind] : outcomes()) {
      EXPECT_EQ(id, kinds.size());
      kinds.push_back(kind);
    }
    return kinds;
  }

  static constexpr Kind kDelivered = Kind::kDelivered;
  static constexpr Kind kLost = Kind::kLost;
  static constexpr Kind kDropped = Kind::kDropped;

  Script script_;
  Endpoint endpoint_;
};

TEST_F(EndpointRules, LostRangeDecidesTheMessagesWithinIt) {
  EXPECT_EQ(fates(0, {{154, 308}}), (std::vector<Kind>{kDelivered, kLost, kDelivered}));
}
TEST_F(EndpointRules, LostRangeEndsBeforeItsLastByte) {
  EXPECT_EQ(fates(0, {{10, 154}}), (std::vector<Kind>{kDelivered, kDelivered, kDelivered}));
}
TEST_F(EndpointRules, LostRangeMayReachIntoAMessage) {
  EXPECT_EQ(fates(0, {{10, 155}}), (std::vector<Kind>{kDelivered, kLost, kDelivered}));
}
TEST_F(EndpointRules, LostRangeBeginsAtItsFirstByte) {
  EXPECT_EQ(fates(0, {{155, 308}}), (std::vector<Kind>{kDelivered, kDelivered, kDelivered}));
}
TEST_F(EndpointRules, EveryLostRangeIsProcessed) {
  EXPECT_EQ(fates(0, {{0, 1}, {20, 30}, {308, 309}}),
            (std::vector<Kind>{kLost, kDelivered, kLost}));
}
TEST_F(EndpointRules, RangesThePeerForgotCountAsLost) {
  EXPECT_EQ(fates(154, {}), (std::vector<Kind>{kLost, kDelivered, kDelivered}));
}
TEST_F(EndpointRules, ForgottenRangesEndAtTheCompletePoint) {
  EXPECT_EQ(fates(155, {}), (std::vector<Kind>{kLost, kLost, kDelivered}));
}

TEST_F(EndpointRules, MessageIsOpenUntilItsFirstByteIsDecided) {
  send_one_by_one(2);
  deliver(kTimeZero, 0, news(1, 154));
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDelivered}}));
  deliver(kTimeZero, 50, news(2, 155));
  EXPECT_EQ(outcomes(), (Outcomes{{1, kDelivered}}));
}

TEST_F(EndpointRules, OvertakenForecastIsIgnored) {
  send_one_by_one(2);
  deliver(kTimeZero, 100, news(50, 154), {}, {.throwaway = 100});
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDelivered}}));
  // Made earlier, arrived later: neither the control nor the outcomes may follow it.
  deliver(kTimeZero, 0, news(49, 308), {kVideoFlow});
  EXPECT_EQ(outcomes(), Outcomes{});
  ASSERT_EQ(script_.fed.size(), 1U);
  EXPECT_EQ(received(), 1U) << "the messages with it are as good as any";
  // Made at the same time: counts.
  deliver(kTimeZero, 200, news(50, 308));
  EXPECT_EQ(script_.fed.size(), 2U);
  EXPECT_EQ(outcomes(), (Outcomes{{1, kDelivered}}));
  deliver(kTimeZero, 250, news(49, 308));
  EXPECT_EQ(script_.fed.size(), 2U) << "the newest is still that of 50";
}

TEST_F(EndpointRules, LateDatagramsForecastAndMessagesCount) {
  send_one_by_one(1);
  deliver(kTimeZero, 500);  // all below is decided
  deliver(kTimeZero + 1h, 100, news(1, 154), {kVideoFlow});
  EXPECT_EQ(endpoint_.stats().datagrams_late, 1U);
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDelivered}}));
  EXPECT_EQ(received(), 1U);
}

TEST_F(EndpointRules, DuplicateIsCountedAndNotUsed) {
  send_one_by_one(1);
  deliver(kTimeZero, 100, {}, {kVideoFlow}, {.throwaway = 100});
  deliver(kTimeZero, 100, news(1, 154), {kVideoFlow}, {.throwaway = 100});
  EXPECT_EQ(endpoint_.stats().datagrams_duplicate, 1U);
  EXPECT_EQ(endpoint_.stats().datagrams_late, 0U);
  EXPECT_EQ(endpoint_.stats().datagrams_received, 2U);
  EXPECT_EQ(outcomes(), Outcomes{});
  EXPECT_EQ(received(), 1U);
}

TEST_F(EndpointRules, MalformedAndUnknownAreCounted) {
  const std::vector<std::byte> junk(15);
  const auto result = endpoint_.handle_datagram(kTimeZero, junk);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error(), wire::WireError::kTruncated);
  EXPECT_EQ(endpoint_.stats().datagrams_malformed, 1U);
  EXPECT_EQ(endpoint_.stats().datagrams_received, 0U);
  deliver(kTimeZero, 0, {}, {77, kVideoFlow});
  EXPECT_EQ(endpoint_.stats().messages_for_unknown_flow, 1U);
  EXPECT_EQ(received(), 1U) << "the others of the datagram are taken";
}

TEST_F(EndpointRules, OldestUndecidedMessageIsLostBeyondTheMaximum) {
  constexpr MessageId kMax = 1U << 16U;
  for (MessageId id = 0; id < kMax; ++id) {
    send(kTimeZero, 1);
    drain(kTimeZero);
  }
  EXPECT_EQ(outcomes(), Outcomes{});
  send(kTimeZero, 1);
  drain(kTimeZero);
  EXPECT_EQ(outcomes(), (Outcomes{{0, kLost}}));
  deliver(kTimeZero, 0, news(1, uint64_t{1} << 40U));
  const Outcomes rest = outcomes();
  ASSERT_EQ(rest.size(), kMax) << "one outcome each";
  EXPECT_EQ(rest.front(), (std::pair{MessageId{1}, kDelivered}));
}

TEST_F(EndpointRules, FlowWithoutOutcomesReportsNone) {
  send(kTimeZero, 100, kBulkFlow);
  drain(kTimeZero);
  deliver(kTimeZero, 0, news(1, 10'000));
  for (int i = 0; i < 17; ++i) {
    send(kTimeZero, 1000, kBulkFlow);
  }
  EXPECT_EQ(endpoint_.queued(kBulkFlow), DataSize{16'000});
  EXPECT_EQ(outcomes(), Outcomes{});
}

TEST_F(EndpointRules, LossIsReportedForASecond) {
  script_.feedback.emplace();
  deliver(kTimeZero, 0);
  deliver(kTimeZero, 100);  // [50, 100) is missing
  const auto last = transmit(kTimeZero + 1s);
  ASSERT_TRUE(last && last->forecast);
  EXPECT_EQ(last->forecast->lost, (std::vector<wire::LostRange>{{50, 100}}));
  EXPECT_EQ(last->forecast->lost_complete_from, 0U);
  EXPECT_EQ(last->forecast->decided_before, 100U);
  deliver(kTimeZero + 1s + 1ns, 200, {}, {kVideoFlow});
  const auto after = transmit(kTimeZero + 1s + 1ns);
  ASSERT_FALSE(after) << "no heartbeat is due yet";
  const auto next = transmit(kTimeZero + 1s + 50ms);
  ASSERT_TRUE(next && next->forecast);
  EXPECT_EQ(next->forecast->lost_complete_from, 100U);
  EXPECT_EQ(next->forecast->lost, (std::vector<wire::LostRange>{{150, 200}}));
  EXPECT_EQ(next->forecast->decided_before, 200U);
  EXPECT_EQ(next->forecast->received_or_lost, 214U) << "the message and its frame";
}

TEST_F(EndpointRules, LossIsForgottenRightAfterASecond) {
  script_.feedback.emplace();
  deliver(kTimeZero, 0);
  deliver(kTimeZero, 100);
  const auto left = transmit(kTimeZero + 1s + 1ns);
  ASSERT_TRUE(left && left->forecast);
  EXPECT_TRUE(left->forecast->lost.empty());
  EXPECT_EQ(left->forecast->lost_complete_from, 100U);
}

TEST_F(EndpointRules, ReportAfterAPartlyForgottenLossIsValid) {
  script_.feedback.emplace();
  // [0, 50) is decided first, [50, 100) half a second later: one range.
  deliver(kTimeZero, 100, {}, {}, {.throwaway = 50});
  deliver(kTimeZero + 500ms, 150);
  const auto left = transmit(kTimeZero + 1200ms);
  ASSERT_TRUE(left && left->forecast);
  EXPECT_EQ(left->forecast->lost_complete_from, 50U);
}

TEST_F(EndpointRules, FeedbackGoesOncePerInstantUnlessSomethingArrived) {
  script_.feedback.emplace();
  script_.feedback_due = kTimeZero;
  ASSERT_TRUE(transmit(kTimeZero)->forecast);
  EXPECT_FALSE(transmit(kTimeZero)->forecast);
  deliver(kTimeZero, 0);
  EXPECT_TRUE(transmit(kTimeZero)->forecast);
  EXPECT_TRUE(transmit(kTimeZero + 1ns)->forecast);
}

TEST_F(EndpointRules, FeedbackTravelsInTenthsOfAMillisecond) {
  script_.feedback = {.made_at = kTimeZero + 1'234'567us,
                      .counts = {3, 5},
                      .arrivals = {{7, kTimeZero + 1'234'499us}, {9, kTimeZero - 1s}}};
  const auto left = transmit(kTimeZero + 2s);
  ASSERT_TRUE(left && left->forecast);
  EXPECT_EQ(left->forecast->time_100us, 12'345U);
  EXPECT_EQ(left->forecast->counts, (std::vector<uint32_t>{3, 5}));
  EXPECT_EQ(left->forecast->arrivals, (std::vector<wire::ArrivalStamp>{{7, 12'344}, {9, 0}}));
  wire::ForecastFrame heard = news(12'345, 200);
  heard.received_or_lost = 300;
  heard.counts = {1, 2};
  heard.arrivals = {{70, 12'344}};
  deliver(kTimeZero + 2s, 0, heard);
  deliver(kTimeZero + 2s, 50, news(UINT64_MAX, 0));
  ASSERT_EQ(script_.fed.size(), 2U);
  EXPECT_EQ(script_.fed[0].feedback.made_at, kTimeZero + 1'234'500us);
  EXPECT_EQ(script_.fed[0].feedback.counts, (control::ForecastCounts{1, 2}));
  EXPECT_EQ(script_.fed[0].feedback.arrivals,
            (std::vector<control::ArrivalStamp>{{70, kTimeZero + 1'234'400us}}));
  EXPECT_EQ(script_.fed[0].received_or_lost, 300U);
  EXPECT_EQ(script_.fed[0].next_sequence, script_.sent[0].payload.bytes() + 50U);
  EXPECT_EQ(script_.fed[1].feedback.made_at, kTimeZero + (int64_t{1} << 46U) * 100us);
}

TEST_F(EndpointRules, ControlGetsTheArrivals) {
  deliver(kTimeZero, 0xFFFF'FFF0, {}, {kVideoFlow}, {.time_to_next_ms = 7, .timestamp_ms = 3});
  deliver(kTimeZero, 0x1'0000'0010);
  deliver(kTimeZero, 0xFFFF'FF00);  // older, before the wrap
  deliver(kTimeZero, 0x1'0000'0020);
  ASSERT_EQ(script_.arrived.size(), 4U);
  EXPECT_EQ(script_.arrived[0].sequence, 0xFFFF'FFF0U);
  EXPECT_EQ(script_.arrived[1].sequence, 0x1'0000'0010U);
  EXPECT_EQ(script_.arrived[2].sequence, 0xFFFF'FF00U);
  EXPECT_EQ(script_.arrived[3].sequence, 0x1'0000'0020U);
  EXPECT_EQ(script_.arrived[0].payload, DataSize{14});
  EXPECT_EQ(script_.arrived[0].time_to_next, 7ms);
  EXPECT_EQ(script_.arrived[0].sent_ms, 3);
  EXPECT_TRUE(script_.arrived[0].asks_for_feedback);
  EXPECT_EQ(script_.arrived[1].sent_ms, std::nullopt);
  EXPECT_FALSE(script_.arrived[1].asks_for_feedback);
}

TEST_F(EndpointRules, ControlGetsTheMarksOfArrivals) {
  deliver(kTimeZero, 0, {}, {}, {}, Ecn::kEct1);
  deliver(kTimeZero, 100, {}, {}, {}, Ecn::kCe);
  deliver(kTimeZero, 200);
  ASSERT_EQ(script_.arrived.size(), 3U);
  EXPECT_FALSE(script_.arrived[0].marked);
  EXPECT_TRUE(script_.arrived[1].marked);
  EXPECT_FALSE(script_.arrived[2].marked);
}

// A report of two arrivals, of which these are marked, by a peer that sees the field or not.
wire::ForecastFrame report_of_marks(bool sees_ecn, bool first, bool second) {
  wire::ForecastFrame report = news(10, 0);
  report.arrivals = {{0, 5, first}, {154, 6, second}};
  report.sees_ecn = sees_ecn;
  return report;
}

TEST_F(EndpointRules, AsksForMarksHalfASecondUnlessThePeerSeesThem) {
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 1h), Ecn::kEct1) << "nothing has been sent";
  send_one_by_one(2);
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 500ms - 1ns), Ecn::kEct1);
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 500ms), Ecn::kNotEct);
  deliver(kTimeZero + 1s, 0, report_of_marks(false, false, false));
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 1s), Ecn::kNotEct);
  deliver(kTimeZero + 1s, 100, report_of_marks(true, false, false));
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 1h), Ecn::kEct1) << "late is not too late";
}

TEST_F(EndpointRules, APathThatMarksEverythingConfirmsNothing) {
  send_one_by_one(2);
  deliver(kTimeZero, 0, report_of_marks(true, true, true));
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 500ms), Ecn::kNotEct);
  deliver(kTimeZero + 1s, 100, report_of_marks(true, true, false));
  EXPECT_EQ(endpoint_.ecn(kTimeZero + 1s), Ecn::kEct1);
}

TEST_F(EndpointRules, ControlGetsTheMarksOfAReport) {
  send_one_by_one(2);
  deliver(kTimeZero, 0, report_of_marks(true, false, true));
  ASSERT_EQ(script_.fed.size(), 1U);
  ASSERT_EQ(script_.fed[0].feedback.arrivals.size(), 2U);
  EXPECT_FALSE(script_.fed[0].feedback.arrivals[0].marked);
  EXPECT_TRUE(script_.fed[0].feedback.arrivals[1].marked);
}

TEST_F(EndpointRules, AControlThatDoesNotAnswerMarksAsksForNone) {
  script_.answers_marks = false;
  send_one_by_one(2);
  deliver(kTimeZero, 0, report_of_marks(true, false, false));
  EXPECT_EQ(endpoint_.ecn(kTimeZero), Ecn::kNotEct);
}

TEST_F(EndpointRules, TwentyReportsSayThatTheFieldArrives) {
  for (const Ecn first : {Ecn::kEct1, Ecn::kCe}) {
    Script script;
    script.feedback = control::Feedback{.made_at = kTimeZero, .counts = {}, .arrivals = {}};
    Endpoint endpoint{kTimeZero, {}, std::make_unique<ScriptControl>(script)};
    uint64_t sequence = 0;
    TimePoint now = kTimeZero;
    const auto says = [&](Ecn ecn) {
      now += 1s;
      wire::Header header;
      header.sequence = wire::WireSeq::wrap(sequence += 100);
      EXPECT_TRUE(
          endpoint.handle_datagram(now, wire::DatagramBuilder{DataSize{1200}}.finish(header), ecn));
      const auto bytes = endpoint.poll_transmit(now);
      return bytes && wire::parse_datagram(*bytes)->forecast->sees_ecn;
    };
    for (const Ecn none : {Ecn::kNotEct, Ecn::kEct0}) {
      EXPECT_FALSE(says(none));
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(says(i == 0 ? first : Ecn::kNotEct)) << i;
    }
    EXPECT_FALSE(says(Ecn::kEct1)) << "once more would say nothing new";
  }
}

TEST_F(EndpointRules, ReportsSayWhichArrivalsWereMarked) {
  script_.feedback =
      control::Feedback{.made_at = kTimeZero + 1s,
                        .counts = {},
                        .arrivals = {{1, kTimeZero + 1s, true}, {2, kTimeZero + 1s, false}}};
  const auto left = transmit(kTimeZero + 1s);
  ASSERT_TRUE(left && left->forecast && left->forecast->arrivals.size() == 2);
  EXPECT_TRUE(left->forecast->arrivals[0].marked);
  EXPECT_FALSE(left->forecast->arrivals[1].marked);
}

TEST_F(EndpointRules, SequenceGrowsByPayloadAndFifty) {
  send_one_by_one(2);
  drain(kTimeZero + 50ms);
  drain(kTimeZero + 100ms);
  EXPECT_EQ(script_.sent, (std::vector<Script::Sent>{{kTimeZero, 0, DataSize{104}},
                                                     {kTimeZero, 154, DataSize{104}},
                                                     {kTimeZero + 50ms, 308, DataSize{0}},
                                                     {kTimeZero + 100ms, 358, DataSize{0}}}));
  EXPECT_EQ(endpoint_.stats().datagrams_sent, 4U);
}

TEST_F(EndpointRules, ThrowawayReachesTenMillisecondsBack) {
  script_.feedback_due = kTimeZero;  // a datagram whenever it is polled
  EXPECT_EQ(transmit(kTimeZero)->header.throwaway, 0U);
  EXPECT_EQ(transmit(kTimeZero + 3ms)->header.throwaway, 50U);
  EXPECT_EQ(transmit(kTimeZero + 10ms)->header.throwaway, 100U);
  EXPECT_EQ(transmit(kTimeZero + 10ms + 1ns)->header.throwaway, 100U);
  EXPECT_EQ(transmit(kTimeZero + 30ms)->header.throwaway, 0U);
}

TEST_F(EndpointRules, ThrowawayFollowsTheMeasuredReordering) {
  script_.feedback_due = kTimeZero;
  script_.reordering_max = 25ms;
  transmit(kTimeZero);
  EXPECT_EQ(transmit(kTimeZero + 25ms)->header.throwaway, 50U);
  EXPECT_EQ(transmit(kTimeZero + 25ms + 1ns)->header.throwaway, 50U);
}

TEST_F(EndpointRules, OnlyTheLastOfAFlightAnnouncesSilence) {
  for (int i = 0; i < 3; ++i) {
    send(kTimeZero, 1000);
  }
  const auto left = drain(kTimeZero);
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0].header.time_to_next_ms, 0);
  EXPECT_EQ(left[1].header.time_to_next_ms, 0);
  EXPECT_EQ(left[2].header.time_to_next_ms, 50);
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 50ms);
  EXPECT_FALSE(transmit(kTimeZero + 50ms - 1ns));
  EXPECT_TRUE(transmit(kTimeZero + 50ms));
}

TEST_F(EndpointRules, AnnouncedSilenceIsRoundedUp) {
  script_.heartbeat = 80ms + 1ns;
  EXPECT_EQ(transmit(kTimeZero)->header.time_to_next_ms, 81);
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 80ms + 1ns);
  script_.heartbeat = 80ms;
  EXPECT_EQ(transmit(kTimeZero + 1s)->header.time_to_next_ms, 80);
}

TEST_F(EndpointRules, DueFeedbackLeavesByItself) {
  drain(kTimeZero);
  script_.feedback_due = kTimeZero + 20ms;
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 20ms);
  EXPECT_FALSE(endpoint_.has_transmit(kTimeZero + 20ms - 1ns));
  EXPECT_TRUE(endpoint_.has_transmit(kTimeZero + 20ms));
}

TEST_F(EndpointRules, TimestampIsAnsweredLessTheTimeItWasHeld) {
  EXPECT_EQ(transmit(kTimeZero)->header.timestamp_reply_ms, wire::kNoTimestamp);
  deliver(kTimeZero + 10ms, 0, {}, {}, {.timestamp_ms = 1000});
  deliver(kTimeZero + 11ms, 50);  // without one: nothing new
  const auto left = transmit(kTimeZero + 100ms - 1ns);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->header.timestamp_reply_ms, 1089);
  EXPECT_EQ(left->header.timestamp_ms, 99);
}

TEST_F(EndpointRules, NoTimestampIsMistakenForNone) {
  deliver(kTimeZero + 1s, 0, {}, {}, {.timestamp_ms = 65'000});
  EXPECT_EQ(transmit(kTimeZero + 1s + 535ms)->header.timestamp_reply_ms, 0);
  EXPECT_EQ(transmit(kTimeZero + 1s + 650ms)->header.timestamp_reply_ms, 114) << "it wraps";
  EXPECT_EQ(transmit(kTimeZero + 65'535ms)->header.timestamp_ms, 0);
  EXPECT_EQ(transmit(kTimeZero + 65'636ms)->header.timestamp_ms, 100);
}

TEST_F(EndpointRules, RoundTripTimeIsSmoothedByAnEighth) {
  deliver(kTimeZero + 500ms, 0);
  EXPECT_EQ(endpoint_.stats().smoothed_rtt, std::nullopt);
  deliver(kTimeZero + 500ms, 50, {}, {}, {.timestamp_reply_ms = 300});
  EXPECT_EQ(endpoint_.stats().smoothed_rtt, 200ms);
  deliver(kTimeZero + 500ms, 100, {}, {}, {.timestamp_reply_ms = 220});
  EXPECT_EQ(endpoint_.stats().smoothed_rtt, 210ms);
  deliver(kTimeZero + 65'636ms, 150, {}, {}, {.timestamp_reply_ms = 65'426});
  EXPECT_EQ(endpoint_.stats().smoothed_rtt, 210ms) << "across the wrap";
}

TEST_F(EndpointRules, MessageLeavesWhenItFitsTheWindowExactly) {
  drain(kTimeZero);
  script_.window = DataSize{1000};
  send(kTimeZero, 953);
  EXPECT_EQ(leaves(kTimeZero), 0U);
  script_.window = DataSize{1001};
  EXPECT_EQ(leaves(kTimeZero), 0U) << "within an instant the window is read again only when "
                                      "something was sent or arrived";
  EXPECT_EQ(leaves(kTimeZero + 1ns), 1U);
}

TEST_F(EndpointRules, FlightTakesFromTheWindowItBeganWith) {
  script_.window = DataSize{2 * 1048 + 47};
  for (int i = 0; i < 3; ++i) {
    send(kTimeZero, 1000);
  }
  EXPECT_EQ(transmit(kTimeZero)->messages.size(), 1U);
  EXPECT_EQ(transmit(kTimeZero)->messages.size(), 1U);
  EXPECT_FALSE(transmit(kTimeZero)) << "the third would need one byte more";
  EXPECT_EQ(script_.windows_read, 1);
  EXPECT_EQ(leaves(kTimeZero), 1U) << "another flight reads the window again";
}

TEST_F(EndpointRules, FlightEndsWhenNothingIsQueued) {
  script_.window = DataSize{1048};
  send(kTimeZero, 1000);
  EXPECT_EQ(leaves(kTimeZero), 1U);
  send(kTimeZero, 1000);
  EXPECT_EQ(leaves(kTimeZero), 1U);
}

TEST_F(EndpointRules, ArrivalMakesTheWindowBeReadAgain) {
  script_.window = DataSize{500};
  EXPECT_EQ(endpoint_.available_window(kTimeZero), DataSize{500});
  script_.window = DataSize{700};
  EXPECT_EQ(endpoint_.available_window(kTimeZero), DataSize{500});
  deliver(kTimeZero, 0);
  EXPECT_EQ(endpoint_.available_window(kTimeZero), DataSize{700});
}

TEST_F(EndpointRules, AvailableWindowExcludesQueuedBytes) {
  script_.window = DataSize{500};
  send(kTimeZero, 300);
  EXPECT_EQ(endpoint_.available_window(kTimeZero), DataSize{200});
  send(kTimeZero, 300);
  EXPECT_EQ(endpoint_.available_window(kTimeZero), DataSize{0});
  EXPECT_EQ(endpoint_.queued(), DataSize{600});
}

TEST_F(EndpointRules, MessageForNowLeavesWhileTheWindowIsClosed) {
  script_.window = DataSize{};
  send(kTimeZero, 100);
  EXPECT_EQ(leaves(kTimeZero), 0U);
  send(kTimeZero, 1, kAudioFlow, Leave::kNow);
  EXPECT_EQ(leaves(kTimeZero), 1U);
  EXPECT_EQ(endpoint_.queued(kVideoFlow), DataSize{100});
}

TEST_F(EndpointRules, SpacedDatagramsLeaveOneAtATime) {
  script_.spacing = 4ms;
  for (int i = 0; i < 3; ++i) {
    send(kTimeZero, 1000);
  }
  EXPECT_EQ(leaves(kTimeZero), 1U);
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 4ms);
  EXPECT_EQ(leaves(kTimeZero + 4ms - 1ns), 0U);
  send(kTimeZero + 4ms - 1ns, 1, kAudioFlow, Leave::kNow);
  EXPECT_EQ(leaves(kTimeZero + 4ms - 1ns), 1U) << "audio does not wait, but takes a place";
  EXPECT_EQ(leaves(kTimeZero + 4ms), 0U);
  EXPECT_EQ(leaves(kTimeZero + 8ms), 1U);
  EXPECT_EQ(leaves(kTimeZero + 12ms), 1U);
}

TEST_F(EndpointRules, ImpatientMessagesLeaveOneAtATime) {
  script_.window = DataSize{};
  script_.patience = 120ms;
  send(kTimeZero + 1ms, 100);
  send(kTimeZero + 1ms, 100);
  EXPECT_EQ(leaves(kTimeZero + 120ms - 1ns), 0U);
  EXPECT_EQ(leaves(kTimeZero + 120ms), 1U);
  send(kTimeZero + 130ms, 1, kAudioFlow, Leave::kNow);
  EXPECT_EQ(leaves(kTimeZero + 130ms), 1U) << "does not count as one of them";
  EXPECT_EQ(leaves(kTimeZero + 240ms - 1ns), 0U);
  EXPECT_EQ(leaves(kTimeZero + 240ms), 1U);
}

TEST_F(EndpointRules, WakesForTheWindowOnlyWhileSomethingWaits) {
  script_.window = DataSize{};
  drain(kTimeZero);
  script_.next_change = kTimeZero + 30ms;
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 50ms);
  send(kTimeZero + 1ms, 100);
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 30ms);
  script_.next_change = kNever;
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 50ms);
  script_.patience = 40ms;
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 40ms);
  endpoint_.handle_timeout(kTimeZero + 45ms);
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 45ms) << "never in the past";
  EXPECT_TRUE(endpoint_.has_transmit(kTimeZero + 46ms));
  EXPECT_EQ(endpoint_.poll_timeout(), kTimeZero + 46ms);
}

TEST_F(EndpointRules, QueuesHoldTheFloorWhateverTheForecast) {
  for (int i = 0; i < 16; ++i) {
    send(kTimeZero, 1000);
  }
  EXPECT_EQ(outcomes(), Outcomes{});
  send(kTimeZero, 1000);
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDropped}}));
  EXPECT_EQ(endpoint_.queued(), DataSize{16'000});
}

TEST_F(EndpointRules, QueuesHoldTheForecastIfItIsMore) {
  script_.forecast_total = DataSize{18'000};
  for (int i = 0; i < 18; ++i) {
    send(kTimeZero, 1000, i < 3 ? kAudioFlow : kVideoFlow);
  }
  EXPECT_EQ(outcomes(), Outcomes{});
  send(kTimeZero, 1, kAudioFlow);
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDropped}}));
  EXPECT_EQ(endpoint_.queued(kAudioFlow), DataSize{3001}) << "the longest queue gives";
}

TEST_F(EndpointRules, FlowHoldsItsOwnMaximum) {
  endpoint_.open_flow(9, {.priority = Priority::kBulk, .queue_max = DataSize{2000}});
  send(kTimeZero, 1000);
  send(kTimeZero, 1000, 9);
  send(kTimeZero, 1000, 9);
  EXPECT_EQ(outcomes(), Outcomes{});
  EXPECT_EQ(send(kTimeZero, 1, 9), 2U);
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDropped}}));
  EXPECT_EQ(endpoint_.queued(9), DataSize{1001});
}

TEST_F(EndpointRules, LargestMessageFitsWithAnOrdinaryForecast) {
  EXPECT_EQ(endpoint_.message_max(), DataSize{1128});
  send(kTimeZero, 1128);
  EXPECT_DEATH(send(kTimeZero, 1129), "message too long");
  ASSERT_EQ(leaves(kTimeZero), 1U);
}

TEST_F(EndpointRules, SmallerDatagramsDropWaitingMessages) {
  send(kTimeZero, 100);
  send(kTimeZero, 100);
  endpoint_.set_datagram_max(DataSize{1200});
  endpoint_.set_datagram_max(DataSize{1300});
  EXPECT_EQ(outcomes(), Outcomes{});
  EXPECT_EQ(endpoint_.message_max(), DataSize{1228});
  endpoint_.set_datagram_max(DataSize{1299});
  EXPECT_EQ(outcomes(), (Outcomes{{0, kDropped}, {1, kDropped}}));
  endpoint_.set_datagram_max(DataSize{100'000});
  EXPECT_EQ(endpoint_.message_max(), DataSize{65'507 - 72});
  endpoint_.set_datagram_max(DataSize{73});
  EXPECT_DEATH(endpoint_.set_datagram_max(DataSize{72}), "datagrams too small");
}

TEST_F(EndpointRules, TimeDoesNotGoBack) {
  send(kTimeZero + 1s, 100);
  EXPECT_DEATH(send(kTimeZero + 1s - 1ns, 100), "time went back");
  endpoint_.handle_timeout(kTimeZero + 2s);
  EXPECT_DEATH(endpoint_.handle_timeout(kTimeZero + 2s - 1ns), "time went back");
  EXPECT_DEATH(send(kTimeZero + 2s - 1ns, 100), "time went back");
  deliver(kTimeZero + 3s, 0);
  EXPECT_DEATH(deliver(kTimeZero + 3s - 1ns, 50), "time went back");
}

TEST_F(EndpointRules, OptionsOutOfRangeAreRefused) {
  const auto make = [&](const EndpointOptions& options) {
    Endpoint{kTimeZero, options, std::make_unique<ScriptControl>(script_)};
  };
  make({.datagram_max = DataSize{73}, .heartbeat_interval = 1ns});
  make({.datagram_max = DataSize{65'507}});
  EXPECT_DEATH(make({.datagram_max = DataSize{72}}), "out of range");
  EXPECT_DEATH(make({.datagram_max = DataSize{65'508}}), "out of range");
  EXPECT_DEATH(make({.heartbeat_interval = 0ns}), "out of range");
  EXPECT_DEATH((Endpoint{kTimeZero, {}, nullptr}), "");
}

class EndpointBuffers : public EndpointRules {
 protected:
  EndpointBuffers() : EndpointRules(EndpointOptions{.spare = &spare_}) {}
  SpareBuffers spare_;
};

TEST_F(EndpointBuffers, ComeFromAndGoBackToTheSpareOnes) {
  spare_.give(std::vector<std::byte>(1500));
  spare_.give(std::vector<std::byte>(1500));
  const std::vector<std::byte> message{std::byte{1}, std::byte{2}};
  EXPECT_EQ(endpoint_.send_copy(kTimeZero, kVideoFlow, message), 0U);
  EXPECT_EQ(spare_.kept(), 1U);
  const auto bytes = endpoint_.poll_transmit(kTimeZero);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(spare_.kept(), 1U) << "one taken for the datagram, the message's given back";
  EXPECT_EQ(bytes->back(), std::byte{2});
}

TEST(FlowQueues, ClassesLeaveAudioControlVideoBulkPadding) {
  FlowQueues queues;
  const std::vector<std::pair<FlowId, Priority>> flows{{1, Priority::kPadding},
                                                       {2, Priority::kBulk},
                                                       {3, Priority::kVideo},
                                                       {4, Priority::kControl},
                                                       {5, Priority::kAudio}};
  for (const auto& [flow, priority] : flows) {
    queues.open(flow, {.priority = priority});
    queues.push(flow, std::vector<std::byte>(10));
  }
  for (const int expected : {5, 4, 3, 2, 1}) {
    EXPECT_EQ(queues.front()->flow, expected);
    EXPECT_EQ(queues.pop().flow, expected);
  }
  EXPECT_EQ(queues.front(), nullptr);
}

TEST(FlowQueues, SizesAndIdsMatchTheQueue) {
  FlowQueues queues;
  EXPECT_FALSE(queues.is_open(1));
  EXPECT_EQ(queues.size(1), DataSize{0});
  queues.open(1, {.queue_max = DataSize{77}});
  EXPECT_TRUE(queues.is_open(1));
  EXPECT_EQ(queues.size_max(1), DataSize{77});
  EXPECT_TRUE(queues.empty());
  EXPECT_EQ(queues.push(1, {}), 0U);
  EXPECT_FALSE(queues.empty()) << "an empty message is one, too";
  EXPECT_EQ(queues.push(1, std::vector<std::byte>(30)), 1U);
  EXPECT_EQ(queues.push(1, std::vector<std::byte>(40)), 2U);
  EXPECT_EQ(queues.size(1), DataSize{70});
  EXPECT_EQ(queues.pop().id, 0U);
  EXPECT_EQ(queues.drop_front(1).id, 1U);
  EXPECT_EQ(queues.size(1), DataSize{40});
  EXPECT_EQ(queues.size(), DataSize{40});
  EXPECT_EQ(queues.pop().id, 2U);
  EXPECT_EQ(queues.size(), DataSize{0});
  EXPECT_TRUE(queues.empty());
}

TEST(FlowQueues, UrgentMessageTakesItsPredecessorsAlong) {
  FlowQueues queues;
  queues.open(1, {.priority = Priority::kAudio});
  queues.open(2, {.priority = Priority::kBulk});
  queues.push(1, {});
  queues.push(2, {});
  queues.push(2, {}, Leave::kNow);
  queues.push(2, {});
  std::vector<std::pair<int, Leave>> order;
  while (!queues.empty()) {
    const QueuedMessage message = queues.pop();
    order.emplace_back(message.flow, message.leave);
  }
  EXPECT_EQ(order, (std::vector<std::pair<int, Leave>>{{2, Leave::kNow},
                                                       {2, Leave::kNow},
                                                       {1, Leave::kWithinWindow},
                                                       {2, Leave::kWithinWindow}}));
}

TEST(FlowQueues, AfterTwoUrgentMessagesTheRestLeavesByClass) {
  FlowQueues queues;
  queues.open(1, {.priority = Priority::kAudio});
  queues.open(2, {.priority = Priority::kBulk});
  queues.push(2, {}, Leave::kNow);
  queues.push(2, {}, Leave::kNow);
  queues.push(2, {});
  queues.push(1, {});
  for (const int expected : {2, 2, 1, 2}) {
    ASSERT_NE(queues.front(), nullptr);
    EXPECT_EQ(queues.pop().flow, expected);
  }
  EXPECT_TRUE(queues.empty());
}

TEST(FlowQueues, DroppedMessagesDoNotMoveTheTurn) {
  FlowQueues queues;
  queues.open(1, {});
  queues.open(2, {});
  for (int i = 0; i < 3; ++i) {
    queues.push(1, std::vector<std::byte>(10));
    queues.push(2, std::vector<std::byte>(10));
  }
  EXPECT_EQ(queues.pop().flow, 1);
  EXPECT_EQ(queues.front()->flow, 2);
  EXPECT_EQ(queues.drop_from_longest().flow, 2) << "30 bytes against 20";
  EXPECT_EQ(queues.front()->id, 1U) << "what was in front is gone";
  EXPECT_EQ(queues.drop_from_longest().flow, 1) << "the first of equals";
  EXPECT_EQ(queues.pop().flow, 2);
  EXPECT_EQ(queues.pop().flow, 1);
  EXPECT_EQ(queues.pop().flow, 2);
}

TEST(FlowQueues, PushedMessageMayTakeTheTurn) {
  FlowQueues queues;
  queues.open(1, {.priority = Priority::kBulk});
  queues.open(2, {.priority = Priority::kAudio});
  queues.push(1, {});
  EXPECT_EQ(queues.front()->flow, 1);
  queues.push(2, {});
  EXPECT_EQ(queues.front()->flow, 2);
}

TEST(FlowQueues, MisuseFailsACheck) {
  FlowQueues queues;
  queues.open(1, {});
  EXPECT_DEATH(queues.open(1, {}), "opened twice");
  EXPECT_DEATH(queues.push(2, {}), "was not opened");
  EXPECT_DEATH(queues.pop(), "pop of nothing");
  EXPECT_DEATH(queues.drop_from_longest(), "drop from nothing");
}

}  // namespace
}  // namespace cress::session
