#include "media/codec/vpx_image.hh"

#include <algorithm>
#include <cstddef>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

void copy_plane(const uint8_t* from, int stride, uint8_t* to, int width, int height) {
  for (int row = 0; row < height; ++row) {
    std::copy_n(from + static_cast<ptrdiff_t>(row) * stride, width,
                to + static_cast<ptrdiff_t>(row) * width);
  }
}

}  // namespace

Picture to_picture(const vpx_image_t& image) {
  Picture picture = make_picture(narrow<int>(image.d_w), narrow<int>(image.d_h));
  copy_plane(image.planes[VPX_PLANE_Y], image.stride[VPX_PLANE_Y], picture.y(), picture.width,
             picture.height);
  copy_plane(image.planes[VPX_PLANE_U], image.stride[VPX_PLANE_U], picture.u(),
             picture.chroma_width(), picture.chroma_height());
  copy_plane(image.planes[VPX_PLANE_V], image.stride[VPX_PLANE_V], picture.v(),
             picture.chroma_width(), picture.chroma_height());
  return picture;
}

vpx_image_t view_of(const Picture& picture) {
  // NOLINTBEGIN(cppcoreguidelines-pro-type-const-cast): see the header
  auto* y = const_cast<uint8_t*>(picture.y());
  auto* u = const_cast<uint8_t*>(picture.u());
  auto* v = const_cast<uint8_t*>(picture.v());
  // NOLINTEND(cppcoreguidelines-pro-type-const-cast)
  vpx_image_t image{};
  check(vpx_img_wrap(&image, VPX_IMG_FMT_I420, static_cast<unsigned>(picture.width),
                     static_cast<unsigned>(picture.height), 1, y) != nullptr,
        "view_of: libvpx refused the picture's shape");
  // vpx_img_wrap rounds rows up to even widths; ours are exact.
  image.planes[VPX_PLANE_Y] = y;
  image.planes[VPX_PLANE_U] = u;
  image.planes[VPX_PLANE_V] = v;
  image.stride[VPX_PLANE_Y] = picture.width;
  image.stride[VPX_PLANE_U] = picture.chroma_width();
  image.stride[VPX_PLANE_V] = picture.chroma_width();
  return image;
}

}  // namespace cress::media
