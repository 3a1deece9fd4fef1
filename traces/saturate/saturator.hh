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
  /// Who connects says what is measured, and for how long.
  bool connects = false;
  SaturateKey token{};  ///< key_of_token()
  /// Unguessable: nonces, cookies and padding are made of it.
  std::array<std::byte, 32> entropy{};

  /// Of who connects:
  Address peer{};                          ///< over the link under test
  std::optional<Address> feedback_peer{};  ///< over another path, for what is not load
  bool up = true;                          ///< saturate from here to the peer
  bool down = true;                        ///< and from the peer to here

  /// Of measuring, after the warm-up. Who listens: the longest to take part.
  Duration duration = 60s;
  /// Of load, as an IP packet; smaller ones are tried when these do not get through. Odd sizes are
  /// as good as round ones: bytes are counted.
  DataSize packet_size{1500};
};

/// What a saturator found out; times are on its own clock.
struct SaturateMeasurement {
  struct Direction {
    /// Ascending by arrival; empty where nothing was sent.
    std::vector<SaturateArrival> arrivals;
    bool wanted = false;    ///< it was to be saturated
    bool complete = false;  ///< all that arrived is here
    DataSize packet_size;   ///< of load, at the end; 0 where the other end sent
  };
  Direction up;  ///< from who connects to who listens
  Direction down;
  /// Of measuring: what came before was the warm-up. Equal: nothing was measured.
  TimePoint from{};
  TimePoint to{};
  Duration round_trip{};  ///< the least there was
  /// The other end's clock less this one's, within half of that round trip: by that much the two
  /// directions may be shifted against each other.
  Duration clock_offset{};
};

/// One end of a saturated link (Sprout, NSDI '13, §4.1): keeps so many packets on the way to the
/// other end that the bottleneck never runs dry, and logs when those of the other end arrive. The
/// two logs are exchanged, so that both ends know both directions. No I/O.
///
/// It floods only whom it has reason to: a hello is answered, with less than it holds, only when it
/// knows the token; load goes to an address only after what was sent there came back from it. An
/// end that hears nothing stops when its window is full.
///
/// Paths: the link under test carries load; whatever else is said goes over the feedback path while
/// that is alive. Without one, it goes with the load, and waits with it. Of each path `now` never
/// goes back; of both together it may, since two sockets are read one after the other: an arrival
/// keeps its time, everything else happens at the latest time told. Errors: what peers and
/// strangers send is counted. Bounded: kSaturateDatagramsMax of each direction end the measuring.
/// Threads: none inside; one owner.
class Saturator {
 public:
  enum class State {
    kWaiting,    ///< for the other end
    kWarmingUp,  ///< until queues stand, at most kWarmUpMax
    kMeasuring,
    kCollecting,  ///< no load any more; the logs are being completed
    kDone,
    kFailed,  ///< nobody answered: see silent_path()
  };

  static constexpr Duration kWarmUpMax = 10s;
  static constexpr Duration kConnectMax = 10s;
  /// A link may be silent for long; without a word over any path for this long it is over.
  static constexpr Duration kSilenceMax = 60s;
  /// Collecting ends when it has got nowhere for so long.
  static constexpr Duration kCollectStallMax = 10s;

  Saturator(TimePoint start, const SaturatorOptions& options);

  /// `now`: when the kernel received it.
  void handle_datagram(TimePoint now, SaturatePath path, const Address& from,
                       std::span<const std::byte> bytes);
  void handle_timeout(TimePoint now);
  /// A datagram over the path was too large for it; `path_mtu` of IP, 0 when not told.
  void handle_too_large(TimePoint now, SaturatePath path, DataSize path_mtu);
  std::optional<Transmit> poll_transmit(TimePoint now, SaturatePath path);
  /// Whether poll_transmit would give anything.
  bool wants_transmit(SaturatePath path) const;
  TimePoint poll_timeout() const;

  /// Somebody wants to stop: measuring ends now, what was measured is collected.
  void finish(TimePoint now);

  State state() const { return state_; }
  /// Of kFailed: where nobody answered.
  SaturatePath silent_path() const;
  /// Measuring and collecting only: time since measuring began.
  Duration measured(TimePoint now) const;
  bool has_feedback_path() const { return wants_feedback_; }
  const std::optional<Address>& peer() const { return way(SaturatePath::kLink).peer; }

  /// How a direction is doing, for a person to watch.
  struct Pace {
    bool wanted = false;
    DataRate rate;     ///< of the last second known of
    Duration delay{};  ///< of the latest: there and back, under load there
  };
  Pace up() const { return options_.connects ? outgoing() : incoming(); }
  Pace down() const { return options_.connects ? incoming() : outgoing(); }

  struct Stats {
    uint64_t malformed = 0;        ///< no datagrams of ours
    uint64_t unauthenticated = 0;  ///< of ours, by whom does not know the token, or reflected
    uint64_t repeated = 0;         ///< arrived twice; counted once
  };
  const Stats& stats() const { return stats_; }

  /// All that is known, at any time; in the end, all.
  SaturateMeasurement measurement() const;

 private:
  struct Way {
    std::optional<Address> peer;
    bool confirmed = false;  ///< who is there has answered
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
  SaturateNonce connector_{};  // whom the listener talks with
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

  // The path. One-way times are of two clocks: only their differences mean something.
  Duration round_trip_ = Duration::max();  // the least
  Duration last_round_trip_ = 1s;
  Duration clock_offset_{};  // the peer's clock less ours
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

  // What the peer told last.
  TimePoint peer_known_at_{TimePoint::min()};
  uint64_t peer_total_ = 0;
  uint64_t peer_stopped_at_ = 0;
  TimePoint peer_from_{};
  TimePoint peer_to_{};
  TimePoint progress_{};

  // Small things, at the end for the sake of their size.
  State state_ = State::kWaiting;
  int goodbyes_left_ = 0;
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
