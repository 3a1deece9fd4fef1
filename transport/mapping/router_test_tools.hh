#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/big_endian.hh"
#include "transport/base/time.hh"

namespace cress::mapping {

inline Address ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d, uint16_t port = 0) {
  return {.ip = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d}, .port = port};
}

/// A home router that grants ports, written from RFC 6887 and RFC 6886 without the code under test.
class TestRouter {
 public:
  bool speaks_pcp = true;
  bool speaks_pmp = true;
  uint8_t result = 0;
  uint32_t granted_s = 300;
  Address outside = ipv4(198, 51, 1, 2, 40'000);
  TimePoint started = kTimeZero - 1000s;
  /// What it holds.
  std::optional<uint16_t> inside_port;
  size_t requests = 0;
  uint32_t asked_s = 0;

  std::optional<std::vector<std::byte>> answer(TimePoint now, std::span<const std::byte> request) {
    ++requests;
    const auto version = std::to_integer<int>(request[0]);
    if (version == 2 && speaks_pcp) {
      return answer_pcp(now, request);
    }
    if (version == 0 && speaks_pmp) {
      return answer_pmp(now, request);
    }
    if (!speaks_pcp && !speaks_pmp) {
      return std::nullopt;
    }
    std::vector<std::byte> refusal(speaks_pcp ? 24 : 8);
    refusal[0] = std::byte{speaks_pcp ? uint8_t{2} : uint8_t{0}};
    refusal[1] = request[1] | std::byte{0x80};
    refusal[3] = std::byte{1};
    put_number(refusal, speaks_pcp ? 8 : 4, 4, epoch(now));
    return refusal;
  }

  std::vector<std::byte> announcement(TimePoint now) const {
    std::vector<std::byte> bytes(24);
    bytes[0] = std::byte{2};
    bytes[1] = std::byte{0x80};
    put_number(bytes, 8, 4, epoch(now));
    return bytes;
  }
  void restart(TimePoint now) {
    started = now;
    inside_port.reset();
  }

 private:
  uint32_t epoch(TimePoint now) const {
    return static_cast<uint32_t>((now - started) / Duration{1s});
  }
  void hold(uint16_t port, uint32_t lifetime_s) {
    asked_s = lifetime_s;
    inside_port = lifetime_s != 0 ? std::optional{port} : std::nullopt;
  }
  std::vector<std::byte> answer_pcp(TimePoint now, std::span<const std::byte> request) {
    std::vector<std::byte> bytes(request.begin(), request.end());
    bytes[1] = std::byte{0x81};
    bytes[3] = std::byte{result};
    put_number(bytes, 4, 4, granted_s);
    put_number(bytes, 8, 4, epoch(now));
    put_number(bytes, 12, 8, 0);
    put_number(bytes, 20, 4, 0);
    if (result == 0) {
      hold(static_cast<uint16_t>(number_at(request, 40, 2)),
           static_cast<uint32_t>(number_at(request, 4, 4)));
      put_number(bytes, 42, 2, outside.port);
      for (size_t i = 0; i < 16; ++i) {
        bytes[44 + i] = std::byte{outside.ip[i]};
      }
    }
    return bytes;
  }
  std::vector<std::byte> answer_pmp(TimePoint now, std::span<const std::byte> request) {
    const bool maps = request[1] == std::byte{1};
    std::vector<std::byte> bytes(maps ? 16 : 12);
    bytes[1] = request[1] | std::byte{0x80};
    put_number(bytes, 2, 2, result);
    put_number(bytes, 4, 4, epoch(now));
    if (!maps) {
      for (size_t i = 0; i < 4; ++i) {
        bytes[8 + i] = std::byte{outside.ip[12 + i]};
      }
      return bytes;
    }
    put_number(bytes, 8, 2, number_at(request, 4, 2));
    if (result == 0) {
      hold(static_cast<uint16_t>(number_at(request, 4, 2)),
           static_cast<uint32_t>(number_at(request, 8, 4)));
      put_number(bytes, 10, 2, outside.port);
      put_number(bytes, 12, 4, granted_s);
    }
    return bytes;
  }
};

}  // namespace cress::mapping
