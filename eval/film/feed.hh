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

/// A picture that came on screen. Both times on one clock, the one of the run.
struct ShownPicture {
  TimePoint captured{};
  TimePoint shown{};  ///< on screen from then on
  media::PicturePtr picture{};
  /// A few words for the viewer of the film: "480x270, quantizer 34". May be empty.
  std::string note{};
};

/// What one viewer saw, picture by picture, in the order of `shown`.
/// Threads: none inside unless a kind says so; one owner.
class Feed {
 public:
  virtual ~Feed() = default;
  /// The next picture; nullopt at the end, then for ever. May throw what its maker throws.
  virtual std::optional<ShownPicture> poll() = 0;
};

/// The camera's own pictures, shown as they are captured: what a call without any delay would be.
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

/// The pictures of a maker that is not polled but runs through, such as a whole simulation: it runs
/// in a thread of its own and waits whenever it is kWaitingMax pictures ahead. So the runs of two
/// feeds go side by side in little memory; what they make does not depend on it.
/// Threads: the maker's; what it uses must be its own. Everything else is the owner's.
class ProducedFeed final : public Feed {
 public:
  /// Takes the next picture, in the order of `shown`. Call it in the maker's thread alone. Throws,
  /// through the maker, when nobody wants any more.
  using Show = std::function<void(ShownPicture)>;
  using Make = std::function<void(const Show& show)>;

  static constexpr size_t kWaitingMax = 4;

  explicit ProducedFeed(Make make);
  /// Stops the maker at its next picture and waits for it.
  ~ProducedFeed() override;

  /// Throws what the maker threw.
  std::optional<ShownPicture> poll() override;
  /// Lets the maker run to its end, without its pictures, and throws what it threw. For a maker
  /// whose results are wanted, too.
  void finish();

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

}  // namespace cress::film
