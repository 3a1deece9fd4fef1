#include "transport/runtime/udp_socket.hh"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/base/rng.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/closed_port_test_tools.hh"
#include "transport/runtime/private_network_test.hh"

namespace cress::runtime {
namespace {

Address address(std::string_view text) { return *parse_address(text); }

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

struct Copy {
  Address from;
  TimePoint arrival{};
  std::string text;
  bool truncated = false;
  Ecn ecn = Ecn::kNotEct;
};

/// What has arrived, waiting up to ten seconds for `count` datagrams.
std::vector<Copy> receive(UdpSocket& socket, size_t count, size_t batch_max = kBatchMax,
                          size_t merged_max = 1) {
  std::vector<Copy> copies;
  while (copies.size() < count) {
    pollfd wait{.fd = socket.handle(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, 10'000) == 0) {
      break;
    }
    const ReceiveBatch batch = socket.receive_batch(batch_max);
    EXPECT_LE(batch.datagrams.size(), batch_max * merged_max);
    for (const ReceivedDatagram& datagram : batch.datagrams) {
      Copy copy{datagram.from, datagram.arrival, {}, datagram.truncated, datagram.ecn};
      copy.text.resize(datagram.bytes.size());
      std::memcpy(copy.text.data(), datagram.bytes.data(), datagram.bytes.size());
      copies.push_back(copy);
    }
  }
  return copies;
}

/// The next path error, waiting up to ten seconds for it.
std::optional<PathError> receive_path_error(UdpSocket& socket) {
  pollfd wait{.fd = socket.handle(), .events = POLLIN, .revents = 0};
  for (;;) {
    if (const auto error = socket.poll_path_error()) {
      return error;
    }
    if (poll(&wait, 1, 10'000) == 0) {
      return std::nullopt;
    }
    socket.receive_batch();
  }
}

bool has_ipv6() {
  const MonotonicClock clock;
  try {
    const UdpSocket socket{clock, {.bind = address("[::1]:0")}};
    return !socket.is_ipv4_only();
  } catch (const std::runtime_error&) {
    return false;
  }
}

class UdpSocketOver : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view{GetParam()}.starts_with('[') && !has_ipv6()) {
      GTEST_SKIP() << "this machine has no IPv6";
    }
  }
  UdpSocket bound(UdpSocketOptions options = {}) {
    options.bind = address(GetParam());
    return UdpSocket{clock_, options};
  }
  MonotonicClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Loopback, UdpSocketOver, ::testing::Values("127.0.0.1:0", "[::1]:0"),
                         [](const auto& param) {
                           return std::string{param.param[0] == '[' ? "Ipv6" : "Ipv4"};
                         });

TEST_P(UdpSocketOver, ABatchArrivesWholeInOrderWithItsSenderAndItsTime) {
  UdpSocket left = bound();
  UdpSocket right = bound();
  EXPECT_NE(left.local_address().port, 0);
  std::vector<Transmit> datagrams;
  datagrams.reserve(200);
  for (int i = 0; i < 200; ++i) {
    datagrams.push_back({right.local_address(), bytes_of("datagram " + std::to_string(i))});
  }
  const TimePoint before = clock_.now();
  const SendReport report = left.send_batch(datagrams);
  EXPECT_EQ(report, (SendReport{.taken = 200, .sent = 200}));
  const auto received = receive(right, 200);
  const TimePoint after = clock_.now();
  ASSERT_EQ(received.size(), 200U);
  TimePoint last = before - 100ms;  // two clocks are compared, which may drift a little
  for (int i = 0; i < 200; ++i) {
    const Copy& copy = received[static_cast<size_t>(i)];
    EXPECT_EQ(copy.text, "datagram " + std::to_string(i));
    EXPECT_EQ(copy.from, left.local_address());
    EXPECT_FALSE(copy.truncated);
    EXPECT_GE(copy.arrival, last);
    EXPECT_LE(copy.arrival, after);
    last = copy.arrival;
  }
  EXPECT_EQ(right.dropped_by_kernel(), 0U);
}

// The kernel takes consecutive ones of one size together: the receiver must not notice.
TEST_P(UdpSocketOver, DatagramsOfAnySizeArriveUnchanged) {
  UdpSocket left = bound();
  std::vector<UdpSocket> rights;
  rights.push_back(bound());
  rights.push_back(bound());
  Rng rng{3};
  std::vector<Transmit> datagrams;
  std::array<std::vector<std::string>, 2> expected;
  size_t peer = 0;
  size_t size = 1;
  for (int i = 0; i < 400; ++i) {
    peer = rng.chance(0.1) ? 1 - peer : peer;
    size = rng.chance(0.3) ? 1 + rng.below(3) * 600 : size;
    const std::string text(size, static_cast<char>('a' + rng.below(26)));
    datagrams.push_back({rights[peer].local_address(), bytes_of(text)});
    expected.at(peer).push_back(text);
  }
  EXPECT_EQ(left.send_batch(datagrams), (SendReport{.taken = 400, .sent = 400}));
  for (peer = 0; peer < rights.size(); ++peer) {
    std::vector<std::string> texts;
    for (const Copy& copy : receive(rights[peer], expected.at(peer).size())) {
      texts.push_back(copy.text);
    }
    EXPECT_EQ(texts, expected.at(peer));
  }
}

TEST_P(UdpSocketOver, SmallerBatchesGiveTheSameDatagrams) {
  UdpSocket left = bound();
  UdpSocket right = bound();
  std::vector<Transmit> datagrams(9, Transmit{right.local_address(), bytes_of("x")});
  datagrams[8].bytes = bytes_of("last");
  left.send_batch(datagrams);
  const auto received = receive(right, 9, 2);
  ASSERT_EQ(received.size(), 9U);
  EXPECT_EQ(received[8].text, "last");
}

TEST_P(UdpSocketOver, AnEmptySocketGivesNothingAtOnce) {
  UdpSocket socket = bound();
  const ReceiveBatch batch = socket.receive_batch();
  EXPECT_TRUE(batch.datagrams.empty());
  EXPECT_FALSE(batch.more);
}

TEST_P(UdpSocketOver, ALongDatagramIsMarkedTruncatedAndAnEmptyOneArrives) {
  UdpSocket left = bound();
  UdpSocket right = bound({.datagram_max = DataSize{100}});
  const Address to = right.local_address();
  left.send_batch(std::vector<Transmit>{
      {to, bytes_of(std::string(101, 'a'))}, {to, bytes_of(std::string(100, 'b'))}, {to, {}}});
  const auto received = receive(right, 3);
  ASSERT_EQ(received.size(), 3U);
  EXPECT_TRUE(received[0].truncated);
  EXPECT_EQ(received[0].text, std::string(100, 'a'));
  EXPECT_FALSE(received[1].truncated);
  EXPECT_EQ(received[1].text, std::string(100, 'b'));
  EXPECT_EQ(received[2].text, "");
}

TEST_P(UdpSocketOver, TwoKilobytesArriveWholeUnlessAskedOtherwise) {
  UdpSocket left = bound();
  UdpSocket right = bound();
  const Address to = right.local_address();
  left.send_batch(std::vector<Transmit>{{to, bytes_of(std::string(2048, 'a'))},
                                        {to, bytes_of(std::string(2049, 'b'))}});
  const auto received = receive(right, 2);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_FALSE(received[0].truncated);
  EXPECT_TRUE(received[1].truncated);
}

TEST_P(UdpSocketOver, MergedDatagramsArriveAsTheyWereSent) {
  UdpSocket left = bound();
  UdpSocket other = bound();
  UdpSocket right = bound({.datagram_max = DataSize{1200}, .takes_merged = true});
  const Address to = right.local_address();
  std::vector<Transmit> datagrams;
  for (size_t i = 0; i < 40; ++i) {
    const size_t size = i == 20 ? 1300 : 1000 + i / 10;
    datagrams.push_back({to, bytes_of(std::string(size, static_cast<char>('a' + i % 26)))});
  }
  datagrams.push_back({to, {}});
  EXPECT_EQ(left.send_batch(datagrams).sent, datagrams.size());
  EXPECT_EQ(other.send_batch(std::span{datagrams}.first(3)).sent, 3U);
  const auto received = receive(right, datagrams.size() + 3, 8, 64);
  ASSERT_EQ(received.size(), datagrams.size() + 3);
  for (size_t i = 0; i < received.size(); ++i) {
    const bool is_others = i >= datagrams.size();
    const auto& sent = datagrams[is_others ? i - datagrams.size() : i].bytes;
    EXPECT_EQ(received[i].from, (is_others ? other : left).local_address()) << i;
    EXPECT_EQ(bytes_of(received[i].text),
              (std::vector<std::byte>{sent.begin(),
                                      sent.begin() + std::min<ptrdiff_t>(1200, sent.size())}))
        << i;
    EXPECT_EQ(received[i].truncated, sent.size() > 1200) << i;
    EXPECT_TRUE(i == 0 || received[i].arrival >= received[i - 1].arrival) << i;
  }
}

TEST_P(UdpSocketOver, TheEcnFieldArrivesWithEachDatagram) {
  UdpSocket left = bound();
  for (const bool merges : {false, true}) {
    UdpSocket right = bound({.takes_merged = merges});
    const std::vector<Ecn> fields{Ecn::kEct1, Ecn::kEct1, Ecn::kNotEct, Ecn::kCe,
                                  Ecn::kCe,   Ecn::kEct0, Ecn::kNotEct};
    std::vector<Transmit> datagrams;
    for (const Ecn ecn : fields) {
      datagrams.push_back({.to = right.local_address(),
                           .bytes = std::vector<std::byte>(500),
                           .wire_size = {},
                           .ecn = ecn});
    }
    EXPECT_EQ(left.send_batch(datagrams).sent, fields.size());
    std::vector<Ecn> arrived;
    for (const Copy& copy : receive(right, fields.size(), kBatchMax, 64)) {
      arrived.push_back(copy.ecn);
    }
    EXPECT_EQ(arrived, fields);
  }
}

// An answer has the address that was asked in its control messages, and the mark after it.
TEST(UdpSocket, MarksLeaveWithAnswersOfBothFamilies) {
  const MonotonicClock clock;
  UdpSocket both{clock};
  for (const char* loopback : {"127.0.0.1:0", "[::1]:0"}) {
    if (loopback[0] == '[' && !has_ipv6()) {
      continue;
    }
    UdpSocket one{clock, {.bind = address(loopback)}};
    Address to = address(loopback);
    to.port = both.local_address().port;
    one.send_batch(std::vector<Transmit>{{to, bytes_of("ask"), {}, Ecn::kCe}});
    const auto asked = receive(both, 1);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].ecn, Ecn::kCe);
    const Transmit answer{asked[0].from, bytes_of("answer"), {}, Ecn::kEct1};
    EXPECT_EQ(both.send_batch(std::vector<Transmit>{answer, answer}).sent, 2U);
    for (const Copy& copy : receive(one, 2)) {
      EXPECT_EQ(copy.from, to);
      EXPECT_EQ(copy.ecn, Ecn::kEct1);
    }
  }
}

