#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "transport/base/fifo.hh"
#include "transport/base/units.hh"

namespace cress::session {

/// Identifies a flow on both ends (docs/protocol/wire.md, "Flows").
using FlowId = uint8_t;
inline constexpr FlowId kAudioFlow = 0;
inline constexpr FlowId kControlFlow = 1;
inline constexpr FlowId kVideoFlow = 2;
inline constexpr FlowId kBulkFlow = 3;
inline constexpr FlowId kPaddingFlow = 4;

/// Counts a flow's messages from 0.
using MessageId = uint64_t;

/// The window is filled class by class, in this order.
enum class Priority : uint8_t { kAudio, kControl, kVideo, kBulk, kPadding };
inline constexpr size_t kPriorityClasses = 5;

struct FlowOptions {
  Priority priority = Priority::kBulk;
  /// Whether the application wants a MessageOutcome for every message.
  bool report_outcomes = true;
  /// Beyond this the oldest messages are dropped, because old data is not worth sending.
  DataSize queue_max{INT64_MAX};
};

/// When a message may leave.
enum class Leave : uint8_t {
  kWithinWindow,
  kNow,  ///< even while the window is closed, together with everything ahead of it in its flow: for
         ///< the few messages that keep a call alive
};

struct QueuedMessage {
  FlowId flow = 0;
  MessageId id = 0;
  Leave leave = Leave::kWithinWindow;
  bool report_outcome = false;
  std::vector<std::byte> bytes;
  DataSize size() const { return DataSize{static_cast<int64_t>(bytes.size())}; }
};

/// One flow's queue.
struct FlowQueue {
  FlowOptions options;
  Fifo<QueuedMessage> messages;
  MessageId next_id = 0;
  DataSize size;
};

/// The sender's queues: one per flow, classes in order, flows of a class in turn, one message each
/// (paper §4.3: "round-robin among the flows"). Sizes count message bytes. Threads: none inside;
/// one owner.
class FlowQueues {
 public:
  void open(FlowId flow, FlowOptions options);
  bool is_open(FlowId flow) const { return slots_[flow].has_value(); }
  MessageId push(FlowId flow, std::vector<std::byte> bytes, Leave leave = Leave::kWithinWindow);
  /// The next message to send, those that may leave now before all others; null if all queues are
  /// empty. Valid until the next call.
  const QueuedMessage* front() const;
  /// Takes that message; the turn passes to the next flow of its class.
  QueuedMessage pop();
  /// Takes the head of this flow's queue, which must not be empty.
  QueuedMessage drop_front(FlowId flow) { return take_front(flow); }
  /// Takes the head of the queue that holds the most bytes.
  QueuedMessage drop_from_longest();

  DataSize size() const { return size_; }
  DataSize size(FlowId flow) const { return slots_[flow] ? slots_[flow]->size : DataSize{}; }
  DataSize size_max(FlowId flow) const { return slots_[flow]->options.queue_max; }
  bool empty() const { return size_messages_ == 0; }

 private:
  struct Turn {
    std::vector<FlowId> flows;
    size_t next = 0;
    size_t waiting = 0;  // messages
  };

  std::optional<FlowId> flow_on_turn() const;
  std::optional<FlowId> find_flow_on_turn() const;
  template <class Predicate>
  std::optional<FlowId> first_flow(Predicate predicate) const;
  Turn& turn_of(const FlowQueue& slot) {
    return turns_.at(static_cast<size_t>(slot.options.priority));
  }
  QueuedMessage take_front(FlowId flow);

  std::array<std::optional<FlowQueue>, 256> slots_;
  std::array<Turn, kPriorityClasses> turns_;
  DataSize size_;
  size_t size_messages_ = 0;
  size_t size_leaving_now_ = 0;  // messages
  // The flow whose turn it is, cached until a change; it is read often.
  mutable std::optional<FlowId> on_turn_;
};

}  // namespace cress::session
