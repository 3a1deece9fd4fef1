#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "app/desktop/desktop_call.hh"
#include "media/devices/devices.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/loop_test_tools.hh"

namespace cress::desktop {

using runtime::kPatience;

/// A person with a test picture and a test tone, without a speaker.
inline DesktopCallOptions test_devices(const std::string& name) {
  DesktopCallOptions options;
  options.name = name;
  options.camera = media::kTestDevice;
  options.microphone = media::kTestDevice;
  options.speaker = media::kNoSpeaker;
  options.camera_size = {320, 180};
  options.camera_rate = {15, 1};
  return options;
}

/// The same, listening at once.
inline DesktopCallOptions test_listener(const std::string& name) {
  DesktopCallOptions options = test_devices(name);
  options.listen = *runtime::parse_address("127.0.0.1:0");
  return options;
}

/// The link that is shown.
inline std::string link_of(const ui::CallView& view) {
  return std::string{view.link.reveal().view()};
}

/// Null if there is no such member.
inline const ui::Member* member_named(const ui::CallView& view, const std::string& name) {
  if (!view.room) {
    return nullptr;
  }
  const auto& others = view.room->others;
  const auto at = std::ranges::find(others, name, [](const auto& m) { return m.person.name; });
  return at == others.end() ? nullptr : &*at;
}

/// One end without a window.
class Desk {
 public:
  Desk(const runtime::MonotonicClock& clock, const DesktopCallOptions& options)
      : clock_(clock), call_(std::make_unique<DesktopCall>(clock, options)) {}

  /// Waits until the view meets `wanted`, and returns whether it does.
  bool sees(const std::function<bool(const ui::CallView&)>& wanted, Duration most = kPatience) {
    const TimePoint end = clock_.now() + most;
    while (clock_.now() < end) {
      view_ = call_->view();
      if (wanted(view_)) {
        return true;
      }
      call_->wait_for_news(std::min(end, clock_.now() + 50ms));
    }
    return false;
  }
  bool is_on(ui::Screen screen) {
    return sees([screen](const ui::CallView& view) { return view.screen == screen; });
  }
  bool is_told(const std::string& words) {
    return sees([&](const ui::CallView& view) {
      return std::ranges::any_of(view.notices, [&](const ui::Notice& notice) {
        return notice.text.find(words) != std::string::npos;
      });
    });
  }
  /// Waits for this many different frames.
  bool sees_moving(ui::ShownPicture ui::CallView::*which, size_t count = 8) {
    return sees_many([which](const ui::CallView& view) { return (view.*which).picture; }, count);
  }
  bool sees_member_moving(const std::string& name, size_t count = 8) {
    return sees_many(
        [&](const ui::CallView& view) {
          const ui::Member* member = member_named(view, name);
          return member != nullptr ? member->picture.picture : nullptr;
        },
        count);
  }
  /// Waits until a member of that name meets the condition.
  bool sees_member(const std::string& name,
                   const std::function<bool(const ui::Member&)>& wanted = {}) {
    return sees([&](const ui::CallView& view) {
      const ui::Member* member = member_named(view, name);
      return member != nullptr && (!wanted || wanted(*member));
    });
  }
  /// Waits until the view has met `wanted` for so long without a break.
  bool stays(const std::function<bool(const ui::CallView&)>& wanted, Duration length) {
    TimePoint since = clock_.now();
    return sees([&](const ui::CallView& view) {
      since = wanted(view) ? since : clock_.now();
      return clock_.now() - since >= length;
    });
  }
  /// The test tone pauses for less than a second.
  bool hears_nothing_for(Duration length) {
    return stays([](const ui::CallView& view) { return view.speaker_dbfs < -60; }, length);
  }
  void ask(const ui::UserAction& action) { call_->handle(action); }
  void close() { call_.reset(); }
  DesktopCall& call() { return *call_; }
  const ui::CallView& view() const { return view_; }

 private:
  bool sees_many(const std::function<media::PicturePtr(const ui::CallView&)>& picture_of,
                 size_t count) {
    std::set<media::PicturePtr> pictures;
    return sees([&](const ui::CallView& view) {
      if (const auto picture = picture_of(view)) {
        pictures.insert(picture);
      }
      return pictures.size() >= count;
    });
  }

  const runtime::MonotonicClock& clock_;
  std::unique_ptr<DesktopCall> call_;
  ui::CallView view_;
};

}  // namespace cress::desktop
