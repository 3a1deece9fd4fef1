#pragma once

#include <string>

namespace cress::media {

/// The codec libraries in use, e.g. "libvpx v1.12.0, libopus 1.3.1". Another version codes the same
/// pictures and audio into other bytes.
std::string codec_versions();

}  // namespace cress::media
