#pragma once

#include <filesystem>
#include <memory>

#include "media/source/audio_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

struct OpenAudioOptions {
  /// Decoded audio is kept in memory. 256 MiB: three quarters of an hour.
  DataSize memory_max{256 << 20};
  /// If GStreamer takes longer for one piece it counts as stuck.
  Duration patience = 20s;
};

/// The audio of any file that GStreamer decodes (including a film's), decoded once, mixed and
/// resampled to 48 kHz mono, in a loop. GStreamer's threads exist only during this call. Needs a
/// GstRuntime. Errors: std::runtime_error "PATH: what; what to do", in one line, with GStreamer's
/// reason.
std::unique_ptr<AudioSource> open_audio(const std::filesystem::path& path,
                                        const OpenAudioOptions& options = {});

/// Decodes the first piece and no more. Throws what opening the whole file would throw if there is
/// none.
void require_audio(const std::filesystem::path& path);

}  // namespace cress::media
