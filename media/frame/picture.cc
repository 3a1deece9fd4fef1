#include "media/frame/picture.hh"

#include "transport/base/check.hh"

namespace cress::media {

Picture make_picture(int width, int height) {
  check(width > 0 && height > 0 && width <= kPictureSideMax && height <= kPictureSideMax,
        "make_picture: side out of range");
  Picture picture{width, height, {}};
  picture.data.assign(picture.luma_size() + 2 * picture.chroma_size(), 128);
  return picture;
}

}  // namespace cress::media
