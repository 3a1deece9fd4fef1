#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/call/call_receiver.hh"
#include "app/call/call_sender.hh"
#include "app/call/chat.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

struct CallOptions {
  session::EndpointOptions endpoint;
  /// How this end's camera is encoded; empty: this end only receives.
  std::optional<VideoSenderOptions> video;
  /// Whether the part of the window that a frame leaves unused is filled with padding: for Sprout,
  /// whose belief interprets a tick with few arrivals as a slow link, even if the sender had little
  /// to send. Cress does not need it.
  bool pads_window = false;
  /// Whether a small frame is sent occasionally while the window is closed, since a forecast may be
  /// wrong.
  bool trickles = true;
  MotionTrade trade{};
  /// A sound card sets the pace: audio is taken by play() whenever it asks, not by poll_played().
  bool paced_by_sound_card = false;
  /// Pictures are handed out by poll_encode_work instead of being encoded at once,
  bool hands_out_encoding = false;
  /// frames by poll_decode_work instead of being decoded at once.
  bool hands_out_decoding = false;
};

/// One end of a call of two, without I/O: a session, the media sent over it (CallSender) and the
/// media received (CallReceiver). After each handle_* and verb poll transmit, coded, shown and
/// played until empty, then sleep until poll_timeout. Threads: none inside; one owner; pictures may
/// be encoded and frames decoded in others (CallOptions::hands_out_...). `now` never goes back.
class Call {
 public:
  Call(TimePoint start, CallOptions options, std::unique_ptr<control::Control> control);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// See CallSender.
  void capture(TimePoint now, const media::PicturePtr& picture);
  std::shared_ptr<EncodeWork> poll_encode_work() { return sender_.poll_encode_work(); }
  void handle_encoded(TimePoint now, EncodeWork& work);
  /// 20 ms of the own microphone; the last sample was captured just now.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram,
                                                Ecn ecn = Ecn::kNotEct);
  void handle_timeout(TimePoint now);
  /// See VideoReceiver.
  void handle_decoded(TimePoint now, const DecodeWork& work);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  TimePoint poll_timeout() const;

  /// The outcome of each captured picture, in order.
  std::optional<CodedVideo> poll_coded();
  std::optional<ShownFrame> poll_shown();
  /// See VideoReceiver.
  std::shared_ptr<DecodeWork> poll_decode_work() { return receiver_.poll_decode_work(); }
  /// Every 20 ms from the first audio on.
  std::optional<PlayedAudio> poll_played();
  /// The next 20 ms for the loudspeaker, now.
  PlayedAudio play(TimePoint now);

  /// The state of this person that is sent to the other end: at once and then once a second.
  void set_person(TimePoint now, PersonState person);
  /// Text for the other person. False: nothing to say, too fast, or too much waits.
  bool send_chat(TimePoint now, std::string_view text);
  /// Own lines that the other end is not known to have.
  size_t chat_waiting() const { return chat_sender_.waiting(); }
  std::optional<std::string> poll_chat() { return chat_receiver_.poll(); }
  /// The last state received of the other person; nullopt before that, or from an older program.
  const std::optional<PersonState>& peer() const { return peer_; }
  /// and the peer's last report about the link to here.
  const std::optional<LinkReport>& peer_link() const { return peer_link_; }
  /// The path's largest datagram has changed.
  void set_datagram_max(DataSize size) { endpoint_.set_datagram_max(size); }

  const session::Endpoint& endpoint() const { return endpoint_; }
  /// The share (0..1) of own messages recently lost in the network.
  double loss() const { return sender_.loss(); }

 private:
  void drain(TimePoint now);
  void handle_message(TimePoint now, const session::MessageReceived& message);
  void handle_control(TimePoint now, std::span<const std::byte> bytes);
  void report(TimePoint now);
  void tell_person(TimePoint now);

  session::Endpoint endpoint_;
  CallSender sender_;
  CallReceiver receiver_;

  ChatSender chat_sender_;
  ChatReceiver chat_receiver_;

  std::optional<PersonState> person_;
  TimePoint next_person_ = kNever;
  std::optional<PersonState> peer_;
  std::optional<LinkReport> peer_link_;
};

}  // namespace cress::app
