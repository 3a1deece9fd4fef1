#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>

#include "media/gst/gst_handles.hh"
#include "transport/base/time.hh"

namespace cress::media {

/// std::runtime_error "PATH: what", in one line.
[[noreturn]] void fail_at(const std::filesystem::path& path, const std::string& what);

struct FileDecoderOptions {
  /// What follows decodebin: an element named "convert" first, an appsink named "sink" last.
  std::string chain;
  std::string stream;          ///< for words: "video"
  std::string piece;           ///< "picture"
  bool counts_pieces = false;  ///< an error says beyond which piece
  /// How long GStreamer may take for one piece before it counts as stuck.
  Duration patience{};
  /// Interval at which errors are polled while no piece arrives. A piece is returned at once.
  Duration look = 50ms;
};

/// One decoding run of one file by GStreamer, piece by piece; streams of another kind find nothing
/// to be linked to and stop. Errors: fail_at. Threads: GStreamer's, as long as it lives; one owner.
class FileDecoder {
 public:
  FileDecoder(std::filesystem::path path, FileDecoderOptions options);

  /// The next piece; null at the end of the file.
  GstOwned<GstSample> next();

 private:
  void start();
  [[noreturn]] void fail_with(GstMessage* message) const;
  bool lacks_stream() const;
  bool is_stuck() const;

  std::filesystem::path path_;
  FileDecoderOptions options_;
  uint64_t pieces_ = 0;
  int starts_ = 0;
  // Set by a thread of GStreamer when all streams of the file are known; outlives the pipeline.
  std::atomic<bool> streams_known_ = false;
  GstPipelinePtr pipeline_;
  GstOwned<GstElement> convert_;
  GstOwned<GstElement> sink_;
  GstOwned<GstBus> bus_;
};

}  // namespace cress::media
