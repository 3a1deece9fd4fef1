#pragma once

#include <cstddef>
#include <cstdint>

#include "media/frame/fragment.hh"
#include "transport/room/member_number.hh"

namespace cress::relay {

/// The kinds of frames, each depending only on those before it (docs/protocol/room.md, "Video").
/// Also a level: a member at kBase gets anchors and base frames; at kNone nothing.
enum class FrameKind : uint8_t { kNone, kAnchor, kBase, kLayer1, kLayer2 };
inline constexpr size_t kFrameKinds = 5;

inline FrameKind kind_of(const media::FragmentHeader& header) {
  if (header.key_frame || header.anchor) {
    return FrameKind::kAnchor;
  }
  return header.temporal_layer == 0   ? FrameKind::kBase
         : header.temporal_layer == 1 ? FrameKind::kLayer1
                                      : FrameKind::kLayer2;
}

/// The most legs that one room may have: sets of legs are bits of one 64-bit word.
inline constexpr size_t kLegsMax = 64;
/// The leg of a member: derived from its number, so that both are found in constant time.
inline size_t leg_of(room::MemberNumber number) { return (number - size_t{1}) % kLegsMax; }

}  // namespace cress::relay
