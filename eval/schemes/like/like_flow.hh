#pragma once

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/like/like_peer.hh"

namespace cress::schemes {

/// One end of a modelled call without real video: thirty frames per second, each exactly of the
/// size that the controller's target allows. The load that such a program puts on a link, without
/// an encoder's errors and time. Threads: none inside; one owner.
class LikeFlow final : public SchemeHost {
 public:
  /// Whether this end sends frames; the other only reports.
  LikeFlow(TimePoint start, const LikeOptions& options, bool sends);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  std::optional<Transmit> poll_transmit(TimePoint /*now*/) override {
    return peer_.poll_transmit();
  }
  TimePoint poll_timeout() const override;
  DataSize delivered() const override { return delivered_; }
  HostSample sample(TimePoint now) const override;
  DataRate target() const { return peer_.target(); }

 private:
  LikePeer peer_;
  TimePoint next_frame_;
  DataSize delivered_;
};

}  // namespace cress::schemes
