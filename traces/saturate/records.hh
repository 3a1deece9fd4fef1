#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "traces/saturate/wire.hh"
#include "transport/base/time.hh"

namespace cress::traces {

/// Transfers a growing log of arrivals to the other end in pieces, and retransmits lost ones. The
/// log itself belongs to the caller, who passes its current size with each call, and the time to
/// wait for an answer before a piece counts as lost (more than a round trip). Threads: none inside;
/// one owner.
class RecordSender {
 public:
  struct Piece {
    uint64_t first = 0;
    size_t count = 0;  ///< at most kUpdateRecordsMax; 0: nothing to send now
  };
  /// The next piece; counted as sent.
  Piece take(TimePoint now, uint64_t total);
  /// Whether take() would return anything.
  bool wants(TimePoint now, uint64_t total) const;
  void set_patience(Duration patience) { patience_ = patience; }
  /// The other end has everything below `received`. A number above what was sent is ignored.
  void on_received(uint64_t received);
  uint64_t received() const { return received_; }

 private:
  bool is_overdue(TimePoint now, uint64_t record) const;
  void note_sent(TimePoint now, const Piece& piece);

  uint64_t received_ = 0;
  uint64_t next_ = 0;   // never sent before
  uint64_t again_ = 0;  // [again_, again_end_): to be retransmitted
  uint64_t again_end_ = 0;
  // When any of each kUpdateRecordsMax records was last sent.
  std::vector<TimePoint> sent_at_;
  Duration patience_ = 500ms;
};

/// Reassembles the other end's log. Bounded: pieces that arrive early are kept up to kEarlyMax; the
/// sender retransmits the others.
class RecordCollector {
 public:
  static constexpr size_t kEarlyMax = 8192;

  void add(uint64_t first, std::span<const SaturateRecord> records);
  /// The log without gaps, from its start.
  const std::vector<SaturateRecord>& records() const { return records_; }

 private:
  void append(uint64_t first, std::span<const SaturateRecord> records);

  std::vector<SaturateRecord> records_;
  std::map<uint64_t, std::vector<SaturateRecord>> early_;
};

}  // namespace cress::traces
