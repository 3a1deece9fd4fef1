#pragma once

#include <cstdint>
#include <optional>

#include "media/frame/picture.hh"
#include "transport/sim/host.hh"

namespace cress::schemes {

/// What a sender believes at an instant, for timelines; empty where a scheme has no such notion.
struct HostSample {
  std::optional<DataSize> window{};    ///< it may send now, or keep in flight
  std::optional<DataRate> forecast{};  ///< it expects of the link
};

/// One end of a scheme under test.
class SchemeHost : public sim::Host {
 public:
  /// Application bytes that arrived here once (video: coded frames that were shown).
  virtual DataSize delivered() const = 0;
  virtual HostSample sample(TimePoint /*now*/) const { return {}; }
};

/// What the sender did with one captured picture. `size` is 0 for a skipped one.
struct CodedFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  DataSize size{};
  std::optional<DataSize> budget{};
  int quantizer = 0;
  bool key_frame = false;
};

/// What the viewer saw, and when.
struct ShownFrame {
  uint32_t frame_id = 0;
  TimePoint captured{};
  TimePoint shown{};
  media::PicturePtr picture;
};

/// One end of a video call: captures its own camera, shows the other's.
class CallHost : public SchemeHost {
 public:
  virtual std::optional<CodedFrame> poll_coded() = 0;
  virtual std::optional<ShownFrame> poll_shown() = 0;
};

}  // namespace cress::schemes
