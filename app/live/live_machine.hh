#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "app/call/audio_receiver.hh"
#include "app/call/control_message.hh"
#include "app/call/video_sender.hh"
#include "media/frame/picture.hh"
#include "media/source/audio_source.hh"
#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"
#include "transport/session/endpoint.hh"

namespace cress::live {

/// What a LiveEnd steps: security and media of a call (SecureCall) or of a room (SecureRoom), still
/// without I/O: a Driver steps it over a socket, a test over a simulated link. While nobody is
/// there pictures and sounds go nowhere. Threads: none inside; one owner. `now` never goes back.
/// Peer data: nothing unauthenticated reaches the media.
class LiveMachine : public Machine {
 public:
  /// A picture of the own camera, of the size that the options name.
  virtual void capture(TimePoint now, const media::PicturePtr& picture) = 0;
  /// 20 ms of the own microphone.
  virtual void capture_sound(TimePoint now, const media::AudioFrame& samples) = 0;
  /// The next 20 ms for the loudspeaker; silence while nobody is there.
  virtual app::PlayedAudio play(TimePoint now) = 0;
  /// What is told of this person: at once, and to whoever comes later.
  virtual void set_person(TimePoint now, app::PersonState person) = 0;
  /// The machine's addresses changed, or it woke from sleep.
  virtual void handle_network_change(TimePoint now) = 0;
  /// Poll on until is_finished().
  virtual void hang_up(TimePoint now) = 0;
  virtual std::optional<app::CodedVideo> poll_coded() = 0;

  virtual const secure::Connection& connection() const = 0;
  /// Nothing left to say.
  virtual bool is_finished() const = 0;
  /// Null while nobody is there.
  virtual const session::Endpoint* endpoint() const = 0;
  /// The share (0..1) of own messages that the network lost lately.
  virtual double loss() const = 0;
  /// What the other end says of the link to here; a relay says nothing.
  virtual std::optional<app::LinkReport> peer_link() const { return std::nullopt; }

  /// Who takes the outputs hears here when there may be some. Before the first step.
  void on_drained(std::function<void(TimePoint now)> take) { take_ = std::move(take); }
  bool drained(TimePoint now) final {
    if (take_) {
      take_(now);
    }
    return take_ != nullptr;
  }

 private:
  std::function<void(TimePoint)> take_;
};

}  // namespace cress::live
