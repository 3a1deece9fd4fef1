#pragma once

#include <gst/gst.h>

#include <string>

#include "media/devices/microphone.hh"

namespace cress::media {

/// The one audio format between our elements; only for the .cc files of this folder.
inline constexpr const char* kSoundCaps =
    "audio/x-raw,format=S16LE,layout=interleaved,rate=48000,channels=1";

/// Whether GStreamer's webrtcdsp is installed.
bool has_voice_processor();
/// Sets up a webrtcdsp element. `probe`: the name of the webrtcechoprobe from which it takes the
/// echo, which must exist and be free; empty for none.
void set_up_voice_processor(GstElement* processor, const VoiceProcessing& processing,
                            const std::string& probe);

}  // namespace cress::media
