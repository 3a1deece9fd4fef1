#pragma once

#include <string>

namespace cress::media {

/// The codec libraries in use, e.g. "libvpx v1.12.0, libopus 1.3.1". Another version encodes the
/// same pictures and audio to different bytes.
std::string codec_versions();

}  // namespace cress::media
