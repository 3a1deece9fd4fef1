#pragma once

#include <cstddef>
#include <vector>

#include "media/frame/picture.hh"

namespace cress::media {

/// `picture` as a lossy WebP file, which every browser displays: a VP8 key frame in a RIFF
/// container (RFC 9649 §2.5). `quantizer`: 0..63, larger is smaller and worse. The same picture
/// gives the same bytes. Threads: none inside; pure.
std::vector<std::byte> webp_file(const Picture& picture, int quantizer);

}  // namespace cress::media
