#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "eval/metrics/frames.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

/// For tests: what two real `cress-call` received from each other, from their output files.
namespace cress::cellsim {

namespace fs = std::filesystem;

/// A displayed frame; the two times may be of different clocks.
struct Frame {
  TimePoint captured{};
  TimePoint shown{};
  DataSize size;
};

/// Statistics of the frames received in one direction.
struct Seen {
  double rate_kbps = 0;
  double delay_p95_ms = 0;
};

inline Seen seen_in(const std::vector<Frame>& frames, const metrics::Window& scored) {
  std::vector<metrics::ShownFrame> shown;
  DataSize total;
  for (const Frame& frame : frames) {
    shown.push_back({frame.captured, frame.shown});
    total += frame.shown >= scored.from && frame.shown < scored.to ? frame.size : DataSize{};
  }
  const auto p95 = metrics::frame_delay_quantile(shown, scored, 0.95);
  return {DataRate::from(total, scored.to - scored.from).kilobits_per_second(),
          to_milliseconds(p95.value_or(Duration{}))};
}

/// Reads the table of `cress-call --frames`, with capture times moved to the receiver's clock: the
/// fastest frame is assumed to have taken half the least round trip, as the program itself does.
inline std::vector<Frame> read_frames(const fs::path& path, Duration least) {
  std::ifstream file{path};
  std::vector<Frame> frames;
  Duration quickest = Duration::max();
  std::string line;
  std::getline(file, line);  // the header
  while (std::getline(file, line)) {
    double frame = 0;
    double captured_s = 0;
    double shown_s = 0;
    double bytes = 0;
    EXPECT_EQ(std::sscanf(line.c_str(), ",%lf,%lf,%lf,%lf", &frame, &captured_s, &shown_s, &bytes),
              4)
        << line;
    frames.push_back({kTimeZero + from_seconds(captured_s), kTimeZero + from_seconds(shown_s),
                      DataSize{static_cast<int64_t>(bytes)}});
    quickest = std::min(quickest, frames.back().shown - frames.back().captured);
  }
  for (Frame& frame : frames) {
    frame.captured += quickest - least;
  }
  return frames;
}

/// The least round trip reported by `cress-call --stats`.
inline Duration least_rtt(const fs::path& path) {
  std::ifstream file{path};
  double least_ms = 1e9;
  for (std::string line; std::getline(file, line);) {
    const auto told = nlohmann::json::parse(line);
    if (told.contains("rtt_ms") && told.at("rtt_ms").is_number()) {
      least_ms = std::min(least_ms, told.at("rtt_ms").get<double>());
    }
  }
  return from_seconds(least_ms / 1000);
}

/// The start of a command line for one of our programs; its arguments follow. With priority over
/// other work and after the link, if that is permitted; otherwise an ordinary program.
inline std::string program_command(const std::string& name) {
  return "$(chrt --rr 5 true 2>/dev/null && echo chrt --rr 5) " CRESS_BIN "/" + name + " ";
}

/// The same for an end of a call, which writes its statistics into `folder`.
inline std::string call_command(const fs::path& data, const fs::path& folder,
                                const std::string& end) {
  return program_command("cress-call") + "--headless --size 640x480 --video-in " +
         (data / "video" / "gesture_man_640x480_30.mp4").string() + " --audio-in " +
         (data / "audio" / "gesture_man.flac").string() + " --frames " +
         (folder / (end + ".csv")).string() + " --stats " + (folder / (end + ".jsonl")).string() +
         " ";
}

/// The frames received by both ends, the near end first, from the files of `call_command`.
inline std::vector<Seen> both_seen(const fs::path& folder, const metrics::Window& scored) {
  const Duration least =
      std::min(least_rtt(folder / "near.jsonl"), least_rtt(folder / "far.jsonl")) / 2;
  return {seen_in(read_frames(folder / "near.csv", least), scored),
          seen_in(read_frames(folder / "far.csv", least), scored)};
}

}  // namespace cress::cellsim
