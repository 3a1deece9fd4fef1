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

/// Upper bounds of an Assembler. Each must be > 0, bytes_max at least kEncodedFrameMax.
struct AssemblerOptions {
  /// Incomplete frames: two seconds of them at 30 per second.
  size_t frames_max = 64;
  /// Bytes that the incomplete frames will have when complete, all reserved when a frame's first
  /// fragment arrives, so a peer that only begins frames costs no more; and the parity held for
  /// them. A parity fragment without room is ignored; it displaces nothing.
  DataSize bytes_max{8 * kEncodedFrameMax.bytes()};
  /// A frame still incomplete after this long is dropped, because it is useless to a call.
  Duration age_max = 2s;
};

struct AssemblerStats {
  uint64_t fragments = 0;   ///< passed in, valid or not
  uint64_t malformed = 0;   ///< refused with an error
  uint64_t duplicates = 0;  ///< of a fragment already held, or of a frame already finished
  uint64_t too_old = 0;     ///< of frames too old to know whether they were finished
  uint64_t frames_completed = 0;
  uint64_t frames_rebuilt = 0;  ///< completed frames in which parity replaced lost parts
  uint64_t frames_dropped =
      0;  ///< incomplete frames discarded: for space, age or by discard_through
  uint64_t parity_ignored = 0;  ///< valid parity fragments without room
  friend bool operator==(const AssemblerStats&, const AssemblerStats&) = default;
};

/// Reassembles fragments to frames: the inverse of `fragment`, under loss, duplication and
/// reordering. A frame is returned once, as soon as any `count` of its fragments have arrived,
/// parity or not, in whatever order frames become complete; FrameClock decides what to decode when.
/// Errors: hostile or broken messages give one FragmentError and change nothing but the counts. A
/// forged parity fragment gives a forged frame, of the length in its header: the transport must
/// authenticate messages. Threads: none inside; one owner.
class Assembler {
 public:
  explicit Assembler(AssemblerOptions options = {});

  /// One message from the transport. `now` never goes back.
  Result<std::optional<EncodedFrame>, FragmentError> handle_fragment(
      TimePoint now, std::span<const std::byte> message);
  /// Frames up to `frame_id` are no longer needed: drops incomplete ones and ignores their
  /// fragments from now on.
  void discard_through(uint32_t frame_id);

  size_t incomplete_frames() const { return partial_.size(); }
  DataSize incomplete_bytes() const { return reserved_; }
  const AssemblerStats& stats() const { return stats_; }

 private:
  struct Partial {
    FragmentHeader header;  // of its first fragment
    TimePoint first_arrival{};
    std::vector<std::byte> data;
    // Parity fragments replace missing parts, so fewer than parts are held.
    struct Parity {
      int index = 0;
      std::vector<std::byte> bytes;
    };
    std::vector<Parity> parity;
    std::vector<bool> present;  // by index, parity too
    size_t missing = 0;         // fragments, data or parity, until the frame is complete
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
  // Frames that were returned or discarded, so that a duplicate does not start them again. Only the
  // newest kFinishedMax are remembered individually; everything below finished_below_ counts as
  // finished.
  std::set<uint32_t> finished_;
  uint64_t finished_below_ = 0;
  TimePoint last_now_{TimePoint::min()};
};

}  // namespace cress::media
