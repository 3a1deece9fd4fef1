#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "media/frame/encoded_frame.hh"
#include "media/frame/fragment.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// What an Assembler may hold at most. Each must be > 0, bytes_max at least kEncodedFrameMax.
struct AssemblerOptions {
  /// Incomplete frames: two seconds of them at 30 a second.
  size_t frames_max = 64;
  /// Bytes the incomplete frames will have when complete, all of it reserved when a frame's first
  /// fragment arrives, so that a peer that only begins frames costs no more; and the parity held
  /// for them. A parity fragment that finds no room is ignored; it drives out nothing.
  DataSize bytes_max{8 * kEncodedFrameMax.bytes()};
  /// A frame still incomplete after this long is dropped: its picture is of no use to a call.
  Duration age_max = 2s;
};

struct AssemblerStats {
  uint64_t fragments = 0;   ///< handed in, good or bad
  uint64_t malformed = 0;   ///< refused with an error
  uint64_t duplicates = 0;  ///< of a fragment already held, or of a frame already finished
  uint64_t too_old = 0;     ///< of frames too far back to know whether they were finished
  uint64_t frames_completed = 0;
  uint64_t frames_rebuilt = 0;  ///< of the completed: those for which parity stood in
  uint64_t frames_dropped = 0;  ///< incomplete frames given up: for space, age or by discard
  uint64_t parity_ignored = 0;  ///< good parity fragments for which there was no room
  friend bool operator==(const AssemblerStats&, const AssemblerStats&) = default;
};

/// Puts fragments together to frames: the inverse of `fragment`, under loss, duplication and
/// reordering. A frame comes out as soon as any `count` of its fragments are in, parity or not,
/// once, in whatever order frames become complete; what to decode when is the playout's business
/// (FrameClock). Errors: hostile or broken messages give one FragmentError and leave the state
/// untouched but for the counts. A parity fragment of false contents gives a frame of false
/// contents, of the length its header tells: what is true is for the transport to authenticate.
/// Threads: none inside; one owner.
class Assembler {
 public:
  explicit Assembler(AssemblerOptions options = {});

  /// One message of the transport. `now` never goes back.
  Result<std::optional<EncodedFrame>, FragmentError> handle_fragment(
      TimePoint now, std::span<const std::byte> message);
  /// Frames up to `frame_id` are of no use any more: drops those that are incomplete and ignores
  /// fragments of them from now on.
  void discard_through(uint32_t frame_id);

  size_t incomplete_frames() const { return partial_.size(); }
  DataSize incomplete_bytes() const { return reserved_; }
  const AssemblerStats& stats() const { return stats_; }

 private:
  struct Partial {
    FragmentHeader header;  // of its first fragment
    TimePoint first_arrival{};
    std::vector<std::byte> data;
    // Parity fragments stand in for parts that are not there, so there are fewer than parts.
    struct Parity {
      int index = 0;
      std::vector<std::byte> bytes;
    };
    std::vector<Parity> parity;
    std::vector<bool> present;  // by index, parity too
    size_t missing = 0;         // fragments, of whatever kind, until the frame comes out
  };
  using Partials = std::map<uint32_t, Partial>;

  static bool same_frame(const FragmentHeader& a, const FragmentHeader& b);
  bool is_finished(uint32_t frame_id) const;
  void finish(uint32_t frame_id);
  static DataSize reserved_for(const Partial& partial);
  Partials::iterator begin_frame(TimePoint now, const FragmentHeader& header);
  bool hold(Partial& partial, const Fragment& fragment);
  static void rebuild(Partial& partial);
  void drop(Partials::iterator partial);
  void drop_aged(TimePoint now);
  bool make_room(uint32_t frame_id, DataSize size);
  EncodedFrame take(Partials::iterator partial);

  AssemblerOptions options_;
  AssemblerStats stats_;
  Partials partial_;
  DataSize reserved_;
  // Frames that came out or were given up, so that a duplicate does not begin them anew. Only the
  // newest kFinishedMax are remembered by name; everything below finished_below_ counts as
  // finished.
  std::set<uint32_t> finished_;
  uint64_t finished_below_ = 0;
  TimePoint last_now_{TimePoint::min()};
};

}  // namespace cress::media
