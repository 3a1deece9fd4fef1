#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "app/call/call_receiver.hh"
#include "app/call/call_sender.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

struct CallOptions {
  session::EndpointOptions endpoint;
  /// Of the own camera; empty: this end only watches.
  std::optional<VideoSenderOptions> video;
  /// Whether what a frame leaves of the safe window is filled with padding: for Sprout, whose
  /// belief takes a tick with few arrivals for a slow link, also when only the sender had little to
  /// send. Cress needs none.
  bool pads_window = false;
  /// Whether a small frame goes now and then while the window is closed, since a forecast may err.
  bool trickles = true;
  /// A sound card sets the pace: sound is taken by play() whenever it asks, not by poll_played().
  bool paced_by_sound_card = false;
};

/// One end of a call of two, without I/O: a session, what goes into it (CallSender) and what comes
/// out of it (CallReceiver). After each handle_* and verb poll transmit, coded, shown and played
/// until empty, then sleep until poll_timeout. Threads: none inside; one owner. `now` never goes
/// back.
class Call {
 public:
  Call(TimePoint start, CallOptions options, std::unique_ptr<control::Control> control);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// A picture of the own camera, just captured; pictures are numbered from 0.
  void capture(TimePoint now, const media::PicturePtr& picture);
  /// 20 ms of the own microphone, the last of it captured just now.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);

  Result<Unit, wire::WireError> handle_datagram(TimePoint now, std::span<const std::byte> datagram);
  void handle_timeout(TimePoint now);
  std::optional<std::vector<std::byte>> poll_transmit(TimePoint now);
  TimePoint poll_timeout() const;

  /// What became of each captured picture, in order.
  std::optional<CodedVideo> poll_coded();
  std::optional<ShownFrame> poll_shown();
  /// Every 20 ms from the first sound on.
  std::optional<PlayedAudio> poll_played();
  /// The next 20 ms for the loudspeaker, now.
  PlayedAudio play(TimePoint now);

  /// What the other end is told of this person: at once and then once a second.
  void set_person(TimePoint now, PersonState person);
  /// What was last heard of the other person; nothing yet, or nothing from an older program.
  const std::optional<PersonState>& peer() const { return peer_; }
  /// and of what it believes of the link to here.
  const std::optional<LinkReport>& peer_link() const { return peer_link_; }
  /// The path's largest datagram is another now.
  void set_datagram_max(DataSize size) { endpoint_.set_datagram_max(size); }

  const session::Endpoint& endpoint() const { return endpoint_; }
  /// The share (0..1) of own messages that the network lost lately.
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

  std::optional<PersonState> person_;
  TimePoint next_person_ = kNever;
  std::optional<PersonState> peer_;
  std::optional<LinkReport> peer_link_;
};

}  // namespace cress::app
