#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/live/live_call.hh"
#include "media/gst/gst_runtime.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/secure/link/link.hh"

namespace cress::live {

/// Resident memory of this program.
inline DataSize resident_memory() {
  std::ifstream statm{"/proc/self/statm"};
  int64_t all = 0;
  int64_t resident_pages = 0;
  statm >> all >> resident_pages;
  return DataSize{resident_pages * sysconf(_SC_PAGESIZE)};
}

/// One end with test devices, and all of its outputs.
class End {
 public:
  End(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, LiveCallOptions options) {
    options.devices.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {320, 180}};
    options.devices.microphone = media::LiveMicrophoneOptions{.id = media::kTestDevice};
    LiveOutputs outputs;
    outputs.event = [this](const LiveEvent& event) { events.push_back(event); };
    outputs.shown = [this](const app::ShownFrame& frame) {
      shown.push_back(frame);
      if (shown.size() > kPicturesKept) {
        shown.back().picture.reset();  // the memory of a long test is not the call's
      }
    };
    outputs.played = [this](const app::PlayedAudio& sound) { played.push_back(sound); };
    outputs.chat = [this](const std::string& line) { chat.push_back(line); };
    call = std::make_unique<LiveCall>(clock, loop, options, outputs);
  }

  bool has(LiveEvent::Kind kind) const {
    return std::ranges::any_of(events, [kind](const LiveEvent& e) { return e.kind == kind; });
  }
  std::string end_words() const {
    for (const LiveEvent& event : events) {
      if (event.kind == LiveEvent::Kind::kEnded) {
        return event.words;
      }
    }
    return "not ended";
  }

  static constexpr size_t kPicturesKept = 100;
  std::vector<LiveEvent> events;
  std::vector<app::ShownFrame> shown;
  std::vector<app::PlayedAudio> played;
  std::vector<std::string> chat;
  std::unique_ptr<LiveCall> call;
};

/// Two ends in one thread, in real time.
class LivePair {
 public:
  bool run_until(const std::function<bool()>& done, Duration most = runtime::kPatience) {
    return runtime::run_until(clock_, loop_, done, most);
  }
  LiveCallOptions listener(const std::string& name = "Lea") {
    return {.role = secure::Role::kListener,
            .secret = secret_,
            .bind = *runtime::parse_address("127.0.0.1:0"),
            .person = {.name = name}};
  }
  LiveCallOptions joiner(const End& to, const std::string& name = "Jo") {
    return joiner_at(to.call->local_address(), name);
  }
  LiveCallOptions joiner_at(const Address& listener, const std::string& name = "Jo") {
    return {.role = secure::Role::kJoiner,
            .secret = secret_,
            .bind = *runtime::parse_address("127.0.0.1:0"),
            .listener = listener,
            .person = {.name = name}};
  }

  const runtime::MonotonicClock& clock() const { return clock_; }
  runtime::EventLoop& loop() { return loop_; }

 private:
  media::GstRuntime gst_;
  runtime::MonotonicClock clock_;
  runtime::EventLoop loop_{clock_};
  std::vector<std::byte> secret_ = secure::make_secret();
};

}  // namespace cress::live
