#pragma once

// Private to this folder: includes libvpx.
#include <vpx/vpx_image.h>

#include "media/frame/picture.hh"

namespace cress::media {

/// Copies the visible part of an I420 image, whose rows may be padded.
Picture to_picture(const vpx_image_t& image);

/// A view of `picture`, whose owner must outlive it. libvpx takes mutable planes but only reads an
/// encoder's input.
vpx_image_t view_of(const Picture& picture);

}  // namespace cress::media
