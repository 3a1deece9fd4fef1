#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/frame/encoded_frame.hh"
#include "transport/base/result.hh"
#include "transport/base/units.hh"

namespace cress::media {

/// IVF, the simple container of libvpx's own tools: a header of 32 bytes ("DKIF"), then for each
/// encoded frame its size (4 bytes), its time (8 bytes) and its data, all little-endian.
inline constexpr size_t kIvfHeaderSize = 32;
inline constexpr size_t kIvfFrameHeaderSize = 12;
inline constexpr std::array<char, 4> kIvfVp8{'V', 'P', '8', '0'};

struct IvfHeader {
  std::array<char, 4> codec = kIvfVp8;
  int width = 0;  ///< of the first frame; 0..65535, a hint only: key frames carry the real size
  int height = 0;
  /// A frame's time counts units of numerator / denominator seconds; both > 0.
  uint32_t timebase_numerator = 1;
  uint32_t timebase_denominator = 30;
  /// As in the header, which is 0 or wrong if a writer was stopped: a hint only.
  uint32_t frame_count = 0;
  friend bool operator==(const IvfHeader&, const IvfHeader&) = default;
};

struct IvfFrame {
  uint64_t time = 0;  ///< in units of the timebase
  std::vector<std::byte> data;
  friend bool operator==(const IvfFrame&, const IvfFrame&) = default;
};

struct IvfError {
  enum class Kind {
    kNotIvf,        ///< does not begin with "DKIF"
    kBadVersion,    ///< not version 0
    kBadHeader,     ///< a header length under 32 bytes or over 64 KiB, or a timebase with a zero
    kTruncated,     ///< the file ends inside the header or a frame
    kEmptyFrame,    ///< a frame of no bytes
    kFrameTooLong,  ///< a frame beyond kEncodedFrameMax
    kUnreadable,    ///< the stream failed
  };
  Kind kind = Kind::kNotIvf;
  uint64_t offset = 0;  ///< in bytes from the file's start
  uint64_t frame = 0;   ///< counted from 0; for errors after the header
  friend bool operator==(const IvfError&, const IvfError&) = default;
};

/// One clear sentence: what is wrong and where.
std::string describe(const IvfError& error);

/// Reads a stream from its beginning, frame by frame. Total: any bytes give frames, the end, or one
/// error; uses at most the memory of one frame of kEncodedFrameMax. Threads: none inside; one
/// owner.
class IvfReader {
 public:
  /// `stream` outlives the reader.
  explicit IvfReader(std::istream& stream) : stream_(stream) {}

  /// Call once, first.
  Result<IvfHeader, IvfError> read_header();
  /// The next frame, or nullopt at the end. Only after a header.
  Result<std::optional<IvfFrame>, IvfError> read_frame();

 private:
  /// Returns how many of `bytes` could be read.
  size_t read(std::span<std::byte> bytes);
  IvfError error(IvfError::Kind kind) const { return {kind, offset_, frame_}; }
  IvfError cut() const;

  std::istream& stream_;
  bool has_header_ = false;
  uint64_t offset_ = 0;
  uint64_t frame_ = 0;
};

/// Writes what IvfReader reads. Errors: std::runtime_error "PATH: what" if the file cannot be
/// written completely. Threads: none inside; one owner.
class IvfWriter {
 public:
  /// `header.frame_count` is ignored: `finish` writes the real count.
  IvfWriter(const std::filesystem::path& path, const IvfHeader& header);
  /// `data`: 1..kEncodedFrameMax bytes.
  void write(uint64_t time, std::span<const std::byte> data);
  /// Completes the header, flushes and closes; throws if anything was lost. Without it the file
  /// holds whole frames and a count of 0, which readers accept.
  void finish();

 private:
  std::filesystem::path path_;
  std::ofstream file_;
  IvfHeader header_;
};

}  // namespace cress::media
