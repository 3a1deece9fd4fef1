#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "traces/saturate/measurement.hh"
#include "traces/saturate/records.hh"
#include "traces/saturate/window.hh"
#include "traces/saturate/wire.hh"
#include "transport/base/address.hh"
#include "transport/base/rng.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::traces {

struct SaturatorOptions {
  /// The connecting end decides what is measured, and for how long.
  bool connects = false;
  SaturateKey token{};  ///< key_of_token()
  /// Unpredictable: source of nonces, cookies and padding.
  std::array<std::byte, 32> entropy{};

  /// For the connecting end:
  Address peer{};                          ///< over the link under test
  std::optional<Address> feedback_peer{};  ///< over another path, for everything except load
  bool up = true;                          ///< saturate from here to the peer
  bool down = true;                        ///< and from the peer to here

  /// How long to measure, after the warm-up. For the listening end: the longest it takes part.
  Duration duration = 60s;
  /// Size of a load packet including its IP header; smaller sizes are tried if these do not get
  /// through. Any size works: bytes are counted.
  DataSize packet_size{1500};
};

/// The results of a saturator; times are on its own clock.
struct SaturateMeasurement {
  struct Direction {
    /// Ascending by arrival; empty if nothing was sent.
    std::vector<SaturateArrival> arrivals;
    bool wanted = false;    ///< it was to be saturated
    bool complete = false;  ///< all arrivals are here
    DataSize packet_size;   ///< of load, at the end; 0 if the other end sent
  };
  Direction up;  ///< from the connecting to the listening end
  Direction down;
  /// Begin and end of the measurement, after the warm-up. Equal: nothing was measured.
  TimePoint from{};
  TimePoint to{};
  Duration round_trip{};  ///< the minimum observed
  /// The other end's clock minus this one's, to within half of that round trip: the two directions
  /// may be shifted against each other by that much.
  Duration clock_offset{};
};

/// One end of a saturated link (Sprout, NSDI '13, §4.1): keeps so many packets in transit to the
/// other end that the bottleneck's queue is never empty, and logs when those of the other end
/// arrive. The two logs are exchanged, so that both ends know both directions. No I/O.
///
/// It sends load only to a verified peer: a hello is answered, with fewer bytes than it has, only
/// if its sender knows the token; load goes to an address only after a cookie sent there was
/// returned. An end that receives nothing stops when its window is full.
///
/// Paths: the link under test carries load; all other messages use the feedback path while that
/// works. Without one, they are sent with the load, and wait with it. Within each path `now` never
/// goes back; between the paths it may, since two sockets are read one after the other: an arrival
/// keeps its time, everything else uses the latest time seen. Errors: invalid datagrams are
/// counted. Bounded: kSaturateDatagramsMax of each direction end the measuring. Threads: none
/// inside; one owner.
class Saturator {
 public:
  enum class State {
    kWaiting,    ///< for the other end
    kWarmingUp,  ///< until the queue is filled, at most kWarmUpMax
    kMeasuring,
    kCollecting,  ///< no more load; the logs are being completed
    kDone,
    kFailed,  ///< no answer: see silent_path()
  };

  static constexpr Duration kWarmUpMax = 10s;
  static constexpr Duration kConnectMax = 10s;
  /// A link may be silent for long; without a datagram on any path for this long the run ends.
  static constexpr Duration kSilenceMax = 60s;
  /// Collecting ends after this long without progress.
  static constexpr Duration kCollectStallMax = 10s;

  Saturator(TimePoint start, const SaturatorOptions& options);

