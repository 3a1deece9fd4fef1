#pragma once

#include <cstddef>
#include <span>

namespace cress::media {

/// Forward error correction for frames, so that a lost fragment need not be retransmitted: of the k
/// data and m parity fragments of a frame, any k give all the others. Source: systematic
/// Reed-Solomon by a Cauchy matrix over GF(256) (Blömer et al., "An XOR-based erasure-resilient
/// coding scheme", 1995), its columns scaled so that parity number 0 is the exclusive or. The
/// formula is in docs/protocol/media.md, "Parity". Threads: none inside; all pure.

/// The most data and parity fragments of a frame together; a frame with this many data fragments
/// has no parity.
inline constexpr int kCodedFragmentsMax = 255;

/// An available fragment, by its index on the wire: data below the frame's count, parity from there
/// on. `bytes` is borrowed for the call.
struct CodedFragment {
  int index = 0;
  std::span<const std::byte> bytes;
};
/// The buffer for a missing fragment. `bytes` is borrowed for the call.
struct WantedFragment {
  int index = 0;
  std::span<std::byte> bytes;
};

/// Fills in each of `wanted` from any `count` fragments of a frame cut into `count`: parity from
/// data when sending, data from what arrived when receiving. `have`: `count` fragments, `wanted`:
/// others; indices below kCodedFragmentsMax, each at most once. Parity is as long as the longest
/// data fragment; a shorter one counts as if zeros followed. Time: proportional to wanted × count ×
/// length. Contents are not checked: wrong bytes give wrong bytes.
void derive_fragments(int count, std::span<const CodedFragment> have,
                      std::span<const WantedFragment> wanted);

/// The fewest parity fragments with which a frame of `fragments` (> 0) is lost with a probability
/// of at most `frame_loss_target` (1e-9 .. 1), if each fragment is lost with probability `loss` (0
/// .. 1) and independently. At most `parity_max` (>= 0) and what the code allows, even if that
/// misses the target; 0 if loss is below 0.3 %, where an occasional retransmission costs less.
int parity_for(int fragments, double loss, double frame_loss_target = 0.01,
               int parity_max = kCodedFragmentsMax);

}  // namespace cress::media
