#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::tunnel {

// What a tunnel's messages look like (docs/protocol/wire.md, "Tunnel"). A packet that fits one
// message is that message: its first byte is 0x4_ or 0x6_. A larger one is split, and each part
// begins with kPartKind, a number of the packet, the packet's size and where in it the part belongs
// (2 bytes each, the high one first).
inline constexpr std::byte kPartKind{1};
inline constexpr DataSize kPartHeader{7};
/// The largest IP packet.
inline constexpr DataSize kPacketMax{65'535};
/// A packet of more parts than these is not reassembled.
inline constexpr size_t kPartsMax = 255;

/// One outgoing packet, sent whole or in parts of any size. Threads: none inside; one owner.
class PacketCutter {
 public:
  /// Sets the next packet, 1..kPacketMax bytes; the last one must be used up.
  void begin(std::vector<std::byte> packet);
  bool is_empty() const { return taken_ == packet_.size(); }
  /// No part of it has been taken.
  bool is_whole() const { return taken_ == 0; }
  /// The number of bytes not yet taken.
  DataSize left() const { return DataSize{static_cast<int64_t>(packet_.size() - taken_)}; }
  /// The size of a message with all of the rest.
  DataSize message_size() const { return taken_ == 0 ? left() : left() + kPartHeader; }
  /// The next message from it, at most `size` (over kPartHeader) bytes.
  std::vector<std::byte> take(DataSize size);

 private:
  std::vector<std::byte> packet_;
  size_t taken_ = 0;
  uint16_t number_ = 0;
};

struct AssemblerStats {
  uint64_t malformed = 0;  ///< messages that are neither a packet nor a part
  uint64_t abandoned = 0;  ///< packets with a part missing
  friend bool operator==(const AssemblerStats&, const AssemblerStats&) = default;
};

/// Reassembles parts that arrive in any order. Peer data: total, any bytes are safe. Bounded:
/// kWaitingMax packets and kWaitingBytesMax bytes wait, none for longer than kPatience; beyond that
/// the oldest is discarded. Threads: none inside; one owner.
class PacketAssembler {
 public:
  static constexpr size_t kWaitingMax = 64;
  static constexpr DataSize kWaitingBytesMax{512LL * 1024};
  /// By then the tunnelled protocol has retransmitted what was lost.
  static constexpr Duration kPatience = 2s;

  /// The packet that this message is, or completes.
  std::optional<std::vector<std::byte>> handle_message(TimePoint now,
                                                       std::vector<std::byte> message);
  DataSize waiting() const { return waiting_; }
  const AssemblerStats& stats() const { return stats_; }

 private:
  struct Part {
    size_t from = 0;
    size_t to = 0;
  };
  struct Waiting {
    TimePoint since{};
    uint16_t number = 0;
    size_t missing = 0;
    std::vector<std::byte> bytes;
    std::vector<Part> parts;  // at most kPartsMax
  };

  std::optional<std::vector<std::byte>> handle_part(TimePoint now,
                                                    std::span<const std::byte> message);
  std::deque<Waiting>::iterator find(TimePoint now, uint16_t number, size_t size);
  void give_up(size_t index);

  std::deque<Waiting> packets_;  // oldest first
  DataSize waiting_;
  AssemblerStats stats_;
};

}  // namespace cress::tunnel
