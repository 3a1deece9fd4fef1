#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "transport/base/fifo.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::control {

/// What each datagram adds to the byte sequence beyond its payload: the original's guess of the
/// headers around it.
inline constexpr DataSize kSequenceOverhead{50};

/// The byte sequence after a datagram that was sent at `sequence` with `payload` bytes.
constexpr uint64_t sequence_after(uint64_t sequence, DataSize payload) {
  return sequence + static_cast<uint64_t>((payload + kSequenceOverhead).bytes());
}

/// A range [from, to) of the byte sequence.
struct SequenceRange {
  uint64_t from = 0;
  uint64_t to = 0;
  friend bool operator==(SequenceRange, SequenceRange) = default;
};

/// The receiver's record of the sender's byte sequence (paper §3.4): which part is received or
/// lost, and what was lost. Everything below the throwaway point is decided. By how much the
/// network may reorder is the sender's to say (Control::reordering_max). Threads: none inside; one
/// owner.
class DeliveryHistory {
 public:
  enum class Arrival {
    kNew,
    kDuplicate,  ///< known to have arrived before
    kLate,       ///< below the decided point: late and already counted as lost, or an old duplicate
  };
  /// Datagram `sequence` (the value before it) arrived with `payload` bytes; everything below
  /// `sequence - throwaway` is decided. Peer data: any values are safe. Beyond kPendingMax
  /// undecided datagrams the oldest are decided early.
  Arrival handle_arrival(TimePoint now, uint64_t sequence, DataSize payload, uint64_t throwaway);

  /// Everything below `sequence` has arrived or is lost.
  void decide_before(TimePoint now, uint64_t sequence);
  /// Bytes received or lost: the throwaway point plus the payload that arrived from there on
  /// (without their overhead, as in the original).
  uint64_t received_or_lost() const {
    return decided_before_ + static_cast<uint64_t>(pending_payload_.bytes());
  }
  /// Below this every byte is decided.
  uint64_t decided_before() const { return decided_before_; }
  /// Newest losses, oldest first, at most kLostRangesMax; complete from `lost_complete_from()` on.
  const std::deque<SequenceRange>& lost() const { return lost_; }
  uint64_t lost_complete_from() const { return lost_complete_from_; }
  /// Forgets losses (and advances lost_complete_from) decided before `horizon`: they have been
  /// reported often enough.
  void forget_decided_before(TimePoint horizon);

  static constexpr size_t kPendingMax = 4096;
  static constexpr size_t kLostRangesMax = 32;

 private:
  struct Pending {
    uint64_t sequence = 0;
    DataSize payload;
  };
  struct Decision {
    TimePoint at{};
    uint64_t before = 0;
  };

  bool hold(const Pending& arrived);
  void note_lost(SequenceRange range);

  uint64_t decided_before_ = 0;
  uint64_t expected_ = 0;  // below this the gaps are already noted
  Fifo<Pending> pending_;  // undecided arrivals, ascending
  DataSize pending_payload_;
  std::deque<SequenceRange> lost_;
  uint64_t lost_complete_from_ = 0;
  Fifo<Decision> decisions_;  // bounded by forget_decided_before and kDecisionsMax
  static constexpr size_t kDecisionsMax = 4096;
};

}  // namespace cress::control
