#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "media/source/video_source.hh"
#include "transport/base/units.hh"

namespace cress::encoder_bench {

/// Whether the file begins like an IVF of VP8.
bool is_vp8_ivf(const std::filesystem::path& path);

/// An IVF file of VP8 frames, decoded once, in a loop. A picture is held over a gap in the times,
/// where its encoder skipped. Frames of another size than the first are scaled to it. Errors:
/// std::runtime_error "PATH: what". Threads: none inside; one owner.
class IvfVideo final : public media::VideoSource {
 public:
  /// `memory_max`: of the decoded pictures, each counted once. 512 MiB: 50 s of 640 × 360 at 30.
  explicit IvfVideo(const std::filesystem::path& path, DataSize memory_max = DataSize{512 << 20});

  int width() const override { return pictures_.front()->width; }
  int height() const override { return pictures_.front()->height; }
  media::FrameRate frame_rate() const override { return frame_rate_; }
  media::PicturePtr picture(uint64_t index) override { return pictures_[index % pictures_.size()]; }
  std::string description() const override { return path_.filename().string(); }
  /// Pictures before the loop restarts.
  size_t clip_length() const { return pictures_.size(); }

 private:
  struct Timed {
    uint64_t time = 0;
    media::PicturePtr picture;
  };
  [[noreturn]] void fail(const std::string& what) const;
  std::vector<Timed> decode_all(std::istream& stream, DataSize memory_max);

  std::filesystem::path path_;
  media::FrameRate frame_rate_;
  std::vector<media::PicturePtr> pictures_;
};

}  // namespace cress::encoder_bench
