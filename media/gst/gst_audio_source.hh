#pragma once

#include <filesystem>
#include <memory>

#include "media/source/audio_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

struct OpenAudioOptions {
  /// Decoded sound is kept whole. 256 MiB: three quarters of an hour.
  DataSize memory_max{256 << 20};
  /// How long GStreamer may take for one piece before it counts as stuck.
  Duration patience = 20s;
};

/// The sound of any file that GStreamer decodes (of a film, too), decoded once, mixed and resampled
/// to 48 kHz mono, in a loop. GStreamer's threads live only inside this call.
/// Needs a GstRuntime.
/// Errors: std::runtime_error "PATH: what; what to do", in one line, with GStreamer's reason.
std::unique_ptr<AudioSource> open_audio(const std::filesystem::path& path,
                                        const OpenAudioOptions& options = {});

}  // namespace cress::media
