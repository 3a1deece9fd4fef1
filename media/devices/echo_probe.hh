#pragma once

#include <memory>
#include <string>

namespace cress::media {

/// The point in a LiveSpeaker from which a LiveMicrophone takes the played audio for echo
/// cancellation. Shared, because either of the two may end first, and the microphone needs it as
/// long as it runs. One microphone at a time. Threads: any.
class EchoProbe {
 public:
  /// Errors: none; check failure if GStreamer has no webrtcechoprobe.
  EchoProbe();
  ~EchoProbe();

  /// For the .cc files of this folder: its GStreamer name, and the element itself.
  const std::string& name() const;
  void* element() const;
  /// True: `listener` holds it now, or held it already.
  bool claim(const void* listener);
  /// Releases it if `listener` holds it.
  void release(const void* listener);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cress::media
