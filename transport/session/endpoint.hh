#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/base/ecn.hh"
#include "transport/base/fifo.hh"
#include "transport/base/result.hh"
#include "transport/base/spare_buffers.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/control/control.hh"
#include "transport/control/delivery_history.hh"
#include "transport/session/flow_queues.hh"
#include "transport/wire/datagram.hh"

namespace cress::session {

/// A message from the peer arrived. Messages may arrive out of order, late, or (an old one) twice.
struct MessageReceived {
  FlowId flow = 0;
  std::vector<std::byte> bytes;
};

/// The outcome of a sent message, if its flow reports outcomes.
struct MessageOutcome {
  enum class Kind {
    kDelivered,
    kLost,     ///< in the network: known when a datagram has arrived that was sent 10 ms later, or
               ///< longer where the path reorders (Control::reordering_max)
    kDropped,  ///< in our own queue, which the forecast bounds
  };
  FlowId flow = 0;
  MessageId id = 0;
  Kind kind = Kind::kDelivered;
  friend bool operator==(const MessageOutcome&, const MessageOutcome&) = default;
};

struct EndpointOptions {
  /// Of a UDP payload. 1200 fits every path that carries IPv6; the MTU search
  /// (transport/secure/path) may raise it.
  DataSize datagram_max{1200};
  /// After this long without sending, a heartbeat is sent, unless Control::heartbeat_interval
  /// chooses another interval. The last datagram of a flight announces it as time-to-next.
  Duration heartbeat_interval = 50ms;
  /// Queues may hold this much even if the forecast promises less, so that a frame survives the
  /// start of an outage.
  DataSize queue_floor{16'000};
  /// Source of the buffers for messages and datagrams, and destination of messages' buffers; null:
  /// the allocator.
  SpareBuffers* spare = nullptr;
};

struct EndpointStats {
  uint64_t datagrams_sent = 0;
  uint64_t datagrams_received = 0;
  uint64_t datagrams_malformed = 0;
  uint64_t datagrams_duplicate = 0;
  uint64_t datagrams_late = 0;
  uint64_t messages_for_unknown_flow = 0;
  std::optional<Duration> smoothed_rtt;
};

/// One end of a session, without I/O: it sends feedback about arrivals to the peer, and sends data
/// within the window that the peer's feedback allows (paper §3). The Control computes feedback and
/// window: Sprout's, Sprout-EWMA's or Cress's. Both ends are alike and both may send.
///
/// After each handle_* and each send, poll_transmit, poll_message and poll_outcome until empty,
/// then sleep until poll_timeout. Everything sent between two such drains is one flight: its window
/// is read once at its start. Peer data never fails a check: bad datagrams are counted and answered
/// with an error. Threads: none inside; one owner. `now` never goes back.
class Endpoint {
 public:
  Endpoint(TimePoint start, EndpointOptions options, std::unique_ptr<control::Control> control);

  /// Both ends open the same flows; messages of other flows are ignored. Each flow is opened once.
  void open_flow(FlowId flow, FlowOptions options) { queues_.open(flow, options); }
  /// Queues one message of at most message_max(). If the queues exceed what the forecast can carry,
  /// the head of the longest is dropped; if a flow exceeds its own bound, the head of its queue.
  MessageId send(TimePoint now, FlowId flow, std::vector<std::byte> bytes,
                 Leave leave = Leave::kWithinWindow);
  /// The same with a copy of bytes that others need too.
  MessageId send_copy(TimePoint now, FlowId flow, std::span<const std::byte> bytes,
                      Leave leave = Leave::kWithinWindow);

  /// `ecn`: of the IP packet that it came in.
  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram,
                                                Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  /// Whether poll_transmit has something now: messages sent before it is polled may share the
  /// datagram.
  bool has_transmit(TimePoint now);
  /// For the IP packets of what poll_transmit gives now. Queues may mark them if the control
  /// answers marks and the path keeps the field: at first for half a second, then only if the peer
  /// has said so (as in RFC 9000 §13.4.2).
  Ecn ecn(TimePoint now) const;
  std::optional<MessageReceived> poll_message();
  std::optional<MessageOutcome> poll_outcome();
  TimePoint poll_timeout() const;

  /// The path's largest datagram has changed. If it is smaller, waiting messages are dropped: they
  /// may no longer fit.
  void set_datagram_max(DataSize size);
  /// The largest message that fits one datagram together with an ordinary forecast.
  DataSize message_max() const;
  /// Bytes of messages that can still be sent at once: the window minus what is queued.
  DataSize available_window(TimePoint now) const;
  /// The window itself, and the forecast behind it.
  const control::Control& control() const { return *control_; }
  DataSize queued() const { return queues_.size(); }
  DataSize queued(FlowId flow) const { return queues_.size(flow); }
  const EndpointStats& stats() const { return stats_; }

 private:
  struct SentMessage {
    uint64_t sequence = 0;  // of its datagram
    FlowId flow = 0;
    MessageId id = 0;
  };

  DataSize window(TimePoint now) const;
  void add_messages(TimePoint now, wire::DatagramBuilder& builder);
  bool has_sendable(TimePoint now) const;
  bool fits_window(const QueuedMessage& message) const;
  void note_dropped(const QueuedMessage& message);
  wire::ForecastFrame frame_of(TimePoint now, const control::Feedback& feedback);
  wire::Header stamp(TimePoint now, DataSize payload, bool more_follow);
  void handle_timestamps(TimePoint now, const wire::Header& header);
  /// A forecast under Sprout; under Cress the same frame holds times of arrivals.
  void handle_forecast(TimePoint now, const wire::ForecastFrame& forecast);
  void decide_sent(const wire::ForecastFrame& forecast);
  bool tell_ecn();

  EndpointOptions options_;
  std::unique_ptr<control::Control> control_;
  FlowQueues queues_;
  // Both grow by what one call can add and are drained after it.
  Fifo<MessageReceived> received_;
  Fifo<MessageOutcome> outcomes_;
  EndpointStats stats_;
  TimePoint last_now_;

  // Sending.
  TimePoint next_heartbeat_;
  TimePoint left_at_;      // when the last message of a flow left
  TimePoint paced_until_;  // by Control::spacing
  std::optional<DataSize>
      flight_left_;  // the rest of the window with which the current flight began
  // The control's window does not change by itself within an instant: computed once.
  mutable std::optional<std::pair<TimePoint, DataSize>> window_;
  std::optional<TimePoint> fed_back_at_;  // or there was nothing to report
  uint64_t next_sequence_ = 0;
  std::optional<TimePoint> first_sent_;
  bool ecn_confirmed_ = false;
  Fifo<std::pair<TimePoint, uint64_t>> recent_;  // sent within the throwaway interval
  Fifo<SentMessage> undecided_;                  // at most kUndecidedMax
  static constexpr size_t kUndecidedMax = 1U << 16U;

  // Receiving.
  control::DeliveryHistory history_;
  uint64_t newest_sequence_ = 0;
  std::optional<int> ecn_told_;  // how often, since a datagram came with the field
  std::optional<uint64_t> newest_forecast_time_100us_;
  std::optional<std::pair<TimePoint, uint16_t>> newest_timestamp_;
};

}  // namespace cress::session
