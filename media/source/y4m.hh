#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <list>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "media/frame/picture.hh"
#include "media/source/video_source.hh"
#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// YUV4MPEG2, the uncompressed video format of mjpegtools, ffmpeg and video-quality tools: a line
/// of text, then for each picture a line "FRAME" and its planes. Read here: 8 bit 4:2:0,
/// progressive (tags C420, C420jpeg, C420mpeg2, C420paldv or none).
inline constexpr size_t kY4mLineMax = 1024;
inline constexpr uint64_t kY4mFramesMax = 10'000'000;

struct Y4mHeader {
  int width = 0;
  int height = 0;
  FrameRate frame_rate{};
  DataSize frame_size() const;
  friend bool operator==(const Y4mHeader&, const Y4mHeader&) = default;
};

struct Y4mError {
  enum class Kind {
    kNotY4m,             ///< another first word, or no first line
    kBadHeader,          ///< an invalid tag
    kMissingSize,        ///< no W or no H
    kSizeOutOfRange,     ///< not 1..kPictureSideMax
    kUnsupportedColour,  ///< not 8 bit 4:2:0
    kInterlaced,
    kBadFrameLine,  ///< another line in place of "FRAME"
    kTruncated,     ///< the file ends inside a picture
    kTooManyFrames,
    kUnreadable,  ///< the stream failed
  };
  Kind kind = Kind::kNotY4m;
  uint64_t offset = 0;  ///< in bytes from the file's start
  uint64_t frame = 0;   ///< counted from 0; for errors after the header
  friend bool operator==(const Y4mError&, const Y4mError&) = default;
};

/// One clear sentence: what is wrong, where, and what to do.
std::string describe(const Y4mError& error);

/// `line`: the first line without its newline.
Result<Y4mHeader, Y4mError> parse_y4m_header(std::string_view line);

/// Reads a stream from its beginning, picture by picture. Total: any bytes give pictures, the end,
/// or one error; uses at most the memory of one picture. Threads: none inside; one owner.
class Y4mReader {
 public:
  /// `stream` outlives the reader.
  explicit Y4mReader(std::istream& stream) : stream_(stream) {}

  /// Call once, first.
  Result<Y4mHeader, Y4mError> read_header();
  /// The next picture, or nullopt at the end. Only after a header.
  Result<std::optional<Picture>, Y4mError> read_picture();
  /// Like read_picture, but seeks over the planes and returns their offset.
  Result<std::optional<uint64_t>, Y4mError> skip_picture(uint64_t stream_size);

  uint64_t frames_read() const { return frame_; }

 private:
  std::optional<std::string> read_line();
  Result<bool, Y4mError> read_frame_line();
  Y4mError error(Y4mError::Kind kind) const { return {kind, offset_, frame_}; }

  std::istream& stream_;
  Y4mHeader header_;
  bool has_header_ = false;
  uint64_t offset_ = 0;
  uint64_t frame_ = 0;
};

struct Y4mSourceOptions {
  /// Pictures kept in memory; a clip that fits is read from the disk once. At least one is kept.
  DataSize memory_max{256 << 20};
};

/// A Y4M file in a loop. The whole file is checked when it is opened (its frame lines, not its
/// pixels); pictures are read when asked for.
/// Errors: std::runtime_error "PATH: what; what to do", also later if the file changes or vanishes.
/// Threads: none inside; one owner.
class Y4mSource final : public VideoSource {
 public:
  explicit Y4mSource(const std::filesystem::path& path, Y4mSourceOptions options = {});

  int width() const override { return header_.width; }
  int height() const override { return header_.height; }
  FrameRate frame_rate() const override { return header_.frame_rate; }
  PicturePtr picture(uint64_t index) override;
  std::string description() const override { return path_.filename().string(); }
  /// Pictures before the loop restarts.
  uint64_t clip_length() const { return offsets_.size(); }
  size_t pictures_in_memory() const { return recent_.size(); }

 private:
  struct Kept {
    PicturePtr picture;
    std::list<uint64_t>::iterator place;
  };
  PicturePtr load(uint64_t frame);

  std::filesystem::path path_;
  std::ifstream file_;
  Y4mHeader header_;
  std::vector<uint64_t> offsets_;  // of each picture's planes
  size_t kept_max_ = 1;
  std::list<uint64_t> recent_;  // newest first
  std::unordered_map<uint64_t, Kept> kept_;
};

/// Writes what Y4mReader reads. Errors: std::runtime_error if the file cannot be written
/// completely. Threads: none inside; one owner.
class Y4mWriter {
 public:
  Y4mWriter(const std::filesystem::path& path, const Y4mHeader& header);
  /// `picture` has the header's size.
  void write(const Picture& picture);
  /// Flushes and closes; throws if anything was lost. Without it the destructor closes silently.
  void finish();

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  Y4mHeader header_;
};

}  // namespace cress::media
