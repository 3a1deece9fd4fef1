#include "eval/schemes/like/like_flow.hh"

#include <algorithm>
#include <vector>

#include "media/frame/fragment.hh"

namespace cress::schemes {
namespace {

constexpr Duration kFrameInterval = 33'333'333ns;

}  // namespace

LikeFlow::LikeFlow(TimePoint start, const LikeOptions& options, bool sends)
    : peer_(start, options), next_frame_(sends ? start : kNever) {}

void LikeFlow::handle_datagram(TimePoint now, const Address& /*from*/,
                               std::span<const std::byte> bytes) {
  const auto media = peer_.handle_datagram(now, bytes);
  if (!media.empty()) {
    delivered_ += DataSize{static_cast<int64_t>(media.size())} - media::kFragmentHeaderSize;
  }
}

void LikeFlow::handle_timeout(TimePoint now) {
  peer_.handle_timeout(now, false);
  if (now < next_frame_) {
    return;
  }
  next_frame_ = now + kFrameInterval;
  // Like the fragments of an encoded frame: each with its header.
  const DataSize part_max = LikePeer::kMediaMax - media::kFragmentHeaderSize;
  for (DataSize rest = peer_.target() * kFrameInterval; rest > DataSize{};) {
    const DataSize part = std::min(rest, part_max);
    rest -= part;
    const DataSize size = part + media::kFragmentHeaderSize;
    peer_.send(now, std::vector<std::byte>(static_cast<size_t>(size.bytes())));
  }
}

TimePoint LikeFlow::poll_timeout() const { return std::min(peer_.poll_timeout(), next_frame_); }

HostSample LikeFlow::sample(TimePoint /*now*/) const {
  return {.window = {},
          .forecast = next_frame_ < kNever ? std::optional{peer_.target()} : std::nullopt};
}

}  // namespace cress::schemes
