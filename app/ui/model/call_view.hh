#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ui/model/history.hh"
#include "app/ui/model/link_health.hh"
#include "app/ui/model/plain_words.hh"
#include "media/frame/picture.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/process/hidden_text.hh"

namespace cress::ui {

/// Everything to be drawn, as plain data. The code that fills it knows the call; the Window that
/// draws it does not. Times are on the clock of Window::draw's `now`.

enum class Screen {
  kStart,       ///< paste a link, or start a call
  kNewRoom,     ///< make a room; then `link` and `new_room` are what others need
  kWaiting,     ///< listening; `link` is what the other person needs
  kConnecting,  ///< joining by a link
  kInCall,
  kEnded,  ///< `ended_reason` says why
};

enum class ThemeChoice { kDark, kLight };

enum class DeviceKind { kCamera, kMicrophone, kSpeaker, kScreen };

struct Device {
  std::string id;    ///< stable; identifies a choice
  std::string name;  ///< for display
  friend bool operator==(const Device&, const Device&) = default;
};

struct Devices {
  std::vector<Device> all;
  /// An id of `all`; for screens: the shared one. Empty: none.
  std::string chosen;
  friend bool operator==(const Devices&, const Devices&) = default;
};

/// I420 in the limited range of ITU-R BT.601, as VP8 defines its colours (RFC 6386 §9.2). A new
/// picture is a new pointer; pictures in use are immutable.
struct ShownPicture {
  media::PicturePtr picture;
  /// When it was captured, if known: its age is displayed when it freezes.
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
  uint64_t id = 0;  ///< identifies it in DismissNotice
  Tone tone = Tone::kNote;
  std::string text;
  friend bool operator==(const Notice&, const Notice&) = default;
};

/// Level of an audio frame in dBFS (0: full scale); silence is -infinity.
inline constexpr float kSilenceDbfs = -std::numeric_limits<float>::infinity();

/// The newest notices that are drawn; more would hide the call.
inline constexpr size_t kNoticesShown = 3;

/// A line of text chat.
struct ChatLine {
  enum class State {
    kThere,    ///< the others' lines; of the own ones, those that arrived
    kWaiting,  ///< not known to have arrived
    kFailed,   ///< not sent, or lost with the connection
  };
  uint64_t id = 0;  ///< grows from line to line
  bool is_own = false;
  std::string writer{};  ///< of another's: its name, if it has one
  std::string text{};
  State state = State::kThere;
  friend bool operator==(const ChatLine&, const ChatLine&) = default;
};
/// A change is a new pointer; null: nobody has written anything.
using ChatLines = std::shared_ptr<const std::vector<ChatLine>>;
/// Bytes of what is written in one line.
inline constexpr size_t kChatBytesMax = 900;

/// Another member of a room.
struct Member {
  uint32_t number = 0;  ///< not 0; identifies it in Pin
  Person person{};
  ShownPicture picture{};
  float level_dbfs = kSilenceDbfs;  ///< in coarse steps, because each change causes a redraw
  std::string key_code{};           ///< shown while the panel is open; empty: not known
  bool is_distrusted = false;       ///< nothing of it is shown any more
  friend bool operator==(const Member&, const Member&) = default;
};

/// A room at a relay. Numbers are those of `others`, or 0 for none.
struct Room {
  std::string name{};
  std::string key_code{};        ///< own
  std::vector<Member> others{};  ///< as they were identified; who returns keeps the place
  uint32_t speaker = 0;
  bool self_speaks = false;
  uint32_t pinned = 0;
  uint32_t large = 0;  ///< the member displayed large: pinned, or sharing a screen
  /// The most video that the relay can use from us; nullopt: not known yet.
  std::optional<DataRate> video_wanted{};
  friend bool operator==(const Room&, const Room&) = default;
};

/// A room that is being made here.
struct NewRoom {
  std::string name_error{};   ///< next to the field of its name; empty: nothing is wrong
  std::string relay_error{};  ///< likewise
  std::string name{};         ///< empty: not made yet
  std::string access{};       ///< what the relay's operator needs
  friend bool operator==(const NewRoom&, const NewRoom&) = default;
};

struct CallView {
  Screen screen = Screen::kStart;
  ThemeChoice theme = ThemeChoice::kDark;
  bool full_screen = false;

  /// While waiting, in a call or room made here, and in a room: the link that others need to join.
  runtime::HiddenText link;
  /// A sentence about who cannot use that link; empty: everybody can.
  std::string link_warning;
  NewRoom new_room;
  /// HOST:PORT of the relay at which calls begin; empty: none.
  std::string relay;
  std::string ended_reason;  ///< ended: a readable sentence
  std::optional<TimePoint> connected_at;

  Person self;
  /// The other person of a call of two.
  Person peer;
  /// The session's code: equal at both ends if nobody is in between; shown while the panel is open.
  std::string code;
  /// While the other person is silent: the code of a newcomer's session, which has the link and
  /// waits for AdmitNewcomer or RefuseNewcomer. Empty: nobody waits.
  std::string newcomer;
  /// How a call's datagrams travel, in plain words; shown in the panel.
  std::string path;
  ShownPicture remote;
  /// In a room all the others are here instead of in `peer`. After the end: the room without
  /// members.
  std::optional<Room> room;
  ShownPicture own;
  /// Muted, but audible while Space is held down.
  bool push_to_talk = false;
  float microphone_dbfs = kSilenceDbfs;  ///< the local microphone
  float speaker_dbfs = kSilenceDbfs;     ///< the others' audio

  Devices cameras;
  Devices microphones;
  Devices speakers;
  Devices screens;

  /// Oldest first; the code that fills it bounds it.
  ChatLines chat;

  /// The sentence of PlainWords; drawn over the video unless its tone is kGood.
  StatusLine status;
  /// Oldest first; the newest kNoticesShown are drawn.
  std::vector<Notice> notices;

  /// For the live panel only: no redraw for these while it is closed.
  LinkHealth health;
  History history;
};

}  // namespace cress::ui
