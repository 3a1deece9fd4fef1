#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/call/audio_receiver.hh"
#include "app/call/control_message.hh"
#include "app/call/decode_work.hh"
#include "app/call/encode_work.hh"
#include "app/call/video_sender.hh"
#include "media/frame/picture.hh"
#include "media/source/audio_source.hh"
#include "transport/base/machine.hh"
#include "transport/secure/connection.hh"
#include "transport/session/endpoint.hh"

namespace cress::live {

/// The machine that a LiveEnd steps: security and media of a call (SecureCall) or of a room
/// (SecureRoom), still without I/O: a Driver steps it over a socket, a test over a simulated link.
/// While no peer is connected, video and audio are discarded. Threads: none inside; one owner.
/// `now` never goes back. Peer data: unauthenticated data never reaches the media.
class LiveMachine : public Machine {
 public:
  /// A picture of the own camera, of the size in the options. Call only after the previous
  /// picture's EncodeWork, if any, has been returned.
  virtual void capture(TimePoint now, const media::PicturePtr& picture) = 0;
  /// If the machine hands out its encoding: the picture just captured, to be encoded in another
  /// thread and returned to handle_encoded. Null: none.
  virtual std::shared_ptr<app::EncodeWork> poll_encode_work() = 0;
  /// Work from poll_encode_work that has been run, with any delay: no effect if its session is
  /// over.
  virtual void handle_encoded(TimePoint now, app::EncodeWork& work) = 0;
  /// 20 ms of the own microphone.
  virtual void capture_sound(TimePoint now, const media::AudioFrame& samples) = 0;
  /// The next 20 ms for the loudspeaker; silence while no peer is connected.
  virtual app::PlayedAudio play(TimePoint now) = 0;
  /// The state of this person: sent at once, and to every later peer.
  virtual void set_person(TimePoint now, app::PersonState person) = 0;
  /// Text for the other end, or for the members present. False: nothing to say, too fast, too much
  /// waits, or nobody is connected.
  virtual bool send_chat(TimePoint now, std::string_view text) = 0;
  /// Own lines that have not arrived yet; 0 with each new connection.
  virtual size_t chat_waiting() const = 0;
  /// Of our own socket, the most likely first, for a direct path past a relay. Before
  /// handle_network_change.
  virtual void set_local_addresses(TimePoint /*now*/, const std::vector<Address>& /*addresses*/) {}
  /// The machine's addresses changed, or it resumed from suspend.
  virtual void handle_network_change(TimePoint now) = 0;
  void handle_ecn(Ecn ecn) final { ecn_ = ecn; }
  /// Keep polling until is_finished().
  virtual void hang_up(TimePoint now) = 0;
  virtual std::optional<app::CodedVideo> poll_coded() = 0;
  /// If the machine hands out its decoding: a received frame to be decoded in another thread, the
  /// same for all frames, and returned to handle_decoded. At most VideoReceiver::kWorkMax frames of
  /// each sender are out. Null: none, for now.
  virtual std::shared_ptr<app::DecodeWork> poll_decode_work() = 0;
  /// Work from poll_decode_work that has been run, in that order, with any delay: no effect if its
  /// sender has gone meanwhile.
  virtual void handle_decoded(TimePoint now, const app::DecodeWork& work) = 0;

  virtual const secure::Connection& connection() const = 0;
  /// Nothing is left to send.
  virtual bool is_finished() const = 0;
  /// Null while no peer is connected.
  virtual const session::Endpoint* endpoint() const = 0;
  /// The share (0..1) of own messages recently lost in the network.
  virtual double loss() const = 0;
  /// In a call of two: secure::Connection::code.
  virtual std::string code() const { return ""; }
  /// The other end's report about the link to here; a relay sends none.
  virtual std::optional<app::LinkReport> peer_link() const { return std::nullopt; }

  /// `take` is called when there may be outputs to take. Set before the first step.
  void on_drained(std::function<void(TimePoint now)> take) { take_ = std::move(take); }
  bool drained(TimePoint now) final {
    if (take_) {
      take_(now);
    }
    return take_ != nullptr;
  }

 protected:
  /// Of the IP packet that is handled.
  Ecn ecn() const { return ecn_; }
  /// `transmit` as the endpoint, if there is one, wants its IP packets.
  std::optional<Transmit> marked(TimePoint now, std::optional<Transmit> transmit) const {
    if (transmit && endpoint() != nullptr) {
      transmit->ecn = endpoint()->ecn(now);
    }
    return transmit;
  }

 private:
  std::function<void(TimePoint)> take_;
  Ecn ecn_ = Ecn::kNotEct;
};

}  // namespace cress::live
