#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "media/frame/picture.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::encoder_bench {

/// An encoder's output for one picture.
struct BenchFrame {
  std::vector<std::byte> data;  ///< empty: the encoder skipped the picture
  bool key_frame = false;
  int quantizer = 0;  ///< 0 fine .. 63 coarse
  int attempts = 1;   ///< number of encodes, including discarded ones
};

/// An encoder under test. The bench calls it picture by picture and notifies it which of its frames
/// a receiver has decoded. Errors: std::runtime_error. Threads: none inside; one owner.
class BenchEncoder {
 public:
  virtual ~BenchEncoder() = default;
  /// `picture` has the size of the set-up. `budget` > 0, or empty without a limit.
  virtual BenchFrame encode(TimePoint now, uint32_t frame_id, const media::PicturePtr& picture,
                            std::optional<DataSize> budget) = 0;
  virtual void handle_decoded(uint32_t frame_id) { static_cast<void>(frame_id); }
};

struct BenchEncoderOptions {
  int width = 640;
  int height = 360;
  media::FrameRate frame_rate{};
  int cpu_used = -8;
  int quantizer = 32;  ///< of the encoder `quantizer`
};

struct EncoderInfo {
  std::string_view name;
  std::string_view what;  ///< one line
};

std::span<const EncoderInfo> encoders();
/// Throws std::invalid_argument with all names if `name` is none of them.
std::unique_ptr<BenchEncoder> make_encoder(std::string_view name,
                                           const BenchEncoderOptions& options);

}  // namespace cress::encoder_bench
