#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "media/source/video_source.hh"

namespace cress::media {

/// Caches the newest pictures of another source: a simulated call reads each picture twice, to
/// encode it and soon after to compare the displayed frame with it. Memory: `kept` pictures (> 0).
/// Threads: none inside; one owner.
class RecentPictures final : public VideoSource {
 public:
  RecentPictures(std::unique_ptr<VideoSource> source, size_t kept)
      : source_(std::move(source)), slots_(kept) {}

  int width() const override { return source_->width(); }
  int height() const override { return source_->height(); }
  FrameRate frame_rate() const override { return source_->frame_rate(); }
  std::string description() const override { return source_->description(); }
  PicturePtr picture(uint64_t index) override {
    Slot& slot = slots_[index % slots_.size()];
    if (!slot.picture || slot.index != index) {
      slot = {index, source_->picture(index)};
    }
    return slot.picture;
  }

 private:
  struct Slot {
    uint64_t index = 0;
    PicturePtr picture;
  };
  std::unique_ptr<VideoSource> source_;
  std::vector<Slot> slots_;
};

}  // namespace cress::media
