#include "app/desktop/desktop_call.hh"

#include <algorithm>
#include <utility>
#include <variant>

#include "app/ui/model/format.hh"

namespace cress::desktop {
namespace {

using media::DeviceKind;
using ui::Screen;
using ui::Tone;

// How often loudness is read; every second time the numbers of the call too (5 per second).
constexpr Duration kTick = 100ms;
// After this many unexpected errors the call's thread ends.
constexpr int kSurprisesMax = 10;

float dbfs(double level) {
  return level <= media::kSilenceDbfs ? ui::kSilenceDbfs : static_cast<float>(level);
}

}  // namespace

DesktopCall::DesktopCall(const runtime::MonotonicClock& clock, DesktopCallOptions options)
    : clock_(clock),
      options_(std::move(options)),
      loop_(clock),
      errands_(loop_, options_.look_up),
      ticker_(loop_, [this] { tick(); }),
      quitter_(loop_, [this] {
        has_quit_ = true;
        board_.change([](ui::CallView&) {});
      }) {
  const LoadedSettings loaded = load_settings(options_.settings_path);
  keeper_ = std::make_unique<SettingsKeeper>(
      loaded.must_not_save ? std::filesystem::path{} : options_.settings_path,
      [this](const std::string& words) {
        errands_.post([this, words] { notify(Tone::kWarning, sentence(words)); });
      });
  begin(loaded);
  thread_ = std::thread{[this] { run(); }};
}

DesktopCall::~DesktopCall() {
  handle(ui::Quit{});
  const TimePoint most = clock_.now() + kQuitMax;
  while (!has_quit_ && clock_.now() < most) {
    board_.view();
    wait_for_news(most);
  }
  loop_.stop();
  thread_.join();
  if (watch_opener_.joinable()) {
    watch_opener_.join();
  }
}

void DesktopCall::run() {
  bool again = true;
  while (again) {
    try {
      loop_.run();
      again = false;
    } catch (const std::exception& error) {
      guarded([&] {
        ++surprises_;
        again = surprises_ < kSurprisesMax;
        if (live_) {
          handle_ended(error.what());
          close_call();
        } else {
          notify(Tone::kTrouble, sentence(error.what()));
        }
      });
    }
  }
  preview_.reset();
  live_.reset();
  if (watch_) {
    loop_.forget(watch_->ready_fd());
  }
  has_quit_ = true;
  board_.change([](ui::CallView&) {});
}

/// What a person asked for must not end the program.
void DesktopCall::guarded(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    notify(Tone::kTrouble, sentence(error.what()));
  }
}

std::string DesktopCall::path_words(const live::LiveSample& sample) const {
  if (!sample.connected || room_ != nullptr) {
    return room_ != nullptr ? "Through the relay" : "";
  }
  return std::string{sample.is_relayed ? "Through the relay" : "Direct"} +
         (sample.is_ipv6 ? ", IPv6" : "");
}

void DesktopCall::begin(const LoadedSettings& loaded) {
  settings_ = loaded.settings;
  settings_.relay = options_.relay.value_or(settings_.relay);
  name_ = app::clean_name(options_.name.value_or(settings_.name));
  shelf_.choose(DeviceKind::kCamera, options_.camera.value_or(settings_.camera));
  shelf_.choose(DeviceKind::kMicrophone, options_.microphone.value_or(settings_.microphone));
  shelf_.choose(DeviceKind::kSpeaker, options_.speaker.value_or(settings_.speaker));
  board_.change([this](ui::CallView& view) {
    view.theme = settings_.theme;
    view.self.name = name_;
    view.relay = settings_.relay;
  });
  if (loaded.notice) {
    notify(Tone::kWarning, *loaded.notice);
  }
  ticker_.arm(clock_.now() + kTick);
  watch_opener_ = std::thread{[this] { open_device_watch(); }};
  if (options_.listen) {
    loop_.post([this] { guarded([this] { listen(*options_.listen); }); });
  } else if (!options_.join.empty()) {
    handle(ui::Join{options_.join});
  }
}

void DesktopCall::handle(const ui::UserAction& action) {
  loop_.post([this, action] {
    guarded([&] { std::visit([this](const auto& one) { act(one); }, action); });
  });
}

void DesktopCall::act(const ui::ChooseRelay& choice) {
  if (choice.relay.size() <= kRelayMax) {
    settings_.relay = choice.relay;
    keeper_->save(settings_);
    board_.change([&](ui::CallView& view) { view.relay = choice.relay; });
  }
}

void DesktopCall::act(const ui::ChooseTheme& choice) {
  settings_.theme = choice.theme;
  keeper_->save(settings_);
  board_.change([&](ui::CallView& view) { view.theme = choice.theme; });
}

