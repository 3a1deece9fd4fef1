#include <algorithm>
#include <stdexcept>
#include <utility>

#include "app/desktop/desktop_call.hh"
#include "app/live/kept_identity.hh"
#include "app/ui/model/format.hh"
#include "transport/runtime/own_address.hh"

namespace cress::desktop {
namespace {

using media::DeviceKind;
using ui::Screen;
using ui::Tone;

}  // namespace

void DesktopCall::act(const ui::StartListening&) {
  if (screen_ == Screen::kStart) {
    listen({});
  }
}

void DesktopCall::listen(const Address& bind) {
  if (leaving_) {
    after_leaving_ = [this, bind] { listen(bind); };
    return;
  }
  std::shared_ptr<live::ListeningLink> link;
  try {
    link = std::make_shared<live::ListeningLink>(bind, options_.link_file, settings_.relay);
  } catch (const std::runtime_error& error) {
    notify(Tone::kTrouble, sentence(error.what()));
    return;
  }
  if (!link->relay().empty()) {
    listen_at_relay(link);
    return;
  }
  if (!open_call(
          {.role = secure::Role::kListener, .secret = link->secret(), .bind = link->bind()})) {
    return;
  }
  wait_for_peer(*link, runtime::own_host(bind));
}

void DesktopCall::listen_at_relay(const std::shared_ptr<live::ListeningLink>& link) {
  look_up(link->relay(), [this, link](const std::vector<Address>& relays) {
    if (open_call({.role = secure::Role::kListener,
                   .secret = link->secret(),
                   .bind = link->bind(),
                   .relays = relays})) {
      wait_for_peer(*link, "");
    } else {
      show_screen(Screen::kStart);
    }
  });
}

/// The link to give away, and what is wrong with it.
void DesktopCall::wait_for_peer(live::ListeningLink& own, const std::string& host) {
  runtime::HiddenText text;
  std::string warning;
  try {
    text = secure::format_link(own.opened(host, live_->local_address().port));
    warning = own.warning();
  } catch (const std::runtime_error& error) {
    leave(Screen::kStart, "");
    notify(Tone::kTrouble, sentence(error.what()));
    return;
  }
  board_.change([&](ui::CallView& view) {
    view.link = text;
    view.link_warning = warning;
  });
  show_screen(Screen::kWaiting);
}

void DesktopCall::act(const ui::Join& wish) {
  if (screen_ != Screen::kStart && screen_ != Screen::kNewRoom) {
    return;
  }
  const auto link = secure::parse_link(wish.link.reveal().view());
  if (!link) {
    notify(Tone::kWarning, sentence(std::string{secure::describe(link.error())}));
    return;
  }
  look_up(secure::host_and_port(*link),
          [this, text = wish.link](const std::vector<Address>& found) { join(text, found); });
}

/// Asks the name server, while the screen is that of connecting.
void DesktopCall::look_up(const std::string& host_and_port,
                          std::function<void(const std::vector<Address>&)> found) {
  after_leaving_ = {};
  const uint64_t join_id = ++join_;
  const bool asked = errands_.look_up(
      host_and_port, [this, join_id, found = std::move(found)](const Errands::Answer& answer) {
        if (join_id != join_ || screen_ != Screen::kConnecting) {
          return;  // the person has thought better of it
        }
        if (answer.addresses.empty()) {
          show_screen(before_call());
          notify(Tone::kWarning, sentence(answer.error));
          return;
        }
        guarded([&] { found(answer.addresses); });
      });
  if (!asked) {
    notify(Tone::kWarning, "The name server does not answer; try again later.");
    return;
  }
  show_screen(Screen::kConnecting);
}

/// `text`: a link that can be parsed. Hidden until now, because a name server may be slow.
void DesktopCall::join(const runtime::HiddenText& text, const std::vector<Address>& addresses) {
  if (leaving_) {
    after_leaving_ = [this, text, addresses] { join(text, addresses); };
    return;
  }
  const secure::Link link = *secure::parse_link(text.reveal().view());
  const std::vector<Address> others(addresses.begin() + 1, addresses.end());
  const bool is_open =
      link.is_relayed
          ? open_call({.role = secure::Role::kJoiner, .secret = link.secret, .relays = addresses})
      : link.room.empty()
          ? open_call({.role = secure::Role::kJoiner,
                       .secret = link.secret,
                       .listener = addresses.front(),
                       .other_listeners = others})
          : open_room({.secret = link.secret, .relay = addresses.front(), .other_relays = others},
                      link);
  if (!is_open) {
    show_screen(before_call());
  }
}

live::LiveDevicesOptions DesktopCall::device_options() const {
  return {.camera = camera_options(),
          .microphone = microphone_options(),
          .speaker = {.id = shelf_.used(DeviceKind::kSpeaker)}};
}

void DesktopCall::set_outputs(live::LiveEndOutputs& outputs) {
  outputs.event = [this, call = call_ + 1](const live::LiveEvent& event) {
    handle_event(call, event);
  };
  outputs.own_picture = [this](const media::PicturePtr& picture) {
    camera_state_.worked = camera_state_.worked || !sharing_;
    // While the close is repeated the camera still runs.
    if ((!camera_off_ || sharing_) && screen_ != Screen::kEnded) {
      board_.change([&](ui::CallView& view) { view.own = {picture, clock_.now()}; });
    }
  };
}

/// Without one a restart of this program is a question to the other end.
std::vector<std::byte> DesktopCall::identity_secret() {
  std::vector<std::byte> secret;
  if (!options_.settings_path.empty()) {
    guarded([&] { secret = live::kept_identity(identity_path(options_.settings_path)); });
  }
  return secret;
}

bool DesktopCall::open_call(live::LiveCallOptions options) {
  options.replacement = secure::Replacement::kAsk;
  options.identity_secret = identity_secret();
  options.devices = device_options();
  options.person = person();
  options.prefer = options_.prefer;
  options.asks_router = options_.asks_router;
  live::LiveOutputs outputs;
  set_outputs(outputs);
  outputs.shown = [this](const app::ShownFrame& frame) {
    board_.change([&](ui::CallView& view) { view.remote = {frame.picture, frame.shown}; });
  };
  outputs.chat = [this](const std::string& line) { handle_chat(peer_name_, line); };
  return open([&] {
    auto call = std::make_unique<live::LiveCall>(clock_, loop_, options, outputs);
    pair_ = call.get();
    return call;
  });
}

/// `make`: the call or the room, of device_options() and set_outputs(). False: it cannot be, which
/// has been told.
bool DesktopCall::open(const std::function<std::unique_ptr<live::LiveEnd>()>& make) {
  preview_.reset();  // the call opens the same devices
  peer_name_.clear();
  peer_shares_ = false;
  camera_state_ = microphone_state_ = {};
  // A speaker does not report that it works.
  speaker_state_ = {.worked = shelf_.has_list() && !shelf_.is_missing(DeviceKind::kSpeaker)};
  ++call_;
  leaving_ = false;
  connected_at_.reset();
  used_camera_ = shelf_.used(DeviceKind::kCamera);
  used_microphone_ = shelf_.used(DeviceKind::kMicrophone);
  used_speaker_ = shelf_.used(DeviceKind::kSpeaker);
  try {
    live_ = make();
  } catch (const std::runtime_error& error) {
    notify(Tone::kTrouble, sentence(error.what()));
    open_preview();
    return false;
  }
  return true;
}

void DesktopCall::handle_event(uint64_t call, const live::LiveEvent& event) {
  if (call != call_) {
    return;
  }
  switch (event.kind) {
    case live::LiveEvent::Kind::kConnected:
      // The lines that waited belonged to the connection before.
      if (chat_.fail_waiting()) {
        show_chat();
      }
      if (room_ == nullptr) {  // otherwise the relay's welcome counts
        handle_connected(event.at);
      }
      return;
    case live::LiveEvent::Kind::kEnded:
      // Not inside this call: the caller is the call itself.
      loop_.post([this, call, words = event.words] {
        if (call == call_ && live_) {
          handle_ended(words);
          close_call();
        }
      });
      return;
    case live::LiveEvent::Kind::kDeviceLost:
      handle_device_lost(event.words);
      return;
    case live::LiveEvent::Kind::kDeviceBack:
      handle_device_back(event.words);
      return;
    case live::LiveEvent::Kind::kDeviceRefused:
      notify(Tone::kWarning, sentence(event.words));
      loop_.post([this] { act(ui::StopSharing{}); });  // not inside this call: it closes its caller
      return;
    case live::LiveEvent::Kind::kNewcomerWaits:
    case live::LiveEvent::Kind::kNewcomerGone:
      board_.change([this](ui::CallView& view) { view.newcomer = pair_->newcomer(); });
      return;
    case live::LiveEvent::Kind::kNotice:
      notify(Tone::kNote, sentence(event.words));
      return;
    case live::LiveEvent::Kind::kUnreachable:
    case live::LiveEvent::Kind::kReachable:
    case live::LiveEvent::Kind::kPathChanged:
      return;  // PlainWords displays what matters of it
  }
}

void DesktopCall::handle_connected(TimePoint at) {
  if (leaving_) {
    return;
  }
  if (!is_in_call()) {
    connected_at_ = at;
    shown_.clear();
  }
  health_ = {};
  has_new_room_ = false;
  board_.change([this](ui::CallView& view) {
    view.remote = {};
    view.peer = {};
    view.connected_at = connected_at_;
  });
  show_screen(Screen::kInCall);
}

std::string DesktopCall::reason_of(const std::string& words) const {
  std::string reason = sentence(words);
  if (words == secure::describe(secure::CloseReason::kPeerHungUp) && !peer_name_.empty()) {
    reason = sentence(ui::short_name(peer_name_) + " hung up");
  }
  if (connected_at_) {
    reason += room_ != nullptr ? " You were there for " : " The call lasted ";
    reason += ui::format_clock(clock_.now() - *connected_at_) + ".";
  }
  return reason;
}

/// The call is over, and not because this end wanted it so.
void DesktopCall::handle_ended(const std::string& words) {
  if (std::exchange(leaving_, true)) {
    return;
  }
  if (has_new_room_) {
    // Its link must not be lost, only because the relay does not know it yet.
    notify(Tone::kWarning,
           words == secure::describe(secure::CloseReason::kWrongSecret)
               ? "The relay does not know this room yet: its operator must add it first."
               : sentence(words));
    show_screen(Screen::kNewRoom);
    return;
  }
  show_screen(Screen::kEnded, reason_of(words));
}

/// Nothing is left to be said to the other end.
void DesktopCall::close_call() {
  guarded([this] { live_->finish(); });
  live_.reset();
  pair_ = nullptr;
  room_ = nullptr;
  scene_.reset();
  leaving_ = false;
  ++call_;
  if (quitting_) {
    quitter_.arm(clock_.now());
  } else if (const auto next = std::exchange(after_leaving_, {})) {
    next();
  } else if (screen_ == Screen::kStart || screen_ == Screen::kNewRoom) {
    open_preview();
  }
}

/// Says good-bye; the window need not wait for it.
void DesktopCall::leave(Screen next, const std::string& reason) {
  if (live_ && !std::exchange(leaving_, true)) {
    live_->hang_up();
  }
  show_screen(next, reason);
  if (!live_ && (next == Screen::kStart || next == Screen::kNewRoom)) {
    open_preview();
  }
}

void DesktopCall::act(const ui::AdmitNewcomer& answer) {
  if (pair_ != nullptr) {
    pair_->admit(answer.code);
  }
}

void DesktopCall::act(const ui::RefuseNewcomer&) {
  if (pair_ != nullptr) {
    pair_->refuse();
  }
}

void DesktopCall::act(const ui::HangUp&) {
  if (is_in_call()) {
    leave(Screen::kEnded, reason_of("you hung up"));
  } else if (screen_ == Screen::kWaiting || screen_ == Screen::kConnecting) {
    ++join_;
    after_leaving_ = {};
    leave(before_call(), "");
  }
}

void DesktopCall::act(const ui::BackToStart&) {
  if (screen_ == Screen::kNewRoom) {
    has_new_room_ = false;
    show_screen(Screen::kStart);
  } else if (screen_ == Screen::kEnded) {
    leave(Screen::kStart, "");
  }
}

void DesktopCall::act(const ui::Quit&) {
  if (std::exchange(quitting_, true)) {
    return;
  }
  after_leaving_ = {};
  if (live_) {
    leave(screen_, "");
  }
  quitter_.arm(clock_.now() + (live_ ? kQuitMax : Duration{}));
}

}  // namespace cress::desktop
