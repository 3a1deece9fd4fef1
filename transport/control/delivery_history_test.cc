#include "transport/control/delivery_history.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::control {
namespace {

using Arrival = DeliveryHistory::Arrival;

/// Arrivals that decide nothing by themselves.
constexpr uint64_t kNothing = UINT64_MAX;

TEST(DeliveryHistory, CountsReceivedAndLostOnceDecided) {
  DeliveryHistory history;
  EXPECT_EQ(history.handle_arrival(kTimeZero, 0, DataSize{1000}, 0), Arrival::kNew);
  EXPECT_EQ(history.received_or_lost(), 1000U);  // the overhead is not counted until decided
  // 1050 was lost; 2100 says everything below 1050 is decided.
  EXPECT_EQ(history.handle_arrival(kTimeZero, 2100, DataSize{1000}, 1050), Arrival::kNew);
  EXPECT_EQ(history.received_or_lost(), 2050U);
  EXPECT_TRUE(history.lost().empty());
  EXPECT_EQ(history.handle_arrival(kTimeZero + 20ms, 3150, DataSize{1000}, 0), Arrival::kNew);
  EXPECT_EQ(history.handle_arrival(kTimeZero + 20ms, 1050, DataSize{1000}, 0), Arrival::kLate);
  EXPECT_EQ(history.received_or_lost(), 4150U);
  ASSERT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{1050, 2100}));
}

TEST(DeliveryHistory, KnowsDuplicatesAndForgetsOldLosses) {
  DeliveryHistory history;
  EXPECT_EQ(history.handle_arrival(kTimeZero, 1050, DataSize{1000}, 1050), Arrival::kNew);
  EXPECT_EQ(history.handle_arrival(kTimeZero, 1050, DataSize{1000}, 1050), Arrival::kDuplicate);
  EXPECT_EQ(history.received_or_lost(), 1000U);
  history.handle_arrival(kTimeZero + 20ms, 2100, DataSize{1000}, 0);
  EXPECT_EQ(history.lost().size(), 1U);
  history.forget_decided_before(kTimeZero + 21ms);
  EXPECT_TRUE(history.lost().empty());
  EXPECT_EQ(history.lost_complete_from(), 2100U);
}

TEST(DeliveryHistory, EveryByteIsReceivedOrLostWhateverTheOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng{seed};
    struct Sent {
      uint64_t sequence;
      DataSize payload;
      uint64_t throwaway;
      bool lost;
    };
    std::vector<Sent> sent;
    uint64_t sequence = 0;
    for (int i = 0; i < 400; ++i) {
      const DataSize payload{static_cast<int64_t>(rng.below(1400))};
      const uint64_t back = std::min<uint64_t>(rng.below(4), sent.size());
      const uint64_t oldest = back == 0 ? sequence : sent[sent.size() - back].sequence;
      sent.push_back({sequence, payload, sequence - oldest, rng.chance(0.2)});
      sequence = sequence_after(sequence, payload);
    }
    DeliveryHistory history;
    std::vector<SequenceRange> lost;
    TimePoint now = kTimeZero;
    for (const Sent& s : sent) {
      now += 1ms;
      if (!s.lost) {
        history.handle_arrival(now, s.sequence, s.payload, s.throwaway);
      }
    }
    history.handle_arrival(now, sequence, DataSize{0}, 0);
    EXPECT_EQ(history.decided_before(), sequence) << "seed " << seed;
    for (const Sent& s : sent) {
      if (s.sequence < history.lost_complete_from()) {
        continue;
      }
      const bool reported =
          std::any_of(history.lost().begin(), history.lost().end(),
                      [&](SequenceRange r) { return r.from <= s.sequence && s.sequence < r.to; });
      EXPECT_EQ(reported, s.lost) << "seed " << seed << " sequence " << s.sequence;
    }
  }
}

