#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include "media/frame/picture.hh"
#include "media/gst/gst_handles.hh"
#include "media/source/video_source.hh"

namespace cress::media {

/// Copies an I420 buffer; null if it cannot be read. Only for the .cc files of this folder.
PicturePtr to_picture(GstSample* sample, const GstVideoInfo& info);
/// I420 of this size, in BT.601 colours.
GstVideoInfo video_info(int width, int height, FrameRate rate);
/// A copy. `picture` has the info's size.
GstOwned<GstBuffer> to_buffer(const Picture& picture, const GstVideoInfo& info);

}  // namespace cress::media
