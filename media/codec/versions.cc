#include "media/codec/versions.hh"

#include <opus/opus.h>
#include <vpx/vpx_codec.h>

namespace cress::media {

std::string codec_versions() {
  return std::string{"libvpx "} + vpx_codec_version_str() + ", " + opus_get_version_string();
}

}  // namespace cress::media