TEST(DeliveryHistory, HostileNumbersCannotMakeItGrowOrFail) {
  Rng rng{11};
  DeliveryHistory history;
  for (int i = 0; i < 20'000; ++i) {
    history.handle_arrival(kTimeZero + i * 1us, rng.next() >> rng.below(64),
                           DataSize{static_cast<int64_t>(rng.below(70'000))},
                           rng.next() >> rng.below(64));
    ASSERT_LE(history.lost().size(), DeliveryHistory::kLostRangesMax);
  }
}

TEST(DeliveryHistory, OldestIsDecidedBeyond4096Pending) {
  DeliveryHistory history;
  for (uint64_t i = 0; i < 4096; ++i) {
    history.handle_arrival(kTimeZero, 1000 + 100 * i, DataSize{50}, kNothing);
  }
  EXPECT_EQ(history.decided_before(), 0U);
  EXPECT_EQ(history.received_or_lost(), 4096U * 50);
  history.handle_arrival(kTimeZero, 1000 + 100 * 4096, DataSize{50}, kNothing);
  EXPECT_EQ(history.decided_before(), 1001U);
  EXPECT_EQ(history.received_or_lost(), 1001U + 4096U * 50);
  EXPECT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{0, 1000}));
}

TEST(DeliveryHistory, DecidesBelowTheThrowawayPointOnly) {
  DeliveryHistory history;
  history.handle_arrival(kTimeZero, 100, DataSize{50}, 101);
  EXPECT_EQ(history.decided_before(), 0U) << "beyond the start: nonsense";
  history.handle_arrival(kTimeZero, 200, DataSize{50}, 200);
  EXPECT_EQ(history.decided_before(), 0U);
  history.handle_arrival(kTimeZero, 300, DataSize{50}, 100);
  EXPECT_EQ(history.decided_before(), 200U);
  EXPECT_EQ(history.handle_arrival(kTimeZero, 199, DataSize{0}, kNothing),
            DeliveryHistory::Arrival::kLate);
  EXPECT_EQ(history.handle_arrival(kTimeZero, 200, DataSize{0}, kNothing),
            DeliveryHistory::Arrival::kDuplicate);
  EXPECT_EQ(history.handle_arrival(kTimeZero, 250, DataSize{0}, kNothing),
            DeliveryHistory::Arrival::kNew);
  history.handle_arrival(kTimeZero, 400, DataSize{50}, 300);
  EXPECT_EQ(history.decided_before(), 200U) << "never back";
  EXPECT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{0, 100})) << "100 and 50 and 50 end at 200";
}

TEST(DeliveryHistory, OverlappingArrivalsLeaveNoLoss) {
  DeliveryHistory history;
  history.handle_arrival(kTimeZero, 0, DataSize{950}, 0);  // to 1000, according to it
  history.handle_arrival(kTimeZero, 100, DataSize{0}, 0);  // to 150
  history.handle_arrival(kTimeZero, 900, DataSize{0}, 0);
  history.handle_arrival(kTimeZero, 1100, DataSize{0}, 0);
  ASSERT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{1000, 1100}));
}

TEST(DeliveryHistory, LossesThatTouchAreOne) {
  DeliveryHistory history;
  history.handle_arrival(kTimeZero, 100, DataSize{0}, 50);
  history.handle_arrival(kTimeZero, 100, DataSize{0}, 0);
  ASSERT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{0, 100}));
}

TEST(DeliveryHistory, RemembersTheNewest32Losses) {
  DeliveryHistory history;
  for (uint64_t i = 1; i <= 32; ++i) {
    history.handle_arrival(kTimeZero, 100 * i, DataSize{0}, 0);  // 50 lost before each
  }
  EXPECT_EQ(history.lost().size(), 32U);
  EXPECT_EQ(history.lost_complete_from(), 0U);
  history.handle_arrival(kTimeZero, 3300, DataSize{0}, 0);
  EXPECT_EQ(history.lost().size(), 32U);
  EXPECT_EQ(history.lost_complete_from(), 100U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{150, 200}));
}

TEST(DeliveryHistory, ForgetsDecisionsBeforeTheHorizon) {
  DeliveryHistory history;
  history.handle_arrival(kTimeZero + 1s, 100, DataSize{0}, 0);
  history.handle_arrival(kTimeZero + 2s, 200, DataSize{0}, 0);
  history.forget_decided_before(kTimeZero + 1s);
  EXPECT_EQ(history.lost().size(), 2U);
  history.forget_decided_before(kTimeZero + 1s + 1ns);
  EXPECT_EQ(history.lost_complete_from(), 100U);
  ASSERT_EQ(history.lost().size(), 1U);
  EXPECT_EQ(history.lost().front(), (SequenceRange{150, 200}));
}

TEST(DeliveryHistory, RemembersTheNewest4096Decisions) {
  for (const auto& [decisions, complete_from] : {std::pair{4096, 100U}, std::pair{4097, 0U}}) {
    DeliveryHistory history;
    for (int i = 1; i <= decisions; ++i) {
      history.handle_arrival(kTimeZero + i * 1ms, 100 * static_cast<uint64_t>(i), DataSize{50}, 0);
    }
    // Only the first loss; the first was discarded with the newest decision.
    history.forget_decided_before(kTimeZero + 1ms + 1ns);
    EXPECT_EQ(history.lost_complete_from(), complete_from) << decisions;
  }
}

}  // namespace
}  // namespace cress::control
