#include "traces/saturate/records.hh"

#include <gtest/gtest.h>

#include <deque>

#include "transport/base/rng.hh"

namespace cress::traces {
namespace {

std::vector<SaturateRecord> log_of(size_t count) {
  std::vector<SaturateRecord> log;
  for (size_t i = 0; i < count; ++i) {
    log.push_back({2 * i, kTimeZero + i * 1ms});
  }
  return log;
}

struct Transfer {
  RecordSender sender;
  RecordCollector collector;
  uint64_t pieces = 0;
};

/// Sends the log every 10 ms over a path of 30 ms that loses `loss` of the pieces and of the
/// answers, until it is complete or `limit` is over. Returns the time it took.
Duration transfer(Transfer& parts, const std::vector<SaturateRecord>& log, double loss,
                  Duration limit) {
  struct Answer {
    TimePoint at{};
    uint64_t received = 0;
  };
  Rng rng{7};
  std::deque<Answer> answers;
  TimePoint now = kTimeZero;
  parts.sender.set_patience(150ms);
  for (; parts.sender.received() < log.size() && now < kTimeZero + limit; now += 10ms) {
    while (!answers.empty() && answers.front().at <= now) {
      parts.sender.on_received(answers.front().received);
      answers.pop_front();
    }
    for (int i = 0; i < 8 && parts.sender.wants(now, log.size()); ++i) {
      const auto piece = parts.sender.take(now, log.size());
      ++parts.pieces;
      if (!rng.chance(loss)) {
        parts.collector.add(piece.first, std::span{log}.subspan(piece.first, piece.count));
      }
    }
    if (!rng.chance(loss)) {
      answers.push_back({now + 30ms, parts.collector.records().size()});
    }
  }
  return now - kTimeZero;
}

TEST(Records, LogIsCompleteAtTheOtherEndDespiteLoss) {
  const auto log = log_of(20'000);
  for (const double loss : {0.0, 0.02, 0.3, 0.7}) {
    Transfer parts;
    const Duration took = transfer(parts, log, loss, 60s);
    EXPECT_EQ(parts.collector.records(), log) << loss;
    EXPECT_LT(took, 20s) << loss;
  }
}

TEST(Records, WithoutLossEverythingIsSentOnce) {
  const auto log = log_of(10'000);
  Transfer parts;
  transfer(parts, log, 0, 60s);
  EXPECT_EQ(parts.pieces, (log.size() + kUpdateRecordsMax - 1) / kUpdateRecordsMax);
}

TEST(Records, PiecesInAnyOrderAndTwiceGiveTheLog) {
  const auto log = log_of(1'000);
  RecordCollector collector;
  const std::span all{log};
  for (size_t first = 960; first < 1'000; first -= 40) {
    collector.add(first, all.subspan(first, 40));
    collector.add(first, all.subspan(first, 40));
  }
  collector.add(3, all.subspan(3, 10));
  EXPECT_EQ(collector.records(), log);
}

TEST(Records, EarlyPiecesAreBounded) {
  const auto log = log_of(2 * RecordCollector::kEarlyMax + 2);
  RecordCollector collector;
  for (size_t i = 1; i < log.size(); i += 2) {
    collector.add(i, std::span{log}.subspan(i, 1));
  }
  for (size_t i = 0; i < log.size(); i += 2) {
    collector.add(i, std::span{log}.subspan(i, 1));
  }
  EXPECT_LT(collector.records().size(), log.size()) << "everything was kept";
  EXPECT_GE(collector.records().size(), 2 * RecordCollector::kEarlyMax - 1);
}

TEST(Records, AnswerToUnsentDataIsIgnored) {
  RecordSender sender;
  sender.on_received(5);
  EXPECT_EQ(sender.received(), 0U);
}

}  // namespace
}  // namespace cress::traces
