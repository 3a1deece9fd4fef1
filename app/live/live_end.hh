#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/call/control_message.hh"
#include "app/live/live_devices.hh"
#include "app/live/live_machine.hh"
#include "app/live/live_sample.hh"
#include "app/live/session_meter.hh"
#include "transport/mapping/router/router_mapping.hh"
#include "transport/process/spare_memory.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/network_watch.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/runtime/worker.hh"

namespace cress::live {

/// The wording for the other end in a live end's messages.
struct LiveWords {
  const char* connected = "Connected to ";  ///< an address follows, as after `moved`
  const char* unreachable = "Nothing has been heard for 3 seconds";
  const char* moved = "The other end is now at ";
};

struct LiveEndOptions {
  runtime::UdpSocketOptions socket{};
  LiveDevicesOptions devices{};
  app::PersonState person{};
  LiveWords words{};
  /// The router on the way to this address (a relay's) is asked for a port, so that the other end
  /// can reach our socket past it: mapping::RouterMapping. nullopt: none is asked.
  std::optional<Address> map_towards{};
};

/// The addresses to offer to the other end: `local`, and the mapped one in second place, so that a
/// machine with many addresses does not lose it.
std::vector<Address> with_mapped(std::vector<Address> local, const std::optional<Address>& mapped);

/// The destinations of any live end's outputs; each may be empty. Called in the loop's thread.
struct LiveEndOutputs {
  std::function<void(const LiveEvent&)> event{};
  /// The audio that the loudspeaker took while connected: in a room all others mixed.
  std::function<void(const app::PlayedAudio&)> played{};
  std::function<void(const media::PicturePtr&)> own_picture{};
  std::function<void(const app::CodedVideo&)> coded{};
};

/// The common part of a live call and a live room, and what drives them: socket, devices and a
/// LiveMachine, stepped by an event loop. Starts with the constructor, ends with LiveEvent::kEnded.
/// Errors: the constructor throws std::runtime_error (port in use, no such file); later errors are
/// events. Threads: the loop's, one that encodes, one that decodes, and those of the devices.
class LiveEnd {
 public:
  /// Frames with the decoder, of all senders; further ones stay in the machine until one returns.
  static constexpr size_t kDecodingMax = 512;

  virtual ~LiveEnd() = default;

  /// With the assigned port.
  Address local_address() const { return socket_.local_address(); }
  void set_muted(bool muted);
  void set_camera_off(bool off);
  void set_name(std::string name);
  /// Switches to another camera; "screen" shares the screen.
  void choose_camera(const std::string& id);
  void choose_microphone(const std::string& id) { devices_.choose_microphone(id); }
  void choose_speaker(const std::string& id) { devices_.choose_speaker(id); }
  void hang_up();
  /// As LiveMachine's.
  bool send_chat(std::string_view text);
  size_t chat_waiting() const { return machine_->chat_waiting(); }

  const app::PersonState& person() const { return person_; }
  virtual LiveSample sample() const;
  const secure::ConnectionStats& connection_stats() const { return machine_->connection().stats(); }
  /// Completes the file of a speaker "file:PATH"; see LiveSpeaker::finish. After kEnded.
  void finish() { devices_.finish(); }

 protected:
  /// Clock and loop are borrowed and must outlive it. Needs a media::GstRuntime. Nothing happens
  /// before begin(), which the derived class's constructor calls last.
  LiveEnd(const runtime::MonotonicClock& clock, runtime::EventLoop& loop,
          std::unique_ptr<LiveMachine> machine, const LiveEndOptions& options,
          LiveEndOutputs outputs);
  void begin();

  /// Takes the machine's further outputs: its events,
  virtual void take_events(TimePoint now) = 0;
  /// then the frames to be displayed, each reported by note_shown().
  virtual void take_shown() = 0;

  void wake(const std::function<void(TimePoint now)>& change) { driver_.wake(change); }
  void handle_session_event(TimePoint now, const secure::Event& event);
  /// Returns the display time: the machine's own time does not include this thread's delay.
  TimePoint note_shown(TimePoint captured);
  void notify(LiveEvent::Kind kind, std::string words);
  /// Ends it; the first reason is the one reported, once the close has been sent, after 1 s at
  /// the latest.
  void end(TimePoint now, const std::string& reason);
  bool is_ending() const { return end_reason_.has_value(); }

  LiveMachine& machine() const { return *machine_; }
  const runtime::MonotonicClock& clock() const { return clock_; }
  const SessionMeter& meter() const { return meter_; }

 private:
  void report_local_addresses();
  LiveDevicesOutputs device_outputs();
  void drained(TimePoint now);
  void capture(const media::PicturePtr& picture);
  void exchange_with_encoder(TimePoint now);
  void exchange_with_decoder(TimePoint now);
  void set_person(app::PersonState person);
  void report_end();
  void tick();

  const runtime::MonotonicClock& clock_;
  runtime::EventLoop& loop_;
  app::PersonState person_;
  LiveWords words_;
  LiveEndOutputs outputs_;

  std::optional<std::string> end_reason_;
  bool end_told_ = false;
  SessionMeter meter_;
  runtime::SpareMemory memory_;

  std::unique_ptr<LiveMachine> machine_;
  runtime::UdpSocket socket_;
  runtime::Driver driver_;
  // They end before the driver and the machine do.
  runtime::Worker encoder_;
  std::shared_ptr<app::EncodeWork> encoding_;  // is with the encoder
  media::PicturePtr next_picture_;             // the newest captured meanwhile
  uint64_t pictures_late_ = 0;                 // replaced by a newer one in its place
  runtime::Worker decoder_;
  std::deque<std::shared_ptr<app::DecodeWork>> decoding_;  // at most kDecodingMax, in order
  runtime::EventLoop::Timer ticks_;
  runtime::EventLoop::Timer close_timer_;
  std::optional<Address> map_towards_;
  std::unique_ptr<mapping::RouterMapping> mapping_;
  std::unique_ptr<runtime::NetworkWatch> network_;
  LiveDevices devices_;
};

}  // namespace cress::live
