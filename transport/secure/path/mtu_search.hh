#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::secure {

/// Fits every path that carries IPv6 (1280 bytes of IP), with some margin. UDP payload.
inline constexpr DataSize kDatagramBase{1200};

struct MtuSearchOptions {
  /// The largest payload worth probing: 1500 bytes of Ethernet minus IP and UDP headers.
  DataSize largest{1452};
  /// Lets a call start before probing begins.
  Duration start_after = 500ms;
  /// RFC 8899 §5.1.1 asks for over a second if the round trip is unknown; a late answer still
  /// counts.
  Duration probe_interval = 1100ms;
  int probes_max = 3;
  /// After a search that ended below the largest size, or after a fallback (RFC 8899: 600 s; paths
  /// of mobile users change faster).
  Duration raise_after = 60s;
  Duration watch_interval = 1s;
};

/// Path MTU search above 1200 bytes of UDP payload, following RFC 8899 (packetization layer path
/// MTU discovery): probes of the next larger size until three in a row are lost.
///
/// Black holes (a path that has ceased to carry large datagrams) are found by counting: while large
/// ones are sent, one ping per second asks how many arrived; if none of at least eight did although
/// the answer came, the size falls back to 1200 at once. Without large datagrams nothing is sent.
/// Threads: none inside; one owner.
class MtuSearch {
 public:
  MtuSearch(TimePoint now, MtuSearchOptions options);

  /// A new path: all knowledge is discarded.
  void handle_path_change(TimePoint now, DataSize largest);
  /// The other end received a probe of this size.
  void handle_acknowledgement(TimePoint now, DataSize size);
  /// The answer to the ping with that id.
  void handle_pong(TimePoint now, uint32_t id, uint32_t large_received);
  /// Our own machine refused to send a datagram of this size (EMSGSIZE).
  void handle_too_big(TimePoint now, DataSize size);
  /// A record of this size left.
  void handle_sent(DataSize size) { large_sent_ += size > kDatagramBase ? 1 : 0; }

  /// The size of a probe to send now, if any.
  std::optional<DataSize> poll_probe(TimePoint now);
  /// True if a ping is to be sent; it will have this id.
  bool poll_watch(TimePoint now, uint32_t id);
  TimePoint poll_timeout() const;

  /// The size that the path is known to carry.
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
  std::optional<Watch> watch_;  // a ping not yet answered
  uint64_t large_sent_known_ = 0;
  uint32_t large_received_known_ = 0;
};

}  // namespace cress::secure
