// Goal: strangers cannot disturb a call. Method: a call at 640x360 runs over an emulated path with
// a round trip of 40 ms, each end and the path in a thread of its own; after a quiet period a
// thread sends the listener, which listens on all addresses of the machine,
// - 100 000 datagrams a second: noise, noise that looks like each kind of Cress datagram, and real
//   datagrams of the call again, truncated and with a bit flipped; or
// - the first message of a handshake, forged, from tens of thousands of addresses of 127.0.0.0/8.
//   The path repeats itself every 6 s, and each measurement has that length: both see the same
//   link.

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <iostream>
#include <span>
#include <stdexcept>
#include <thread>

#include "app/live/live_measured_test_tools.hh"
#include "traces/links.hh"
#include "transport/base/rng.hh"
#include "transport/runtime/clock_lateness_test_tools.hh"
#include "transport/runtime/file_descriptor.hh"
#include "transport/secure/connection.hh"

namespace cress::live {
namespace {

constexpr Duration kMeasured = 12s;
constexpr Duration kPeriod = 6s;
constexpr int kBatch = 64;

/// Sends datagrams to one port, each from an address of 127.0.0.0/8 that it chooses, and counts
/// what returns to any of those. IPv4 as it reaches a socket of both families.
class ForgingSocket {
 public:
  struct Datagram {
    uint32_t from = INADDR_LOOPBACK;
    std::vector<std::byte> bytes;
  };

  explicit ForgingSocket(uint16_t port) : fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    constexpr int kBuffer = 8 << 20;
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUFFORCE, &kBuffer, sizeof kBuffer);
    if (bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) {
      throw std::runtime_error("no socket to forge with");
    }
    to_.sin_family = AF_INET;
    to_.sin_port = htons(port);
    to_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  }

  /// Returns how many were sent: all, unless the kernel is out of room.
  int send(std::span<Datagram> datagrams) {
    const auto count = std::min<size_t>(datagrams.size(), kBatch);
    for (size_t i = 0; i < count; ++i) {
      parts_.at(i) = {datagrams[i].bytes.data(), datagrams[i].bytes.size()};
      msghdr& header = headers_.at(i).msg_hdr;
      header = {.msg_name = &to_,
                .msg_namelen = sizeof to_,
                .msg_iov = &parts_.at(i),
                .msg_iovlen = 1,
                .msg_control = controls_.at(i).data(),
                .msg_controllen = controls_.at(i).size(),
                .msg_flags = 0};
      cmsghdr* const message = CMSG_FIRSTHDR(&header);
      message->cmsg_level = IPPROTO_IP;
      message->cmsg_type = IP_PKTINFO;
      message->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
      in_pktinfo info{};
      info.ipi_spec_dst.s_addr = htonl(datagrams[i].from);
      std::memcpy(CMSG_DATA(message), &info, sizeof info);
    }
    return std::max(0, sendmmsg(fd_.get(), headers_.data(), static_cast<unsigned>(count), 0));
  }

  /// Bytes that returned since the last call.
  uint64_t take_answers() {
    uint64_t bytes = 0;
    std::byte ignored{};
    for (ssize_t size = 0; size >= 0; bytes += size > 0 ? static_cast<uint64_t>(size) : 0) {
      size = recv(fd_.get(), &ignored, 1, MSG_TRUNC | MSG_DONTWAIT);
    }
    return bytes;
  }

 private:
  runtime::FileDescriptor fd_;
  sockaddr_in to_{};
  std::array<iovec, kBatch> parts_{};
  std::array<mmsghdr, kBatch> headers_{};
  struct alignas(cmsghdr) Control : std::array<std::byte, CMSG_SPACE(sizeof(in_pktinfo))> {};
  std::array<Control, kBatch> controls_{};
};