void DesktopCall::act(const ui::SetFullScreen& wish) {
  board_.change([&](ui::CallView& view) { view.full_screen = wish.on; });
}

void DesktopCall::act(const ui::DismissNotice& notice) {
  notices_.dismiss(notice.id);
  show_notices();
}

void DesktopCall::tick() {
  const TimePoint now = clock_.now();
  ticker_.arm(now + kTick);
  if (notices_.update(now)) {
    show_notices();
  }
  double microphone = std::exchange(preview_dbfs_, media::kSilenceDbfs);
  double speaker = media::kSilenceDbfs;
  if (live_) {
    const live::LiveSample sample = live_->sample();
    microphone = sample.microphone_dbfs;
    speaker = sample.speaker_dbfs;
    microphone_state_.worked = microphone_state_.worked || microphone > media::kSilenceDbfs;
    if (is_in_call() && ++ticks_ % 2 == 0) {
      sample_call(sample);
    }
    show_waiting(sample);
  }
  board_.change([&](ui::CallView& view) {
    view.microphone_dbfs = dbfs(microphone);
    view.speaker_dbfs = dbfs(speaker);
  });
}

/// The other end has let us wait for a while: it asks its user.
void DesktopCall::show_waiting(const live::LiveSample& sample) {
  constexpr Duration kSoon = 1s;
  if (screen_ != Screen::kConnecting || pair_ == nullptr || sample.connected ||
      sample.code.empty()) {
    waiting_since_.reset();
    return;
  }
  waiting_since_ = waiting_since_.value_or(clock_.now());
  if (clock_.now() - *waiting_since_ >= kSoon) {
    board_.change([&](ui::CallView& view) {
      view.status = {"The other person is in a call and may let you in. Code " + sample.code + ".",
                     Tone::kNote};
    });
  }
}

void DesktopCall::sample_call(const live::LiveSample& sample) {
  CallCircumstances now{.muted = muted_ && !talking_,
                        .camera_off = camera_off_ && !sharing_,
                        .camera_lost = camera_state_.lost && camera_state_.worked,
                        .microphone_lost = microphone_state_.lost && microphone_state_.worked,
                        .speaker_lost = speaker_state_.lost && speaker_state_.worked};
  if (room_ != nullptr) {
    sample_room(now);
  } else {
    sample_peer(now);
  }
  settle_chat(sample.connected);
  health_.add(sample, now);
  note_shown();
  board_.change([&](ui::CallView& view) {
    view.health = health_.health();
    view.history = health_.history();
    view.status = health_.status();
    view.code = sample.code;
    view.path = path_words(sample);
  });
}

void DesktopCall::sample_peer(CallCircumstances& now) {
  const app::PersonState peer = pair_->peer().value_or(app::PersonState{.name = peer_name_});
  if (peer.shares_screen && !peer_shares_) {
    notify(Tone::kNote, (peer.name.empty() ? "The other person" : ui::short_name(peer.name)) +
                            " shares a screen.");
  }
  peer_shares_ = peer.shares_screen;
  now.peer_name = peer_name_ = peer.name;
  board_.change([&](ui::CallView& view) {
    view.peer = {.name = peer.name,
                 .muted = peer.muted,
                 .camera_off = peer.camera_off,
                 .shares_screen = peer.shares_screen};
  });
}

void DesktopCall::notify(Tone tone, const std::string& text) {
  notices_.add(clock_.now(), tone, text);
  show_notices();
}

void DesktopCall::show_notices() {
  board_.change([this](ui::CallView& view) { view.notices = notices_.all(); });
}

void DesktopCall::show_screen(Screen screen, const std::string& ended_reason) {
  const bool over = is_in_call() && screen != Screen::kInCall;
  screen_ = screen;
  if (screen != Screen::kInCall) {
    chat_.clear();
  }
  if (over) {
    sharing_ = false;
    talking_ = false;
    shelf_.choose(DeviceKind::kScreen, "");
    show_devices();
    tell_person();
  }
  board_.change([&](ui::CallView& view) {
    view.screen = screen;
    view.ended_reason = ended_reason;
    if (screen == Screen::kStart || screen == Screen::kEnded) {
      view.new_room = {};
      view.link.clear();
      view.remote = {};
      view.peer = {};
      if (view.room) {
        view.room = screen == Screen::kEnded ? std::optional{ui::Room{.name = view.room->name}}
                                             : std::nullopt;
      }
      view.connected_at.reset();
      view.status = {};
      view.history.clear();
      view.health = {};
      view.code.clear();
      view.newcomer.clear();
      view.chat.reset();
      view.path.clear();
      view.link_warning.clear();
    }
    if (screen == Screen::kEnded) {
      view.own = {};
      view.full_screen = false;
    }
  });
}

}  // namespace cress::desktop