TEST_P(UdpSocketOver, TooLargeDatagramIsCountedAndTheOthersSent) {
  UdpSocket left = bound();
  UdpSocket right = bound();
  const Address to = right.local_address();
  const SendReport report = left.send_batch(
      std::vector<Transmit>{{to, bytes_of("before")},
                            {to, std::vector<std::byte>(70'000)},  // beyond any UDP datagram
                            {to, bytes_of("after")}});
  EXPECT_EQ(report, (SendReport{.taken = 3, .sent = 2, .too_large = 1}));
  const auto received = receive(right, 2);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[0].text, "before");
  EXPECT_EQ(received[1].text, "after");
}

TEST_P(UdpSocketOver, ClosedPortIsReportedAndTheNextDatagramSent) {
  UdpSocket left = bound();
  UdpSocket right = bound();
  const ClosedPort closed{clock_, address(GetParam())};
  EXPECT_EQ(left.send_batch(std::vector<Transmit>{{closed.address(), bytes_of("hello?")}}).sent,
            1U);
  pollfd refused{.fd = left.handle(), .events = 0, .revents = 0};
  ASSERT_EQ(poll(&refused, 1, 10'000), 1);
  // The refusal waits at the socket: it must not cost the next datagram, which goes to another
  // peer.
  const SendReport report =
      left.send_batch(std::vector<Transmit>{{right.local_address(), bytes_of("hello")}});
  EXPECT_EQ(report, (SendReport{.taken = 1, .sent = 1}));
  EXPECT_EQ(receive(right, 1).at(0).text, "hello");
  const auto error = receive_path_error(left);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(*error, (PathError{.to = closed.address(), .kind = PathError::Kind::kRefused}));
  EXPECT_FALSE(left.poll_path_error().has_value());
}

TEST_P(UdpSocketOver, ARefusalWakesTheReceiverAndIsReadOnce) {
  UdpSocket left = bound();
  const ClosedPort closed{clock_, address(GetParam())};
  left.send_batch(std::vector<Transmit>{{closed.address(), bytes_of("hello?")}});
  pollfd wait{.fd = left.handle(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&wait, 1, 10'000), 1);
  while (left.receive_batch().more) {
  }
  EXPECT_TRUE(left.poll_path_error().has_value());
  EXPECT_EQ(poll(&wait, 1, 0), 0) << "the event loop would spin";
}

TEST_P(UdpSocketOver, UnreadPathErrorsAreBounded) {
  UdpSocket left = bound();
  const ClosedPort closed{clock_, address(GetParam())};
  for (size_t i = 0; i < 2 * UdpSocket::kPathErrorsMax; ++i) {
    left.send_batch(std::vector<Transmit>{{closed.address(), bytes_of("hello?")}});
    left.receive_batch();
  }
  size_t told = 0;
  while (left.poll_path_error()) {
    ++told;
  }
  EXPECT_LE(told, UdpSocket::kPathErrorsMax);
  EXPECT_GE(told, 1U);
}

TEST_P(UdpSocketOver, APortInUseIsRefusedInWords) {
  const UdpSocket first = bound();
  try {
    const UdpSocket second{clock_, {.bind = first.local_address()}};
    FAIL() << "two sockets at one port";
  } catch (const std::runtime_error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(format_address(first.local_address())), std::string::npos) << what;
    EXPECT_NE(what.find("another program has this port"), std::string::npos) << what;
  }
}

TEST_P(UdpSocketOver, KernelsBufferSizeIsReported) {
  const UdpSocket socket = bound({.receive_buffer = DataSize{100'000}});
  EXPECT_EQ(socket.receive_buffer(), DataSize{100'000});
}

TEST_P(UdpSocketOver, DropsOfAFullBufferAreCounted) {
  UdpSocket left = bound();
  UdpSocket right = bound({.receive_buffer = DataSize{20'000}});
  const std::vector<Transmit> flood(
      500, Transmit{right.local_address(), bytes_of(std::string(1000, 'x'))});
  size_t sent = 0;
  while (sent < flood.size()) {
    sent += left.send_batch(std::span{flood}.subspan(sent)).taken;
  }
  // An arrival shows how many before it did not arrive.
  size_t received = 0;
  pollfd wait{.fd = right.handle(), .events = POLLIN, .revents = 0};
  for (int tries = 0; tries < 1000 && received + right.dropped_by_kernel() < sent; ++tries) {
    while (poll(&wait, 1, 1) > 0) {
      received += right.receive_batch().datagrams.size();
    }
    sent += left.send_batch(std::span{flood}.first(1)).taken;
    poll(&wait, 1, 10'000);
    received += right.receive_batch().datagrams.size();
  }
  EXPECT_GT(right.dropped_by_kernel(), 0U);
  EXPECT_EQ(received + right.dropped_by_kernel(), sent);
}

TEST_P(UdpSocketOver, DropsAreCountedOnceHoweverManySendAtATime) {
  // Several processors count drops and queue datagrams at the same time, and not in the same order.
  UdpSocket right = bound({.receive_buffer = DataSize{100'000}});
  constexpr size_t kEach = 20'000;
  std::vector<std::thread> senders;
  for (int i = 0; i < 4; ++i) {
    senders.emplace_back([&, address = right.local_address()] {
      UdpSocket left = bound();
      const std::vector<Transmit> batch(50, Transmit{address, bytes_of("x")});
      for (size_t sent = 0; sent < kEach;) {
        const size_t most = std::min(batch.size(), kEach - sent);
        sent += left.send_batch(std::span{batch}.first(most)).taken;
      }
    });
  }
  size_t received = 0;
  for (int quiet = 0; quiet < 300;) {
    const size_t count = right.receive_batch().datagrams.size();
    received += count;
    quiet = count > 0 ? 0 : quiet + 1;
    pollfd wait{.fd = right.handle(), .events = POLLIN, .revents = 0};
    poll(&wait, 1, 1);
  }
  for (std::thread& sender : senders) {
    sender.join();
  }
  EXPECT_GT(right.dropped_by_kernel(), 0U);
  EXPECT_LE(received + right.dropped_by_kernel(), 4 * kEach);
}

TEST_P(UdpSocketOver, WrongFirstByteNeverArrives) {
  UdpSocket left = bound();
  UdpSocket right = bound({.first_bytes = FirstBytes{std::byte{0x11}, std::byte{0x19}}});
  std::vector<Transmit> all{{right.local_address(), {}}};
  for (int first = 0; first < 256; ++first) {
    all.push_back({right.local_address(), {static_cast<std::byte>(first), std::byte{7}}});
  }
  size_t sent = 0;
  while (sent < all.size()) {
    sent += left.send_batch(std::span{all}.subspan(sent)).taken;
  }
  std::vector<int> firsts;
  pollfd wait{.fd = right.handle(), .events = POLLIN, .revents = 0};
  while (poll(&wait, 1, 200) > 0) {
    for (const ReceivedDatagram& datagram : right.receive_batch().datagrams) {
      firsts.push_back(std::to_integer<int>(datagram.bytes.front()));
      EXPECT_EQ(datagram.bytes.size(), 2U);
    }
  }
  EXPECT_EQ(firsts, (std::vector{0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19}));
}

TEST(UdpSocket, OneSocketServesBothFamilies) {
  if (!has_ipv6()) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  const MonotonicClock clock;
  UdpSocket both{clock};
  EXPECT_FALSE(both.is_ipv4_only());
  for (const char* loopback : {"127.0.0.1:0", "[::1]:0"}) {
    UdpSocket one{clock, {.bind = address(loopback)}};
    Address to = address(loopback);
    to.port = both.local_address().port;
    EXPECT_EQ(one.send_batch(std::vector<Transmit>{{to, bytes_of("ask")}}).sent, 1U);
    const auto asked = receive(both, 1);
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_EQ(asked[0].from, one.local_address());
    EXPECT_EQ(both.send_batch(std::vector<Transmit>{{asked[0].from, bytes_of("answer")}}).sent, 1U);
    const auto answered = receive(one, 1);
    ASSERT_EQ(answered.size(), 1U);
    EXPECT_EQ(answered[0].from, to);
  }
}

TEST(UdpSocket, WithoutIpv6ItIsAnIpv4Socket) {
  const MonotonicClock clock;
  UdpSocket left{clock, {.ipv4_only = true}};
  UdpSocket right{clock, {.bind = address("127.0.0.1:0"), .ipv4_only = true}};
  EXPECT_TRUE(left.is_ipv4_only());
  EXPECT_EQ(format_address(left.local_address()),
            "0.0.0.0:" + std::to_string(left.local_address().port));
  const SendReport report = left.send_batch(std::vector<Transmit>{
      {address("[2001:db8::7]:4433"), bytes_of("of the other family")},
      {right.local_address(), bytes_of("hello")},
  });
  EXPECT_EQ(report, (SendReport{.taken = 2, .sent = 1, .unroutable = 1}));
  const auto received = receive(right, 1);
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].from.port, left.local_address().port);
  try {
    const UdpSocket socket{clock, {.bind = address("[::1]:0"), .ipv4_only = true}};
    FAIL() << "it is open";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(std::string_view{error.what()}.ends_with(
        "; this machine has no IPv6: give an IPv4 address, 0.0.0.0 for all of them"))
        << error.what();
  }
}

TEST(UdpSocket, AnswersComeFromTheAddressThatWasAsked) {
  const MonotonicClock clock;
  for (const bool ipv4_only : {false, true}) {
    UdpSocket server{clock, {.ipv4_only = ipv4_only}};
    UdpSocket client{clock, {.bind = address("127.0.0.1:0")}};
    // All of 127/8 is this machine; by default, it would answer 127.0.0.1 from 127.0.0.1.
    Address asked = address("127.0.0.2:0");
    asked.port = server.local_address().port;
    client.send_batch(std::vector<Transmit>{{asked, bytes_of("ask")}});
    ASSERT_EQ(receive(server, 1).size(), 1U);
    const std::vector<Transmit> answer{{client.local_address(), bytes_of("answer")}};
    EXPECT_EQ(server.send_batch(answer).sent, 1U);
    EXPECT_EQ(receive(client, 1).at(0).from, asked) << "IPv4 only: " << ipv4_only;
    server.forget_asked_addresses();
    EXPECT_EQ(server.send_batch(answer).sent, 1U);
    EXPECT_NE(receive(client, 1).at(0).from, asked) << "IPv4 only: " << ipv4_only;
  }
}

TEST(UdpSocket, RemovedAddressIsReplacedByAnother) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    network.set_second_address("192.0.2.1");
    UdpSocket server{clock};
    UdpSocket client{clock, {.bind = address("127.0.0.1:0")}};
    Address asked = address("192.0.2.1:0");
    asked.port = server.local_address().port;
    client.send_batch(std::vector<Transmit>{{asked, bytes_of("ask")}});
    ASSERT_EQ(receive(server, 1).size(), 1U);
    network.remove_second_address();
    const SendReport report =
        server.send_batch(std::vector<Transmit>{{client.local_address(), bytes_of("answer")}});
    EXPECT_EQ(report, (SendReport{.taken = 1, .sent = 1}));
    EXPECT_EQ(receive(client, 1).at(0).text, "answer");
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(UdpSocket, DatagramsAreNeverFragmentedAndTheMtuIsReported) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    network.set_mtu(1400);
    UdpSocket left{clock, {.bind = address("127.0.0.1:0")}};
    UdpSocket right{clock, {.bind = address("127.0.0.1:0")}};
    const Address to = right.local_address();
    const SendReport report = left.send_batch(std::vector<Transmit>{
        {to, std::vector<std::byte>(1400 - 28 + 1)}, {to, std::vector<std::byte>(1400 - 28)}});
    EXPECT_EQ(report, (SendReport{.taken = 2, .sent = 1, .too_large = 1}));
    EXPECT_EQ(receive(right, 1).at(0).text.size(), 1372U);
    const auto error = receive_path_error(left);
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind, PathError::Kind::kTooLarge);
    EXPECT_EQ(error->path_mtu, DataSize{1400});
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(UdpSocket, MissingNetworkIsUnroutableUntilItReturns) {
  const bool allowed = PrivateNetwork::run([](PrivateNetwork& network) {
    const MonotonicClock clock;
    network.set_second_address("192.0.2.1");
    UdpSocket left{clock};
    UdpSocket right{clock};
    Address to = address("192.0.2.1:0");
    to.port = right.local_address().port;
    const std::vector<Transmit> datagrams{{address("198.51.100.7:4433"), bytes_of("far away")},
                                          {address("[2001:db8::7]:4433"), bytes_of("farther")},
                                          {to, bytes_of("near")}};
    EXPECT_EQ(left.send_batch(datagrams), (SendReport{.taken = 3, .sent = 1, .unroutable = 2}));
    network.remove_second_address();
    EXPECT_EQ(left.send_batch(datagrams), (SendReport{.taken = 3, .unroutable = 3}));
    network.set_second_address("192.0.2.1");
    EXPECT_EQ(left.send_batch(datagrams), (SendReport{.taken = 3, .sent = 1, .unroutable = 2}));
    EXPECT_EQ(receive(right, 2).size(), 2U);
  });
  if (!allowed) {
    GTEST_SKIP() << "a private network takes root's rights";
  }
}

TEST(UdpSocket, SetUpFailuresSayWhatToDo) {
  const MonotonicClock clock;
  try {
    const UdpSocket socket{clock,
                           {.bind = address("198.51.100.7:0")}};  // RFC 5737: belongs to no host
    FAIL() << "bound to an address of nobody's";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string{error.what()}.find("this machine has no such address"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace cress::runtime
