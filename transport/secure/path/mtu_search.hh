#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::secure {

/// Fits every path that carries IPv6 (1280 bytes of IP), with room to spare. UDP payload.
inline constexpr DataSize kDatagramBase{1200};

struct MtuSearchOptions {
  /// The largest payload worth asking for: 1500 bytes of Ethernet less IP and UDP headers.
  DataSize largest{1452};
  /// Lets a call begin before it looks for more.
  Duration start_after = 500ms;
  /// RFC 8899 §5.1.1 asks for over a second where nothing is known about the round trip; a late
  /// answer still counts.
  Duration probe_interval = 1100ms;
  int probes_max = 3;
  /// After a search that ended below the largest size, or a fall back (RFC 8899: 600 s; paths of
  /// people on the move change faster).
  Duration raise_after = 60s;
  Duration watch_interval = 1s;
};

/// Path MTU search above 1200 bytes of UDP payload, in the shape of RFC 8899 (packetization layer
/// path MTU discovery): probes of the next larger size until three in a row are lost.
///
/// Black holes (a path that has ceased to carry large datagrams) are found by counting: while large
/// ones are sent, a ping a second asks how many arrived; when none of at least eight did though the
/// answer came, the size falls back to 1200 at once. No large traffic, no cost, and no need.
/// Threads: none inside; one owner.
class MtuSearch {
 public:
  MtuSearch(TimePoint now, MtuSearchOptions options);

  /// A new path: nothing is known about it.
  void handle_path_change(TimePoint now, DataSize largest);
  /// The other end received a probe of this size.
  void handle_acknowledgement(TimePoint now, DataSize size);
  /// The answer to the ping of that id.
  void handle_pong(TimePoint now, uint32_t id, uint32_t large_received);
  /// Our own machine refused to send a datagram of this size (EMSGSIZE).
  void handle_too_big(TimePoint now, DataSize size);
  /// A record of this size left.
  void handle_sent(DataSize size) { large_sent_ += size > kDatagramBase ? 1 : 0; }

  /// The size of a probe to send now.
  std::optional<DataSize> poll_probe(TimePoint now);
  /// True when a ping is to leave; it will have this id.
  bool poll_watch(TimePoint now, uint32_t id);
  TimePoint poll_timeout() const;

  /// What the path is known to carry.
  DataSize size() const { return size_; }

 private:
  static constexpr uint64_t kBlackHoleMin = 8;
  std::optional<DataSize> next_size() const;
  void fall_back(TimePoint now);
  bool wants_watch() const;

  MtuSearchOptions options_;
  DataSize size_ = kDatagramBase;
  TimePoint probe_at_;
  int probes_sent_ = 0;

  uint64_t large_sent_ = 0;
  TimePoint watch_at_;
  struct Watch {
    uint32_t id = 0;
    uint64_t large_sent = 0;
  };
  std::optional<Watch> watch_;  // asked and not answered
  uint64_t large_sent_known_ = 0;
  uint32_t large_received_known_ = 0;
};

}  // namespace cress::secure
