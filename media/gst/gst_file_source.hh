#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/source/video_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::media {

struct PictureSize {
  int width = 0;
  int height = 0;
  friend bool operator==(PictureSize, PictureSize) = default;
};

struct OpenVideoOptions {
  /// Scales to this size, with black borders if the shape differs. If empty: the file's own size.
  std::optional<PictureSize> size{};
  /// A decoded clip is kept in memory. 512 MiB: 50 s of 640 × 360 at 30 frames per second.
  DataSize memory_max{512 << 20};
  /// If GStreamer takes longer for one picture it counts as stuck.
  Duration patience = 20s;
};

/// Any video file that GStreamer decodes, decoded once, in a loop. GStreamer's threads exist only
/// during the constructor; afterwards this is a list of pictures. Needs a GstRuntime. Errors:
/// std::runtime_error "PATH: what; what to do", in one line, with GStreamer's reason. Threads: none
/// inside after construction; one owner.
class GstFileSource final : public VideoSource {
 public:
  explicit GstFileSource(const std::filesystem::path& path, const OpenVideoOptions& options = {});

  int width() const override { return pictures_.front()->width; }
  int height() const override { return pictures_.front()->height; }
  FrameRate frame_rate() const override { return frame_rate_; }
  PicturePtr picture(uint64_t index) override { return pictures_[index % pictures_.size()]; }
  std::string description() const override { return name_; }
  /// Pictures before the loop restarts.
  size_t clip_length() const { return pictures_.size(); }

 private:
  std::string name_;
  FrameRate frame_rate_;
  std::vector<PicturePtr> pictures_;
};

/// YUV4MPEG2, by its name or first bytes.
bool is_y4m(const std::filesystem::path& path);

/// Decodes the first picture and no more. Throws what opening the whole file would throw if there
/// is none.
void require_video(const std::filesystem::path& path);

/// Opens `path`: YUV4MPEG2 is read from the disk while it is played and may have any length; all
/// other files go through GStreamer. Errors as those of Y4mSource and GstFileSource.
std::unique_ptr<VideoSource> open_video(const std::filesystem::path& path,
                                        const OpenVideoOptions& options = {});

}  // namespace cress::media
