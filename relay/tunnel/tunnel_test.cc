// Goal: SproutTunnel's properties: flows do not disturb each other, nothing is reordered within
// one, queues hold no more than the forecast promises, packets of any size arrive unchanged.
// Method: two tunnels over simulated links, and their parts over random inputs.

#include "relay/tunnel/tunnel.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include "relay/tunnel/greeting.hh"
#include "relay/tunnel/secure_tunnel.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"
#include "transport/sim/world.hh"

namespace cress::tunnel {
namespace {

using Bytes = std::vector<std::byte>;

/// A UDP packet over IPv4 of `size` bytes from port `flow`, with its send time and its number.
struct Numbered {
  uint16_t flow = 0;
  uint32_t number = 0;
  TimePoint sent{};
};

Bytes packet_of(const Numbered& said, size_t size) {
  Bytes packet(size);
  const auto put = [&](size_t at, size_t value) { packet[at] = static_cast<std::byte>(value); };
  put(0, 0x45);
  put(2, size >> 8);
  put(3, size & 0xff);
  put(8, 64);
  put(9, 17);
  for (const size_t at : {size_t{12}, size_t{16}}) {
    put(at, 10);
    put(at + 3, at);
  }
  put(20, said.flow >> 8);
  put(21, said.flow & 0xff);
  const int64_t sent = said.sent.time_since_epoch().count();
  std::memcpy(&packet[28], &said.number, sizeof said.number);
  std::memcpy(&packet[32], &sent, sizeof sent);
  return packet;
}

Numbered read_packet(const Bytes& packet) {
  Numbered said;
  said.flow = static_cast<uint16_t>(std::to_integer<unsigned>(packet[20]) << 8U |
                                    std::to_integer<unsigned>(packet[21]));
  int64_t sent = 0;
  std::memcpy(&said.number, &packet[28], sizeof said.number);
  std::memcpy(&sent, &packet[32], sizeof sent);
  said.sent = kTimeZero + Duration{sent};
  return said;
}

/// A program that sends `size` bytes every `interval`.
struct Source {
  uint16_t flow = 0;
  size_t size = 0;
  Duration interval{};
  TimePoint next = kTimeZero + 1s;
  uint32_t number = 0;
};

struct Seen {
  uint32_t count = 0;
  std::optional<uint32_t> last;
  bool is_in_order = true;
  Duration delay_max{};
};

class End final : public Machine {
 public:
  End(ControlKind kind, std::vector<Source> sources)
      : sources_(std::move(sources)),
        tunnel_(kTimeZero, {}, controls_.make(kind, {}), kind == ControlKind::kSprout) {}

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    EXPECT_TRUE(tunnel_.handle_datagram(now, bytes).has_value());
    take(now);
  }
  void handle_timeout(TimePoint now) override {
    tunnel_.handle_timeout(now);
    for (Source& source : sources_) {
      for (; source.next <= now; source.next += source.interval) {
        EXPECT_TRUE(tunnel_.send(now, packet_of({source.flow, source.number, now}, source.size)));
        ++source.number;
        queued_max = std::max(queued_max, tunnel_.queued());
        const auto& control = tunnel_.endpoint().control();
        EXPECT_LE(tunnel_.queued(),
                  std::max(control.forecast_total(), session::EndpointOptions{}.queue_floor));
      }
    }
    take(now);
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = tunnel_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    note(now, *bytes);
    return Transmit{.to = {}, .bytes = *std::move(bytes)};
  }
  TimePoint poll_timeout() const override {
    TimePoint next = tunnel_.poll_timeout();
    for (const Source& source : sources_) {
      next = std::min(next, source.next);
    }
    return next;
  }

  Tunnel& tunnel() { return tunnel_; }
  const Tunnel& tunnel() const { return tunnel_; }
  /// Everything that it has sent and given to its device since the last call, and the time.
  std::string take_history() { return std::exchange(history_, {}); }
  std::map<uint16_t, Seen> seen;
  DataSize queued_max;

