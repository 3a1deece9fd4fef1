#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/history.hh"
#include "app/ui/model/link_health.hh"
#include "app/ui/model/plain_words.hh"
#include "media/frame/picture.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::ui {

/// All there is to draw, as plain data: who makes it knows the call, who draws it (Window) knows
/// none. Times are on the clock whose `now` Window::draw is given.

enum class Screen {
  kStart,       ///< paste a link, or start a call
  kWaiting,     ///< listening; `link` is what the other person needs
  kConnecting,  ///< joining by a link
  kInCall,
  kEnded,  ///< `ended_reason` says why
};

enum class ThemeChoice { kDark, kLight };

enum class DeviceKind { kCamera, kMicrophone, kSpeaker, kScreen };

struct Device {
  std::string id;    ///< stable; what a choice is told by
  std::string name;  ///< for people
  friend bool operator==(const Device&, const Device&) = default;
};

struct Devices {
  std::vector<Device> all;
  /// An id of `all`; of a screen: the one that is shared. Empty: none.
  std::string chosen;
  friend bool operator==(const Devices&, const Devices&) = default;
};

/// I420 in the limited range of ITU-R BT.601, as VP8 defines its colours (RFC 6386 §9.2). A new
/// picture is a new pointer; nobody changes one that is shown.
struct ShownPicture {
  media::PicturePtr picture;
  /// When it was captured, as far as known: how old it is is said when it stands still.
  std::optional<TimePoint> captured_at;
  friend bool operator==(const ShownPicture&, const ShownPicture&) = default;
};

struct Person {
  std::string name{};
  bool muted = false;
  bool camera_off = false;
  bool shares_screen = false;
  friend bool operator==(const Person&, const Person&) = default;
};

struct Notice {
  uint64_t id = 0;  ///< what DismissNotice names
  Tone tone = Tone::kNote;
  std::string text;
  friend bool operator==(const Notice&, const Notice&) = default;
};

/// Of a frame of sound: dB below full scale; silence is -infinity.
inline constexpr float kSilenceDbfs = -std::numeric_limits<float>::infinity();

/// The newest notices that are drawn; more would hide the call.
inline constexpr size_t kNoticesShown = 3;

/// Another member of a room.
struct Member {
  uint32_t number = 0;  ///< not 0; what Pin names
  Person person{};
  ShownPicture picture{};
  float level_dbfs = kSilenceDbfs;  ///< in coarse steps: each is a reason to redraw
  friend bool operator==(const Member&, const Member&) = default;
};

/// A room at a relay. Numbers are those of `others`, or 0 for nobody.
struct Room {
  std::string name{};
  std::vector<Member> others{};  ///< in the order in which they came
  uint32_t speaker = 0;
  bool self_speaks = false;
  uint32_t pinned = 0;
  uint32_t large = 0;  ///< who is shown large: pinned, or shares a screen
  /// No more video of ours than this is of use to anybody, says the relay; nothing yet: not heard.
  std::optional<DataRate> video_wanted{};
  friend bool operator==(const Room&, const Room&) = default;
};

struct CallView {
  Screen screen = Screen::kStart;
  ThemeChoice theme = ThemeChoice::kDark;
  bool full_screen = false;

  /// Waiting, in a call that was started here, and in a room: what others need to come too.
  std::string link;
  std::string ended_reason;  ///< ended: a sentence in plain words
  std::optional<TimePoint> connected_at;

  Person self;
  /// The other person of a call of two.
  Person peer;
  ShownPicture remote;
  /// In a room all the others are here, not above. Ended: the room that it was, without anybody.
  std::optional<Room> room;
  ShownPicture own;
  /// Muted, but Space is held down: heard for now.
  bool push_to_talk = false;
  float microphone_dbfs = kSilenceDbfs;  ///< of oneself
  float speaker_dbfs = kSilenceDbfs;     ///< of the others

  Devices cameras;
  Devices microphones;
  Devices speakers;
  Devices screens;

  /// What PlainWords says; drawn over the picture unless its tone is kGood.
  StatusLine status;
  /// Oldest first; the newest kNoticesShown are drawn.
  std::vector<Notice> notices;

  /// For the live panel only: a closed panel does not redraw for them.
  LinkHealth health;
  History history;
};

}  // namespace cress::ui
