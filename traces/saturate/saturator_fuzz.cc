#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "traces/saturate/saturator.hh"
#include "traces/saturate/summary.hh"
#include "transport/base/check.hh"

// A peer that knows the token and sends anything. The input is a list of datagrams: the time since
// the last in units of 4 ms (one byte), the length (one byte), the bytes; tags are corrected.
// Whatever they contain, the machine sends no peer more than it may, ends, and can be measured.
namespace {

namespace traces = cress::traces;

/// The end under test, in the middle of a session.
struct Session {
  traces::Saturator connector;
  traces::Saturator listener;
  cress::TimePoint now{};

  static std::array<std::byte, 32> entropy(unsigned seed) {
    std::array<std::byte, 32> bytes{};
    bytes[0] = static_cast<std::byte>(seed);
    bytes[31] = static_cast<std::byte>(seed + 1);
    return bytes;
  }
  static cress::Address address(uint16_t port) {
    cress::Address result;
    result.port = port;
    return result;
  }
  Session()
      : connector(cress::kTimeZero, {.connects = true,
                                     .token = traces::key_of_token("t"),
                                     .entropy = entropy(1),
                                     .peer = address(2)}),
        listener(cress::kTimeZero, {.token = traces::key_of_token("t"), .entropy = entropy(3)}) {
    for (int i = 0; i < 20; ++i, now += std::chrono::milliseconds{10}) {
      step(now);
    }
  }
  void step(cress::TimePoint at) {
    constexpr auto kLink = traces::SaturatePath::kLink;
    connector.handle_timeout(at);
    listener.handle_timeout(at);
    // As much as a slow link carries: the test is about a session, not a flood.
    for (int i = 0; i < 4; ++i) {
      if (const auto out = connector.poll_transmit(at, kLink)) {
        listener.handle_datagram(at + std::chrono::milliseconds{1}, kLink, address(1), out->bytes);
      }
      if (const auto out = listener.poll_transmit(at, kLink)) {
        connector.handle_datagram(at + std::chrono::milliseconds{1}, kLink, address(2), out->bytes);
      }
    }
  }
};

void feed(traces::Saturator& end, cress::TimePoint now, std::span<const std::byte> bytes) {
  const auto datagram = traces::parse_saturate(bytes);
  end.handle_datagram(now, traces::SaturatePath::kLink, Session::address(1), bytes);
  if (!datagram) {
    return;
  }
  // The same from a sender with the keys: the session's key is derived from both nonces.
  const traces::SaturateKey token = traces::key_of_token("t");
  traces::SaturateNonce connector{};
  traces::SaturateNonce listener{};
  connector[0] = std::byte{1};
  listener[0] = std::byte{3};
  const bool update = std::holds_alternative<traces::SaturateUpdate>(datagram->body);
  const auto good = traces::encode_saturate(
      *datagram, update ? traces::session_key(token, connector, listener) : token);
  end.handle_datagram(now, datagram->path, Session::address(1), good);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer wants this name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > 4096) {
    return 0;
  }
  static const Session kReady;
  Session session = kReady;
  traces::Saturator& end = (data[0] & 1) != 0 ? session.connector : session.listener;
  std::span<const std::byte> rest = std::as_bytes(std::span{data + 1, size - 1});
  cress::TimePoint now = session.now;
  while (rest.size() >= 2) {
    now += std::chrono::milliseconds{4 * std::to_integer<int>(rest[0])};
    const auto length = std::min<size_t>(std::to_integer<size_t>(rest[1]), rest.size() - 2);
    feed(end, now, rest.subspan(2, length));
    rest = rest.subspan(2 + length);
    if (end.poll_timeout() <= now) {
      end.handle_timeout(now);
    }
    for (const auto path : {traces::SaturatePath::kLink, traces::SaturatePath::kFeedback}) {
      size_t count = 0;
      while (end.poll_transmit(now, path)) {
        cress::check(++count < 10'000, "datagrams without end");
      }
    }
  }
  const auto measurement = end.measurement();
  cress::check(measurement.from <= measurement.to, "an end before the beginning");
  for (const auto& direction : traces::measure_directions(measurement)) {
    cress::check(direction.measured.saturated_share >= -1e-9, "a negative share");
  }
  return 0;
}
