#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "media/frame/picture.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"

namespace cress::film {

/// A picture that was displayed. Both times are of one clock, the run's.
struct ShownPicture {
  TimePoint captured{};
  TimePoint shown{};  ///< displayed from then on
  media::PicturePtr picture{};
  /// A short text for the viewer of the film: "480x270, quantizer 34". May be empty.
  std::string note{};
};

/// The pictures displayed to one viewer, in the order of `shown`. Threads: none inside unless a
/// derived class says so; one owner.
class Feed {
 public:
  virtual ~Feed() = default;
  /// The next picture; nullopt at the end, and from then on. May throw what its producer throws.
  virtual std::optional<ShownPicture> poll() = 0;
};

/// The camera's own pictures, displayed as they are captured: a call without any delay.
class OriginalFeed final : public Feed {
 public:
  /// `video` outlives the feed. Pictures captured before `until`.
  OriginalFeed(media::VideoSource& video, TimePoint until) : video_(video), until_(until) {}

  std::optional<ShownPicture> poll() override;

 private:
  media::VideoSource& video_;
  TimePoint until_;
  uint64_t index_ = 0;
};

/// The pictures of a producer that cannot be polled, such as a whole simulation: it runs in a
/// thread of its own and waits whenever it is kWaitingMax pictures ahead. So the runs of two feeds
/// proceed together in little memory; the result does not depend on that. Threads: `Make` runs in
/// the producer's thread and must share nothing with others; the owner's thread calls the rest.
class ProducedFeed final : public Feed {
 public:
  /// Passes on the next picture, in the order of `shown`. Call it only in the producer's thread.
  /// Throws, through the producer, if no further picture is wanted.
  using Show = std::function<void(ShownPicture)>;
  using Make = std::function<void(const Show& show)>;

  static constexpr size_t kWaitingMax = 4;

  explicit ProducedFeed(Make make);
  /// Stops the producer at its next picture and waits for it.
  ~ProducedFeed() override;

  /// Throws what the producer threw.
  std::optional<ShownPicture> poll() override;
  /// Runs the producer to its end, without its pictures, and throws what it threw. For a producer
  /// whose results are needed, too.
  void finish();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace cress::film
