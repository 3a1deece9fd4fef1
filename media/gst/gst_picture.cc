#include "media/gst/gst_picture.hh"

#include <cstdint>
#include <cstring>
#include <memory>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

void copy_out(const GstVideoFrame& frame, guint plane, uint8_t* to, int width, int height) {
  const auto* from = static_cast<const uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
  const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane);
  for (int row = 0; row < height; ++row) {
    std::memcpy(to + static_cast<ptrdiff_t>(row) * width,
                from + static_cast<ptrdiff_t>(row) * stride, static_cast<size_t>(width));
  }
}

void copy_in(const GstVideoFrame& frame, guint plane, const uint8_t* from, int width, int height) {
  auto* to = static_cast<uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
  const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane);
  for (int row = 0; row < height; ++row) {
    std::memcpy(to + static_cast<ptrdiff_t>(row) * stride,
                from + static_cast<ptrdiff_t>(row) * width, static_cast<size_t>(width));
  }
}

}  // namespace

PicturePtr to_picture(GstSample* sample, const GstVideoInfo& info) {
  GstVideoFrame frame;
  if (gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ) == 0) {
    return nullptr;
  }
  auto picture = std::make_shared<Picture>(make_picture(info.width, info.height));
  copy_out(frame, 0, picture->y(), picture->width, picture->height);
  copy_out(frame, 1, picture->u(), picture->chroma_width(), picture->chroma_height());
  copy_out(frame, 2, picture->v(), picture->chroma_width(), picture->chroma_height());
  gst_video_frame_unmap(&frame);
  return picture;
}

GstVideoInfo video_info(int width, int height, FrameRate rate) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_I420, static_cast<guint>(width),
                            static_cast<guint>(height));
  info.fps_n = narrow<int>(rate.numerator);
  info.fps_d = narrow<int>(rate.denominator);
  gst_video_colorimetry_from_string(&info.colorimetry, GST_VIDEO_COLORIMETRY_BT601);
  return info;
}

GstOwned<GstBuffer> to_buffer(const Picture& picture, const GstVideoInfo& info) {
  GstOwned<GstBuffer> buffer{gst_buffer_new_allocate(nullptr, info.size, nullptr)};
  GstVideoFrame frame;
  check(picture.width == info.width && picture.height == info.height &&
            gst_video_frame_map(&frame, &info, buffer.get(), GST_MAP_WRITE) != 0,
        "to_buffer: a buffer of our own cannot be filled");
  copy_in(frame, 0, picture.y(), picture.width, picture.height);
  copy_in(frame, 1, picture.u(), picture.chroma_width(), picture.chroma_height());
  copy_in(frame, 2, picture.v(), picture.chroma_width(), picture.chroma_height());
  gst_video_frame_unmap(&frame);
  return buffer;
}

}  // namespace cress::media