  /// `now`: when the kernel received it.
  void handle_datagram(TimePoint now, SaturatePath path, const Address& from,
                       std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// A datagram was too large for the path; `path_mtu` of IP, 0 if not reported.
  void handle_too_large(TimePoint now, SaturatePath path, DataSize path_mtu);
  std::optional<Transmit> poll_transmit(TimePoint now, SaturatePath path);
  /// Whether poll_transmit would return anything.
  bool wants_transmit(SaturatePath path) const;
  TimePoint poll_timeout() const;

  /// Stops early: measuring ends now, and the measured data is collected.
  void finish(TimePoint now);

  State state() const { return state_; }
  /// For kFailed: the path without an answer.
  SaturatePath silent_path() const;
  /// Measuring and collecting only: time since measuring began.
  Duration measured(TimePoint now) const;
  bool has_feedback_path() const { return wants_feedback_; }
  const std::optional<Address>& peer() const { return way(SaturatePath::kLink).peer; }

  /// The progress of a direction, for display.
  struct Pace {
    bool wanted = false;
    DataRate rate;     ///< over the last known second
    Duration delay{};  ///< of the latest arrival: a round trip, loaded in that direction
  };
  Pace up() const { return options_.connects ? outgoing() : incoming(); }
  Pace down() const { return options_.connects ? incoming() : outgoing(); }

  struct Stats {
    uint64_t malformed = 0;        ///< not a saturator's datagram
    uint64_t unauthenticated = 0;  ///< from a sender that does not know the token, or reflected
    uint64_t repeated = 0;         ///< arrived twice; counted once
  };
  const Stats& stats() const { return stats_; }

  /// Everything known so far; complete at the end.
  SaturateMeasurement measurement() const;

 private:
  struct Way {
    std::optional<Address> peer;
    bool confirmed = false;  ///< the peer has answered
    TimePoint heard{};
    TimePoint said{TimePoint::min()};
    TimePoint hello{TimePoint::min()};
    uint64_t next = 0;  ///< sequence
    int due = 0;        ///< updates that may go now
    std::deque<Transmit> out{};
  };
  struct Sent {
    TimePoint at{};
    DataSize size;
  };

  /// A path that was alive and is silent for so long: perhaps our address has changed.
  static constexpr Duration kQuiet = 3s;
  static constexpr Duration kPatienceMax = 5s;
  static DataSize ip_overhead(const Address& peer) { return DataSize{peer.is_ipv4() ? 28 : 48}; }

  Way& way(SaturatePath path) { return ways_[static_cast<size_t>(path)]; }
  const Way& way(SaturatePath path) const { return ways_[static_cast<size_t>(path)]; }
  bool sends() const { return options_.connects ? up_ : down_; }
  bool receives() const { return options_.connects ? down_ : up_; }
  bool is_running() const { return state_ == State::kWarmingUp || state_ == State::kMeasuring; }
  bool is_active() const { return is_running() || state_ == State::kCollecting; }

  void on_hello(SaturatePath path, const Address& from, const SaturateHello& hello);
  void on_challenge(SaturatePath path, const SaturateChallenge& challenge);
  void on_start(SaturatePath path, const Address& from, const SaturateStart& start);
  void on_update(TimePoint arrived, SaturatePath path, const SaturateUpdate& update, DataSize size);
  void note_newest(TimePoint arrived, const SaturateUpdate& update);
  void log_arrival(TimePoint arrived, const SaturateUpdate& update, DataSize size);
  void learn_status(const SaturateUpdate& update);
  void learn_phase(const SaturateUpdate& update);
  void say_hello(SaturatePath path);
  void begin();
  void run_handshake();
  void run_measuring();
  void run_collecting();
  void mind_packet_size();
  void set_due();
  void enter(State state);
  void collect_from_here();
  bool is_complete() const;

  SaturatePath feedback_path() const;
  bool may_load() const;
  SaturatePhase phase() const;
  Transmit make_update(SaturatePath path, bool load);
  TimePoint to_own(TimePoint peer_time) const { return peer_time - clock_offset_; }
  Pace outgoing() const;
  Pace incoming() const;
  Duration loaded(Duration one_way, Duration fastest) const;
  std::vector<SaturateRecord> records_of(const RecordSender::Piece& piece) const;
  SaturateMeasurement::Direction received_direction() const;
  SaturateMeasurement::Direction sent_direction() const;

  SaturatorOptions options_;
  TimePoint now_;
  TimePoint start_;
  TimePoint next_tick_;
  TimePoint state_since_;
  TimePoint begun_{};
  TimePoint from_{};
  TimePoint to_{};
  Rng padding_;
  Stats stats_;

  // The session.
  SaturateNonce own_nonce_{};
  SaturateNonce connector_{};  // the peer of a listener
  SaturateKey secret_{};
  std::optional<SaturateKey> key_;
  std::array<Way, kSaturatePaths> ways_;
  TimePoint heard_{};  // over any path

  // Sending.
  SaturatingWindow window_;
  std::vector<Sent> sent_;  // over the link, by sequence
  DataSize packet_size_;
  TimePoint size_tried_{kNever};  // since when the present size has been sent
  TimePoint loaded_at_{};         // when the last load was sent
  Duration out_delay_{};
  RecordCollector collector_;
  uint64_t stopped_at_ = 0;

  // The path. One-way times compare two clocks: only their differences are meaningful.
  Duration round_trip_ = Duration::max();  // the least
  Duration last_round_trip_ = 1s;
  Duration clock_offset_{};  // the peer's clock minus ours
  Duration fastest_out_ = Duration::max();
  Duration fastest_in_ = Duration::max();

  // Receiving.
  std::vector<SaturateArrival> arrivals_;
  std::vector<bool> seen_;
  uint64_t newest_ = 0;  // one more than the highest sequence
  TimePoint newest_sent_{};
  TimePoint newest_arrived_{};
  Duration in_delay_{};
  RecordSender record_sender_;
  uint64_t told_newest_ = 0;
  uint64_t told_records_ = 0;

  // The peer's last report.
  TimePoint peer_known_at_{TimePoint::min()};
  uint64_t peer_total_ = 0;
  uint64_t peer_stopped_at_ = 0;
  TimePoint peer_from_{};
  TimePoint peer_to_{};
  TimePoint progress_{};

  // Small members, at the end to save padding.
  State state_ = State::kWaiting;
  int closes_left_ = 0;
  int burst_left_ = 0;
  bool wants_end_ = false;
  bool up_ = false;
  bool down_ = false;
  bool wants_feedback_ = false;
  bool closed_ = false;
  bool peer_closed_ = false;
  bool peer_filled_ = false;
  bool peer_wants_end_ = false;
  bool full_size_arrived_ = false;
};

}  // namespace cress::traces
