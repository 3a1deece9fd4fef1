#include "eval/schemes/web_flow.hh"

#include <gtest/gtest.h>

#include "transport/sim/world.hh"

namespace cress::schemes {
namespace {

struct Browsing {
  explicit Browsing(uint64_t seed) : sender(seed) {}

  WebSender sender;
  WebReceiver receiver;
  sim::Link forward{{.trace = nullptr, .queue = nullptr}};
  sim::Link reverse{{.trace = nullptr, .queue = nullptr}};
  sim::World world{{sender, receiver, forward, reverse}};
};

TEST(WebFlow, ObjectsArriveWholeWithSilencesBetween) {
  Browsing browsing{1};
  browsing.world.run_until(kTimeZero + 60s);
  EXPECT_GT(browsing.sender.objects(), 15U);
  EXPECT_LT(browsing.sender.objects(), 50U);
  const DataSize least = WebUser{}.object_min * (browsing.sender.objects() - 1);
  EXPECT_GE(browsing.receiver.delivered(), least);
  Duration silence_max{};
  const auto& records = browsing.forward.records();
  for (size_t i = 1; i < records.size(); ++i) {
    silence_max = std::max<Duration>(silence_max, records[i].sent - records[i - 1].sent);
  }
  EXPECT_GT(silence_max, 2s);
  EXPECT_EQ(records.front().sent, kTimeZero);
}

TEST(WebFlow, SeedDrawsTheObjects) {
  Browsing one{1};
  Browsing same{1};
  Browsing other{2};
  for (Browsing* browsing : {&one, &same, &other}) {
    browsing->world.run_until(kTimeZero + 20s);
  }
  EXPECT_EQ(one.receiver.delivered(), same.receiver.delivered());
  EXPECT_NE(one.receiver.delivered(), other.receiver.delivered());
}

TEST(WebFlow, StrayBytesAreIgnored) {
  WebReceiver receiver;
  for (const size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{40}}) {
    receiver.handle_datagram(kTimeZero, {}, std::vector<std::byte>(size, std::byte{1}));
  }
  EXPECT_EQ(receiver.delivered(), DataSize{});
  EXPECT_FALSE(receiver.poll_transmit(kTimeZero).has_value());
}

}  // namespace
}  // namespace cress::schemes
