#pragma once

#include <memory>
#include <string>

namespace cress::media {

/// The place in a LiveSpeaker where a LiveMicrophone hears what is played. Shared, because either
/// of the two may go first, and the microphone needs it as long as it listens. One microphone at a
/// time. Threads: any.
class EchoProbe {
 public:
  /// Errors: none; check failure where GStreamer has no webrtcechoprobe.
  EchoProbe();
  ~EchoProbe();

  /// For the .cc files of this folder: GStreamer's name for it, and the element itself.
  const std::string& name() const;
  void* element() const;
  /// True: `listener` has it now, or had it already.
  bool claim(const void* listener);
  /// If `listener` has it.
  void release(const void* listener);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cress::media