 private:
  void take(TimePoint now) {
    while (const auto said = tunnel_.poll_note()) {
      note(now, *said);
    }
    while (const auto packet = tunnel_.poll_packet()) {
      note(now, *packet);
      const Numbered said = read_packet(*packet);
      Seen& flow = seen[said.flow];
      ++flow.count;
      flow.is_in_order = flow.is_in_order && (!flow.last || said.number > *flow.last);
      flow.last = said.number;
      flow.delay_max = std::max(flow.delay_max, now - said.sent);
    }
  }

  void note(TimePoint now, const Bytes& bytes) {
    history_ += std::to_string(now.time_since_epoch().count());
    history_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  std::vector<Source> sources_;
  ControlMaker controls_;
  Tunnel tunnel_;
  std::string history_;
};

/// 1500 bytes every `step`, with nothing between `from` and `to`.
std::shared_ptr<const sim::DeliveryTrace> trace_of(Duration step, Duration length,
                                                   Duration from = {}, Duration to = {}) {
  auto trace = std::make_shared<sim::DeliveryTrace>();
  for (Duration at = step; at <= length; at += step) {
    if (at <= from || at > to) {
      trace->opportunities.push_back({at});
    }
  }
  return trace;
}

struct Path {
  explicit Path(std::shared_ptr<const sim::DeliveryTrace> trace, double loss = 0)
      : forward({.trace = trace, .loss = loss, .seed = 5, .queue = nullptr}),
        reverse({.trace = trace, .loss = loss, .seed = 6, .queue = nullptr}) {}
  sim::Link forward;
  sim::Link reverse;
};

class TunnelOf : public ::testing::TestWithParam<ControlKind> {};

TEST_P(TunnelOf, SparseFlowKeepsItsDelayNextToABulkFlow) {
  // 3 Mbit/s; the bulk flow offers twice that, the sparse one 64 kbit/s.
  End left{
      GetParam(),
      {{.flow = 1, .size = 1000, .interval = 1333us}, {.flow = 2, .size = 160, .interval = 20ms}}};
  End right{GetParam(), {}};
  Path path{trace_of(4ms, 10s)};
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 21s);
  const Seen& sparse = right.seen[2];
  const Seen& bulk = right.seen[1];
  std::printf("bulk %.0f kbit/s, sparse %u packets, at most %.0f ms late\n",
              bulk.count * 1000.0 * 8 / 20 / 1000, sparse.count, to_milliseconds(sparse.delay_max));
  EXPECT_GE(sparse.count, 990U) << "of 1001";
  EXPECT_LE(sparse.delay_max, 250ms);
  // A flow of Sprout's own gets a third of a steady link of 3 Mbit/s: its model expects varying
  // rates.
  EXPECT_GE(bulk.count * 1000.0 * 8 / 20, GetParam() == ControlKind::kCress ? 2.5e6 : 0.65e6);
  EXPECT_TRUE(sparse.is_in_order && bulk.is_in_order);
  EXPECT_GT(left.tunnel().stats().packets_dropped, 5000U) << "of the bulk flow alone";
}

TEST_P(TunnelOf, BulkFlowsShareEvenly) {
  std::vector<Source> sources;
  for (uint16_t flow = 1; flow <= 4; ++flow) {
    // A flow that offers more gets no more.
    sources.push_back({.flow = flow, .size = 1000, .interval = 4ms / flow});
  }
  End left{GetParam(), sources};
  End right{GetParam(), {}};
  Path path{trace_of(4ms, 10s)};
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 21s);
  for (uint16_t flow = 2; flow <= 4; ++flow) {
    EXPECT_NEAR(right.seen[flow].count, right.seen[1].count, 0.05 * right.seen[1].count) << flow;
    EXPECT_TRUE(right.seen[flow].is_in_order);
  }
}