/// Sends from construction on, in batches at a steady rate, until destroyed.
class Flood {
 public:
  using Datagrams = std::vector<ForgingSocket::Datagram>;
  Flood(uint16_t port, Datagrams datagrams, int64_t per_second)
      : datagrams_(std::move(datagrams)),
        per_second_(per_second),
        socket_(port),
        thread_([this] { run(); }) {}
  ~Flood() { stop(); }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  void stop() {
    stop_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }
  int64_t sent() const { return sent_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t answered_bytes() const { return answered_bytes_; }

 private:
  void run() {
    const runtime::MonotonicClock clock;
    const TimePoint start = clock.now();
    for (size_t at = 0; !stop_; at = (at + kBatch) % datagrams_.size()) {
      const auto batch = std::span{datagrams_}.subspan(at, kBatch);
      const int sent = socket_.send(batch);
      for (int i = 0; i < sent; ++i) {
        sent_bytes_ += batch[static_cast<size_t>(i)].bytes.size();
      }
      sent_ += sent;
      answered_bytes_ += socket_.take_answers();
      const Duration due =
          from_seconds(static_cast<double>(sent_) / static_cast<double>(per_second_));
      std::this_thread::sleep_for(start + due - clock.now());
    }
    std::this_thread::sleep_for(50ms);  // the last answers
    answered_bytes_ += socket_.take_answers();
  }

  Datagrams datagrams_;
  int64_t per_second_;
  ForgingSocket socket_;
  std::atomic<bool> stop_ = false;
  std::atomic<int64_t> sent_ = 0;
  std::atomic<uint64_t> sent_bytes_ = 0;
  std::atomic<uint64_t> answered_bytes_ = 0;
  std::thread thread_;
};

constexpr size_t kReady = 64 * 1024;

/// Noise and modified datagrams. `recorded`: datagrams of the call.
Flood::Datagrams noise(const std::vector<std::vector<std::byte>>& recorded) {
  // Not ours, a record, a control record, a handshake, an alert.
  constexpr std::array<uint8_t, 5> kFirst{0x80, 0x11, 0x12, 0x16, 0x15};
  Rng rng{7};
  Flood::Datagrams out(kReady / 16);
  for (ForgingSocket::Datagram& datagram : out) {
    std::vector<std::byte>& bytes = datagram.bytes;
    if (rng.chance(0.5) || recorded.empty()) {
      bytes.resize(rng.below(1200) + 1);
      for (std::byte& byte : bytes) {
        byte = static_cast<std::byte>(rng.below(256));
      }
      bytes.front() = static_cast<std::byte>(kFirst.at(rng.below(kFirst.size())));
      continue;
    }
    bytes = recorded[rng.below(recorded.size())];
    if (rng.chance(0.3)) {
      bytes.resize(rng.below(bytes.size()) + 1);
    } else if (rng.chance(0.5)) {
      bytes[rng.below(bytes.size())] ^= static_cast<std::byte>(1U << rng.below(8));
    }
  }
  return out;
}

/// A joiner's first message, each with another random number and another sender; every other one
/// with an invented cookie.
Flood::Datagrams hellos() {
  constexpr size_t kRandomOffset = 27;
  constexpr size_t kCookieLengthOffset = kRandomOffset + 32 + 1;
  constexpr size_t kCookie = 16;
  secure::Connection joiner{kTimeZero,
                            {.role = secure::Role::kJoiner, .secret = secure::make_secret()}};
  const std::vector<std::byte> hello = joiner.poll_transmit(kTimeZero)->bytes;
  Rng rng{8};
  Flood::Datagrams out(kReady);
  for (ForgingSocket::Datagram& datagram : out) {
    // Any of 127.1.0.1 to 127.254.255.254.
    datagram.from = (127U << 24U) | (static_cast<uint32_t>(rng.below(254) + 1) << 16U) |
                    static_cast<uint32_t>(rng.below(0xFFFE) + 1);
    datagram.bytes = hello;
    if (rng.chance(0.5)) {
      const auto grow = [&](size_t offset) {  // a length of two or three bytes, its low byte
        datagram.bytes[offset] =
            static_cast<std::byte>(std::to_integer<size_t>(datagram.bytes[offset]) + kCookie);
      };
      grow(12);
      grow(16);
      grow(24);
      datagram.bytes[kCookieLengthOffset] = std::byte{kCookie};
      datagram.bytes.insert(datagram.bytes.begin() + kCookieLengthOffset + 1, kCookie,
                            static_cast<std::byte>(rng.below(256)));
    }
    for (size_t i = 0; i < 8; ++i) {
      datagram.bytes[kRandomOffset + i] = static_cast<std::byte>(rng.below(256));
    }
  }
  return out;
}

/// kPeriod of an embedded link: where its longest silence is the shortest.
std::shared_ptr<const sim::DeliveryTrace> repeated_link() {
  sim::DeliveryTrace trace = traces::embedded_trace("lte-fast", traces::Direction::kDown);
  const auto& all = trace.opportunities;
  const auto silence_after = [&](Duration from) {
    Duration longest{};
    for (size_t i = 1; i < all.size(); ++i) {
      if (all[i].at > from && all[i].at <= from + kPeriod) {
        longest = std::max(longest, all[i].at - std::max(all[i - 1].at, from));
      }
    }
    return longest;
  };
  Duration calmest{};
  for (Duration from = 1s; from + kPeriod < trace.period(); from += 1s) {
    calmest = silence_after(from) < silence_after(calmest) ? from : calmest;
  }
  std::erase_if(trace.opportunities, [&](const auto& each) {
    return each.at <= calmest || each.at >= calmest + kPeriod;
  });
  for (sim::DeliveryOpportunity& each : trace.opportunities) {
    each.at -= calmest;
  }
  trace.opportunities.push_back({kPeriod});
  return std::make_shared<const sim::DeliveryTrace>(std::move(trace));
}

LiveCallOptions end_options(secure::Role role, const std::vector<std::byte>& secret) {
  LiveCallOptions options{.role = role, .secret = secret};
  options.devices.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {640, 360}};
  options.devices.microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice};
  return options;
}

class LiveAttackMeasured : public ::testing::Test {
 protected:
  struct Seen {
    Duration p95{};
    Duration lateness{};
    Duration processor{};  ///< of the listener's thread
  };
  /// A call, a quiet period, a flood, and the statistics of both.
  void attack(const std::function<Flood::Datagrams()>& make, int64_t per_second);
  Seen measure();

