#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "app/call/call.hh"
#include "transport/runtime/datagram_machine.hh"
#include "transport/secure/connection.hh"
#include "transport/sprout/cress_control.hh"

namespace cress::live {

struct SecureCallOptions {
  secure::ConnectionOptions connection;
  app::CallOptions call;
  sprout::CressControl::Options control;
  app::PersonState person;
};

/// One end of a call behind its link: whoever proves to have the link gets a Call, and each new one
/// a new Call; without a peer pictures and sounds go nowhere. Still without I/O: a Driver steps it
/// over a socket, a test over a simulated link. Threads: none inside; one owner. `now` never goes
/// back. Peer data: nothing unauthenticated reaches the Call.
class SecureCall : public runtime::DatagramMachine {
 public:
  SecureCall(TimePoint start, SecureCallOptions options);

  void handle_datagram(TimePoint now, const Address& from,
                       std::span<const std::byte> bytes) override;
  void handle_timeout(TimePoint now) override;
  void handle_path_error(TimePoint now, const runtime::PathError& error) override;
  std::optional<Transmit> poll_transmit(TimePoint now) override;
  TimePoint poll_timeout() const override;

  /// A picture of the own camera, of the size that the options name.
  void capture(TimePoint now, const media::PicturePtr& picture);
  /// 20 ms of the own microphone.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);
  /// The next 20 ms for the loudspeaker; silence while nobody is there.
  app::PlayedAudio play(TimePoint now);
  void set_person(TimePoint now, app::PersonState person);
  /// The machine's addresses changed, or it woke from sleep.
  void handle_network_change(TimePoint now);
  void hang_up(TimePoint now);

  std::optional<secure::Event> poll_event();
  std::optional<app::ShownFrame> poll_shown();
  std::optional<app::CodedVideo> poll_coded();

  /// Null while nobody is there.
  const app::Call* call() const { return call_.get(); }
  const secure::Connection& connection() const { return connection_; }
  /// Counts up with each peer.
  uint64_t calls() const { return calls_; }

 private:
  void drain(TimePoint now);
  void drain_events(TimePoint now);

  SecureCallOptions options_;
  secure::Connection connection_;
  std::unique_ptr<app::Call> call_;
  uint64_t calls_ = 0;
  std::deque<secure::Event> events_;  // few: drained after each call
};

}  // namespace cress::live