TEST_P(TunnelOf, OutageKeepsQueuesBoundedAndDataFresh) {
  End left{
      GetParam(),
      {{.flow = 1, .size = 1000, .interval = 1ms}, {.flow = 2, .size = 160, .interval = 20ms}}};
  End right{GetParam(), {}};
  Path path{trace_of(4ms, 20s, 8s, 13s)};
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 12s);
  EXPECT_LE(left.tunnel().queued(), DataSize{100'000});
  world.run_until(kTimeZero + 13s);
  const uint32_t before = right.seen[2].count;
  world.run_until(kTimeZero + 16s);
  EXPECT_GE(right.seen[2].count - before, 60U) << "of 150 in three seconds";
  EXPECT_TRUE(right.seen[1].is_in_order && right.seen[2].is_in_order);
  EXPECT_LE(left.queued_max, DataSize{200'000});
}

TEST_P(TunnelOf, LossesReorderNothingAndPacketsAreUnchanged) {
  std::vector<Source> sources;
  const std::vector<size_t> sizes{40, 500, 1130, 1280, 1500, 4000, 9000};
  for (size_t i = 0; i < sizes.size(); ++i) {
    sources.push_back(
        {.flow = static_cast<uint16_t>(i), .size = sizes[i], .interval = 211ms + i * 3ms});
  }
  End left{GetParam(), sources};
  End right{GetParam(), {}};
  Path path{trace_of(2ms, 10s), 0.02};
  sim::World world{{left, right, path.forward, path.reverse}};
  world.run_until(kTimeZero + 30s);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const Seen& seen = right.seen[static_cast<uint16_t>(i)];
    EXPECT_TRUE(seen.is_in_order) << sizes[i];
    EXPECT_GE(seen.count, 80U) << sizes[i] << " bytes, of about 137";
  }
  EXPECT_GT(left.tunnel().stats().packets_cut, 300U);
  EXPECT_GT(right.tunnel().assembler().abandoned, 0U) << "a lost part loses its packet";
}

/// A line about an end: its totals, what waits, and a digest of its output.
std::string golden_line(End& end, TimePoint now) {
  const Tunnel& tunnel = end.tunnel();
  const TunnelStats& stats = tunnel.stats();
  std::ostringstream text;
  text << "in " << stats.packets_in << '/' << stats.bytes_in.bytes() << " out " << stats.packets_out
       << '/' << stats.bytes_out.bytes() << " not " << stats.packets_not_carried << " cut "
       << stats.packets_cut << " dropped " << stats.packets_dropped << " lost "
       << stats.messages_lost << " delivered " << stats.messages_delivered << " padded "
       << stats.paddings_sent << " abandoned " << tunnel.assembler().abandoned << " malformed "
       << tunnel.assembler().malformed << " waits " << tunnel.queued().bytes() << " flows "
       << tunnel.flows() << " next "
       << (tunnel.poll_timeout() == kNever ? -1 : (tunnel.poll_timeout() - now) / 1us) << ' '
       << golden_digest(end.take_history()) << '\n';
  return text.str();
}

// Bulk, sparse and large packets, a pause, an outage, losses, notes and a smaller path.
TEST_P(TunnelOf, CarriesPacketsAsRecorded) {
  End left{GetParam(),
           {{.flow = 1, .size = 1000, .interval = 2ms},
            {.flow = 2, .size = 160, .interval = 20ms},
            {.flow = 3, .size = 4000, .interval = 97ms},
            {.flow = 4, .size = 1280, .interval = 2500ms, .next = kTimeZero + 2500ms}}};
  End right{GetParam(),
            {{.flow = 1, .size = 1200, .interval = 1600ms, .next = kTimeZero + 200ms},
             {.flow = 2, .size = 90, .interval = 50ms}}};
  Path path{trace_of(6ms, 10s, 4s, 4600ms), 0.02};
  sim::World world{{left, right, path.forward, path.reverse}};
  std::string text;
  for (int period = 1; period <= 24; ++period) {
    const TimePoint now = kTimeZero + period * 250ms;
    world.run_until(now);
    if (period == 8) {
      left.tunnel().send_note(now, Bytes(20, std::byte{9}));
      right.tunnel().send_note(now, Bytes(700, std::byte{8}));
      left.tunnel().set_datagram_max(DataSize{1000});
      left.tunnel().send(now, Bytes(50));
    }
    text += std::to_string(period * 250) + " left: " + golden_line(left, now);
    text += "     right: " + golden_line(right, now);
  }
  expect_golden(std::string{"tunnel_"} + name_of(GetParam()), text);
}

INSTANTIATE_TEST_SUITE_P(Controls, TunnelOf,
                         ::testing::Values(ControlKind::kCress, ControlKind::kSprout),
                         [](const auto& about) { return std::string{name_of(about.param)}; });

TEST(Tunnel, UnroutablePacketsAreNotCarried) {
  ControlMaker controls;
  Tunnel tunnel{kTimeZero, {}, controls.make(ControlKind::kCress, {}), false};
  Bytes multicast = packet_of({}, 100);
  multicast[16] = std::byte{224};
  EXPECT_FALSE(tunnel.send(kTimeZero, multicast));
  EXPECT_FALSE(tunnel.send(kTimeZero, Bytes(100)));
  EXPECT_FALSE(tunnel.send(kTimeZero, {}));
  EXPECT_TRUE(tunnel.send(kTimeZero, packet_of({}, 100)));
  EXPECT_EQ(tunnel.stats().packets_not_carried, 3U);
}

TEST(Tunnel, MalformedAndForeignPacketsDoNotPassTheGate) {
  // The other end checks nothing of what it sends.
  ControlMaker controls;
  session::Endpoint other{kTimeZero, {}, controls.make(ControlKind::kCress, {})};
  other.open_flow(session::kBulkFlow, {.priority = session::Priority::kBulk});
  Tunnel tunnel{kTimeZero, {}, controls.make(ControlKind::kCress, {}), false};
  TimePoint now = kTimeZero;
  const auto received = [&](const Bytes& bytes) {
    now += 100ms;
    other.send(now, session::kBulkFlow, bytes, session::Leave::kNow);
    while (const auto datagram = other.poll_transmit(now)) {
      EXPECT_TRUE(tunnel.handle_datagram(now, *datagram).has_value());
    }
    return tunnel.poll_packet();
  };
  const Bytes packet = packet_of({}, 100);  // from 10.0.0.12 to 10.0.0.16
  const Bytes truncated(packet.begin(), packet.begin() + 19);
  EXPECT_EQ(received(truncated), truncated) << "without a gate nothing is parsed";
  EXPECT_EQ(received(packet), packet);
  EXPECT_EQ(tunnel.stats().packets_foreign, 0U);

  const auto host = [](const char* text) {
    return std::vector{netns::Prefix{*runtime::parse_address(text), 32}};
  };
  tunnel.set_gate({.ours = host("10.0.0.16:0"), .theirs = host("10.0.0.12:0")});
  EXPECT_EQ(received(truncated), std::nullopt);
  EXPECT_EQ(tunnel.stats().packets_foreign, 1U);
  EXPECT_EQ(received(packet), packet);
  Bytes foreign = packet;
  foreign[19] = std::byte{17};
  EXPECT_EQ(received(foreign), std::nullopt);
  EXPECT_EQ(tunnel.stats().packets_foreign, 2U);
  EXPECT_EQ(tunnel.stats().packets_out, 3U);
  EXPECT_EQ(tunnel.stats().bytes_out, DataSize{100 + 19 + 100});

  EXPECT_FALSE(tunnel.send(now, packet)) << "not from an address of ours";
  EXPECT_EQ(tunnel.stats().packets_foreign, 3U);
  EXPECT_EQ(tunnel.stats().packets_in, 0U);
}

TEST(PacketParts, PacketsAreReassembledFromAnyParts) {
  Rng rng{3};
  PacketCutter cutter;
  PacketAssembler assembler;
  for (int round = 0; round < 2000; ++round) {
    Bytes packet(1 + rng.below(20'000));
    for (std::byte& byte : packet) {
      byte = static_cast<std::byte>(rng.below(256));
    }
    packet[0] = std::byte{0x45};
    const uint64_t least = packet.size() / 200 + 8;
    std::vector<Bytes> parts;
    cutter.begin(packet);
    while (!cutter.is_empty()) {
      const DataSize size{static_cast<int64_t>(least + rng.below(1200))};
      parts.push_back(cutter.take(size));
      ASSERT_LE(parts.back().size(), static_cast<size_t>(size.bytes()));
    }
    for (size_t i = parts.size(); i > 1; --i) {
      std::swap(parts[i - 1], parts[rng.below(i)]);
    }
    parts.insert(parts.begin(), parts.front());  // one comes twice
    const bool is_cut = parts.size() > 2;
    std::optional<Bytes> whole;
    for (const Bytes& part : parts) {
      ASSERT_TRUE(!whole || !is_cut);
      whole = assembler.handle_message(kTimeZero, part);
    }
    ASSERT_EQ(whole, packet);
  }
  EXPECT_EQ(assembler.waiting(), DataSize{});
  EXPECT_EQ(assembler.stats(), AssemblerStats{});
}

TEST(PacketParts, AHostilePeerCannotMakeTheAssemblerGrow) {
  Rng rng{4};
  PacketAssembler assembler;
  TimePoint now = kTimeZero;
  for (int i = 0; i < 50'000; ++i) {
    Bytes message(rng.below(1500));
    for (size_t at = 0; at < std::min<size_t>(message.size(), 8); ++at) {
      message[at] = static_cast<std::byte>(rng.below(256));
    }
    if (!message.empty() && rng.chance(0.9)) {
      message[0] = kPartKind;
    }
    now += 1ms;
    const auto packet = assembler.handle_message(now, std::move(message));
    ASSERT_TRUE(!packet || packet->size() <= static_cast<size_t>(kPacketMax.bytes()));
    ASSERT_LE(assembler.waiting(), PacketAssembler::kWaitingBytesMax);
  }
  EXPECT_GT(assembler.stats().abandoned, 10'000U);
}

/// `count` bytes of an IPv4 packet of `size`, from byte `from` on.
Bytes part_of(uint16_t number, size_t size, size_t from, size_t count) {
  Bytes part{kPartKind};
  for (const size_t word : {size_t{number}, size, from}) {
    part.push_back(static_cast<std::byte>(word >> 8));
    part.push_back(static_cast<std::byte>(word & 0xff));
  }
  part.resize(part.size() + count, std::byte{0x45});
  return part;
}

TEST(PacketParts, PartsAreTakenUpToEachBound) {
  PacketAssembler assembler;
  const auto take = [&](const Bytes& message, Duration after = {}) {
    return assembler.handle_message(kTimeZero + after, message);
  };
  EXPECT_EQ(take({}), std::nullopt);
  EXPECT_EQ(take({std::byte{0x50}}), std::nullopt);
  EXPECT_EQ(take(part_of(1, 10, 0, 0)), std::nullopt);
  EXPECT_EQ(take(part_of(1, 10, 5, 6)), std::nullopt) << "past its end";
  EXPECT_EQ(assembler.stats().malformed, 4U);
  EXPECT_EQ(assembler.waiting(), DataSize{});
  EXPECT_EQ(take({std::byte{0x6f}}), Bytes{std::byte{0x6f}});

  EXPECT_EQ(take(part_of(1, 10, 4, 3)), std::nullopt);
  EXPECT_EQ(take(part_of(1, 10, 6, 4)), std::nullopt) << "overlaps";
  EXPECT_EQ(take(part_of(1, 10, 0, 5)), std::nullopt) << "overlaps";
  EXPECT_EQ(take(part_of(1, 10, 7, 3)), std::nullopt);
  EXPECT_EQ(take(part_of(1, 10, 0, 4), 2s), Bytes(10, std::byte{0x45})) << "after 2 s";
  take(part_of(2, 10, 0, 4), 3s);
  EXPECT_EQ(take(part_of(2, 10, 4, 6), 5s + 1us), std::nullopt) << "later than 2 s";
  EXPECT_EQ(assembler.stats().abandoned, 1U);
  EXPECT_EQ(take(part_of(2, 11, 0, 11), 5s + 1us), Bytes(11, std::byte{0x45})) << "another packet";
  EXPECT_EQ(assembler.stats().abandoned, 2U);

  for (const size_t parts : {kPartsMax, kPartsMax + 1}) {
    std::optional<Bytes> whole;
    for (size_t at = 0; at < parts; ++at) {
      whole = take(part_of(3, parts, at, 1), 6s);
    }
    EXPECT_EQ(whole.has_value(), parts == kPartsMax) << parts;
  }
  Bytes other = part_of(4, 8, 0, 8);
  other[7] = std::byte{0x35};
  EXPECT_EQ(take(other, 9s), std::nullopt) << "whole, and no IP";
  EXPECT_EQ(assembler.stats().malformed, 5U);
  EXPECT_EQ(assembler.waiting(), DataSize{});
}

TEST(PacketParts, TheOldestPacketGivesWayWhenTooMuchWaits) {
  // 64 packets, or 512 KiB: eight of the largest.
  for (const auto& [size, count] : {std::pair<size_t, uint16_t>{100, 64}, {65'535, 8}}) {
    PacketAssembler assembler;
    for (uint16_t number = 0; number <= count; ++number) {
      EXPECT_EQ(assembler.stats().abandoned, 0U) << number;
      assembler.handle_message(kTimeZero, part_of(number, size, 0, 1));
    }
    EXPECT_EQ(assembler.stats().abandoned, 1U);
    EXPECT_EQ(assembler.waiting(), DataSize{static_cast<int64_t>(count * size)});
    const auto rest = [&](uint16_t number) {
      return assembler.handle_message(kTimeZero, part_of(number, size, 1, size - 1)).has_value();
    };
    EXPECT_TRUE(rest(1)) << "the second is kept";
    EXPECT_FALSE(rest(0));
  }
}

netns::FlowKey key_of(uint64_t number) {
  netns::FlowKey key;
  key.source.port = static_cast<uint16_t>(number);
  key.protocol = 17;
  return key;
}

TEST(FlowSlots, FlowsHaveQueuesOfTheirOwnWhileThereAreSome) {
  FlowSlots slots;
  const auto nothing = [](session::FlowId) { return false; };
  std::map<session::FlowId, int> used;
  for (uint64_t flow = 0; flow < FlowSlots::kSlots; ++flow) {
    ++used[slots.slot_of(kTimeZero, key_of(flow), false, nothing)];
  }
  EXPECT_EQ(used.size(), FlowSlots::kSlots);
  // One more replaces the one that was silent longest.
  const uint64_t silent = FlowSlots::kSlots / 2;
  const session::FlowId its_slot = slots.slot_of(kTimeZero, key_of(silent), false, nothing);
  for (uint64_t flow = 0; flow < FlowSlots::kSlots; ++flow) {
    if (flow != silent) {
      slots.slot_of(kTimeZero + 1ms, key_of(flow), false, nothing);
    }
  }
  EXPECT_EQ(slots.slot_of(kTimeZero + 2ms, key_of(1000), false, nothing), its_slot);
  EXPECT_EQ(slots.size(), FlowSlots::kSlots);
  slots.slot_of(kTimeZero + FlowSlots::kIdleMax + 2s, key_of(1), false, nothing);
  EXPECT_EQ(slots.size(), 1U) << "the others are over";
  slots.slot_of(kTimeZero + 2 * FlowSlots::kIdleMax + 2s, key_of(2), false, nothing);
  EXPECT_EQ(slots.size(), 2U) << "not yet";
}

TEST(FlowSlots, FlowKeepsItsQueueWhilePacketsWait) {
  Rng rng{9};
  FlowSlots slots;
  std::map<uint64_t, session::FlowId> at;
  const auto all = [](session::FlowId) { return true; };
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t flow = rng.below(FlowSlots::kFlowsMax);
    const auto slot = slots.slot_of(kTimeZero + i * 1ms, key_of(flow), false, all);
    ASSERT_EQ(at.emplace(flow, slot).first->second, slot);
  }
  for (uint64_t flow = 0; flow < 5000; ++flow) {
    slots.slot_of(kTimeZero + 200s, key_of(flow), false, all);
    ASSERT_LE(slots.size(), FlowSlots::kFlowsMax);
  }
}

TEST(FlowSlots, AFlowIsForgottenOnceItWasIdleForLonger) {
  FlowSlots slots;
  bool waits = false;
  const auto size_after = [&](Duration at, uint64_t flow) {
    slots.slot_of(kTimeZero + at, key_of(flow), false, [&](session::FlowId) { return waits; });
    return slots.size();
  };
  EXPECT_EQ(size_after(0s, 1), 1U);
  EXPECT_EQ(size_after(FlowSlots::kIdleMax, 2), 2U);
  waits = true;
  EXPECT_EQ(size_after(FlowSlots::kIdleMax + 1s, 3), 3U) << "its packets wait";
  waits = false;
  EXPECT_EQ(size_after(FlowSlots::kIdleMax + 2s - 1us, 4), 4U) << "flows are looked at each second";
  EXPECT_EQ(size_after(FlowSlots::kIdleMax + 2s, 2), 3U);
}

TEST(FlowSlots, FragmentsOfAFlowShareAQueue) {
  FlowSlots slots;
  const auto nothing = [](session::FlowId) { return false; };
  EXPECT_EQ(slots.slot_of(kTimeZero, key_of(5), true, nothing),
            slots.slot_of(kTimeZero, key_of(0), true, nothing));
}

TEST(Greeting, ParseReturnsWhatWasBuiltOrAnError) {
  Greeting greeting;
  greeting.network.listener = *parse_tunnel_prefix("10.9.0.2/30");
  greeting.network.control = ControlKind::kSprout;
  greeting.network.mtu = DataSize{1400};
  const auto built = build_greeting(greeting);
  EXPECT_EQ(*parse_greeting(built), greeting);
  EXPECT_EQ(parse_greeting(std::span{built}.first(9)).error(), GreetingError::kTruncated);
  const std::map<size_t, GreetingError> wrong{
      {0, GreetingError::kBadVersion}, {1, GreetingError::kBadKind},
      {2, GreetingError::kBadControl}, {3, GreetingError::kBadAddress},
      {4, GreetingError::kBadAddress}, {8, GreetingError::kBadMtu}};
  for (const auto& [at, error] : wrong) {
    auto bytes = built;
    bytes[at] = std::byte{0xf0};
    EXPECT_EQ(parse_greeting(bytes).error(), error) << at;
  }
}

TEST(Greeting, EachFieldIsTakenUpToItsBounds) {
  for (const DataSize mtu : {kMtuMin, kMtuMax}) {
    const Greeting greeting{
        .is_answer = true,
        .network = {.listener = *parse_tunnel_prefix("223.0.0.0/31"), .mtu = mtu}};
    auto bytes = build_greeting(greeting);
    EXPECT_EQ(*parse_greeting(bytes), greeting);
    EXPECT_EQ(bytes[1], std::byte{1});
    const int beyond = static_cast<int>(mtu.bytes()) + (mtu == kMtuMin ? -1 : 1);
    bytes[8] = static_cast<std::byte>(beyond >> 8);
    bytes[9] = static_cast<std::byte>(beyond & 0xff);
    EXPECT_EQ(parse_greeting(bytes).error(), GreetingError::kBadMtu) << beyond;
  }
  auto bytes = build_greeting({.network = {.listener = *parse_tunnel_prefix("1.0.0.1/30")}});
  for (const auto& [at, value] : std::vector<std::pair<size_t, int>>{
           {1, 2}, {2, 2}, {3, 29}, {3, 32}, {4, 0}, {4, 127}, {4, 224}, {7, 4}}) {
    auto wrong = bytes;
    wrong[at] = static_cast<std::byte>(value);
    EXPECT_FALSE(parse_greeting(wrong).has_value()) << at << ": " << value;
  }
  EXPECT_EQ(parse_control("cress"), ControlKind::kCress);
  EXPECT_EQ(parse_control("sprout"), ControlKind::kSprout);
  EXPECT_EQ(parse_control("Cress"), std::nullopt);
}

TEST(Greeting, TheTwoEndsHaveTheTwoAddresses) {
  for (const auto& [own, other] :
       {std::pair{"10.9.0.1/30", "10.9.0.2/30"}, std::pair{"10.9.0.2/30", "10.9.0.1/30"},
        std::pair{"10.9.0.4/31", "10.9.0.5/31"}}) {
    const TunnelNetwork network{.listener = *parse_tunnel_prefix(own)};
    EXPECT_EQ(netns::format_prefix(network.own4(true)), own);
    EXPECT_EQ(netns::format_prefix(network.own4(false)), other);
    EXPECT_NE(network.own6(true), network.own6(false));
    EXPECT_TRUE(netns::contains(network.own6(true), network.own6(false).address));
    EXPECT_EQ(network.own6(true).length, 96 + network.listener.length);
  }
  for (const char* wrong : {"", "10.9.0.1", "10.9.0.0/30", "10.9.0.3/30", "10.9.0.1/24", "::1/31",
                            "224.0.0.1/30", "127.0.0.1/30", "10.9.0.1/30x", "10.9.0.1/"}) {
    EXPECT_FALSE(parse_tunnel_prefix(wrong).has_value()) << wrong;
  }
}

}  // namespace
}  // namespace cress::tunnel