  static Address loopback(uint16_t port) {
    return *runtime::parse_address("127.0.0.1:" + std::to_string(port));
  }

  media::GstRuntime gst_;
  runtime::MonotonicClock clock_;
  runtime::ClockLateness lateness_;
  std::vector<std::byte> secret_ = secure::make_secret();
  MeasuredEnd lea_{end_options(secure::Role::kListener, secret_)};
  EmulatedPath path_{loopback(lea_.address().port), repeated_link(), 20ms};
  std::unique_ptr<MeasuredEnd> jo_;
  secure::ConnectionStats before_;
  secure::ConnectionStats after_;
};

LiveAttackMeasured::Seen LiveAttackMeasured::measure() {
  (void)lateness_.p99();
  const TimePoint from = clock_.now();
  const Duration processor = lea_.processor_time();
  std::this_thread::sleep_for(kMeasured);
  return {std::max(quantile(lea_.picture_delays(from), 0.95),
                   quantile(jo_->picture_delays(from), 0.95)),
          lateness_.p99(), lea_.processor_time() - processor};
}

void LiveAttackMeasured::attack(const std::function<Flood::Datagrams()>& make, int64_t per_second) {
  LiveCallOptions options = end_options(secure::Role::kJoiner, secret_);
  options.listener = path_.address();
  jo_ = std::make_unique<MeasuredEnd>(options);
  for (int i = 0; i < 600 && (lea_.shown() < 30 || jo_->shown() < 30); ++i) {
    std::this_thread::sleep_for(100ms);
  }
  // A minute is enough on any machine.
  ASSERT_GE(std::min(lea_.shown(), jo_->shown()), 30U);

  Flood::Datagrams datagrams = make();
  const Seen quiet = measure();
  before_ = lea_.connection_stats();
  const DataSize memory = resident_memory();
  Flood flood{lea_.address().port, std::move(datagrams), per_second};
  const Seen loud = measure();
  flood.stop();
  after_ = lea_.connection_stats();
  const DataSize memory_after = resident_memory();
  const Seen again = measure();
  std::cout << "p95 frame delay " << to_milliseconds(quiet.p95) << " ms quiet, "
            << to_milliseconds(loud.p95) << " ms under "
            << static_cast<double>(flood.sent()) / to_seconds(kMeasured) << " datagrams/s, "
            << to_milliseconds(again.p95) << " ms after; timers late by "
            << to_milliseconds(quiet.lateness) << ", " << to_milliseconds(loud.lateness) << ", "
            << to_milliseconds(again.lateness) << " ms; memory " << memory.bytes() / 1024 << " -> "
            << memory_after.bytes() / 1024 << " KiB; the listener's thread used "
            << to_milliseconds(quiet.processor) << ", " << to_milliseconds(loud.processor)
            << " ms; arrived " << after_.datagrams_received - before_.datagrams_received
            << ", answered " << flood.answered_bytes() << " of " << flood.sent_bytes()
            << " bytes\n";
  // A few more frames in a queue; the flood itself would be a gigabyte.
  EXPECT_LE(memory_after, memory + DataSize{16 << 20});
  EXPECT_LE(flood.answered_bytes(), flood.sent_bytes());
  EXPECT_EQ(lea_.count(LiveEvent::Kind::kConnected), 1U);
  EXPECT_EQ(lea_.count(LiveEvent::Kind::kEnded) + jo_->count(LiveEvent::Kind::kEnded), 0U);
  EXPECT_EQ(jo_->count(LiveEvent::Kind::kConnected), 1U) << "the call was lost for a moment";
  EXPECT_EQ(after_.handshakes_begun, before_.handshakes_begun) << "a stranger got OpenSSL to work";
  if (std::max(quiet.lateness, again.lateness) > runtime::ClockLateness::kMax) {
    GTEST_SKIP() << "this machine is too busy: its timers are late";
  }
  EXPECT_GT(static_cast<double>(flood.sent()),
            0.8 * static_cast<double>(per_second) * to_seconds(kMeasured))
      << "this was no flood";
  EXPECT_LE(loud.p95, std::max(quiet.p95, again.p95) * 12 / 10);
}

TEST_F(LiveAttackMeasured, HundredThousandNoiseDatagramsASecondAreHarmless) {
  attack([this] { return noise(path_.overheard()); }, 100'000);
  if (IsSkipped()) {
    return;
  }
  EXPECT_GT(after_.bad_tag, before_.bad_tag);
  EXPECT_GT(after_.replayed, before_.replayed);
  EXPECT_GT(after_.bad_handshake, before_.bad_handshake);
}

TEST_F(LiveAttackMeasured, ForgedHandshakeFloodIsHarmlessAndNotAmplified) {
  attack(hellos, 100'000);
  if (IsSkipped()) {
    return;
  }
  EXPECT_GT(after_.cookies_sent, before_.cookies_sent);
  EXPECT_GT(after_.rate_limited, before_.rate_limited);
}

}  // namespace
}  // namespace cress::live
