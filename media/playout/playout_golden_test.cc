#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "media/playout/audio_jitter_buffer.hh"
#include "media/playout/audio_time_scale.hh"
#include "media/playout/av_sync.hh"
#include "media/playout/frame_clock.hh"
#include "media/playout/playout_delay.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"

namespace cress::media {
namespace {

int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

/// A path of the golden scenarios: the parts of a frame's delay, and for how many frames.
struct GoldenPath {
  const char* what;
  int frames = 0;
  Duration delay{};
  Duration jitter{};
  double loss = 0;
};

Duration golden_delay(const GoldenPath& path, Rng& rng) {
  return path.delay + from_seconds(rng.exponential(to_seconds(path.jitter)));
}

TEST(PlayoutDelay, FollowsPathsAsRecorded) {
  std::ostringstream text;
  // The second forgets in a second what the first remembers for many.
  for (const PlayoutDelayOptions& options :
       {PlayoutDelayOptions{},
        PlayoutDelayOptions{
            .loss_price = 500ms, .margin_min = 25ms, .margin_max = 200ms, .memory = 0.97}}) {
    Rng rng{31};
    PlayoutDelay delay{options};
    for (const GoldenPath& path : {GoldenPath{"near", 400, 20ms, 3ms},
                                   {"far", 700, 180ms, 15ms},
                                   {"jitter", 700, 180ms, 60ms},
                                   {"very near", 700, -70ms, 1ms},
                                   {"beyond all bins", 300, 900ms, 5ms},
                                   {"as before", 900, 20ms, 30ms}}) {
      text << path.what << ":";
      for (int i = 0; i < path.frames; ++i) {
        delay.observe(golden_delay(path, rng));
        if (i % 25 == 24 || i < 5) {
          text << " " << to_ms(*delay.fastest()) << "/" << to_ms(*delay.target());
        }
      }
      text << "\n";
    }
  }
  expect_golden("audio_delay", text.str());
}

void write_buffer(std::ostringstream& text, const AudioJitterBuffer& buffer) {
  const AudioJitterBufferStats& stats = buffer.stats();
  text << " stream " << buffer.stream() << " held " << buffer.held() << " from "
       << buffer.first().value_or(-1) << " to " << buffer.newest().value_or(-1) << ", target "
       << to_ms(buffer.target()) << ", " << stats.messages << " messages, " << stats.duplicates
       << " again, " << stats.late << " late, " << stats.overflowed << " overflowed, "
       << stats.restarts << " restarts, " << stats.strangers << " strangers\n";
}

// Messages with copies of both kinds over paths with losses, duplicates and reordering; twice the
// sender restarts; sometimes nothing is played, and the buffer overflows.
TEST(AudioJitterBuffer, HoldsFramesAsRecorded) {
  std::ostringstream text;
  Rng rng{32};
  AudioJitterBuffer buffer;
  TimePoint start = kTimeZero;
  TimePoint now = kTimeZero;
  for (const GoldenPath& path : {GoldenPath{"steady", 200, 40ms, 2ms, 0.0},
                                 {"losses", 400, 40ms, 20ms, 0.15},
                                 {"restart, nothing played", 400, 60ms, 5ms, 0.05},
                                 {"restart, jitter", 400, 100ms, 80ms, 0.05}}) {
    text << path.what << "\n";
    const bool plays = path.loss != 0.05 || path.jitter > 5ms;
    const uint32_t base = static_cast<uint32_t>(rng.next()) & kSoundSequenceMask;
    std::vector<std::pair<TimePoint, uint32_t>> arrivals;
    for (int i = 0; i < path.frames; ++i) {
      const TimePoint sent = start + (i + 1) * kSoundFrameLength;
      for (int again = 0; again == 0 || rng.chance(0.05); ++again) {
        if (!rng.chance(path.loss)) {
          arrivals.emplace_back(sent + golden_delay(path, rng), static_cast<uint32_t>(i));
        }
      }
    }
    std::ranges::sort(arrivals);
    int count = 0;
    for (const auto& [at, i] : arrivals) {
      now = std::max(now, at);
      SoundMessage message{.sequence = (base + i) & kSoundSequenceMask,
                           .captured = start + i * kSoundFrameLength,
                           .silence = i % 50 > 40,
                           .after_silence = i % 50 == 0,
                           .payload = {std::byte{7}}};
      if (i % 3 == 0 && i > 5) {
        message.copy_distance = 1 + i % 4;
        message.copy = {std::byte{9}};
      }
      buffer.handle_message(now, message, i % 5 < 2);
      if (plays && buffer.first()) {
        while (buffer.first() && buffer.capture_time(*buffer.first()) + buffer.target() < now) {
          buffer.drop_before(*buffer.first() + 1);
        }
      }
      if (++count % 20 == 0) {
        write_buffer(text, buffer);
      }
    }
    start = now + 2s;
    now = start;
  }
  expect_golden("jitter_buffer", text.str());
}

// A triangle wave of varying period with a little noise: integers, the same on every machine.
std::vector<int16_t> golden_wave(Rng& rng, int period, int amplitude) {
  std::vector<int16_t> wave;
  for (int i = 0; i < 2'000; ++i) {
    const int place = i % period;
    const int triangle = std::abs(2 * place - period) * 2 * amplitude / period - amplitude;
    wave.push_back(static_cast<int16_t>(triangle + static_cast<int>(rng.below(9)) - 4));
  }
  return wave;
}

std::string digest_of(const std::vector<int16_t>& samples) {
  std::string bytes;
  for (const int16_t sample : samples) {
    bytes += std::to_string(sample) + " ";
  }
  return golden_digest(bytes);
}

TEST(AudioTimeScale, PeriodsAreFoundAndMovedAsRecorded) {
  std::ostringstream text;
  Rng rng{33};
  for (const auto& [period, amplitude] : {std::pair{120, 9'000},
                                          {131, 300},
                                          {240, 20'000},
                                          {333, 60},
                                          {480, 30'000},
                                          {719, 5'000},
                                          {720, 12'000},
                                          {900, 8'000},
                                          {60, 63},
                                          {200, 0}}) {
    const std::vector<int16_t> wave = golden_wave(rng, period, amplitude);
    for (const size_t limit : {kPitchPeriodMin, size_t{500}, kPitchPeriodMax}) {
      const PitchPeriod found = find_period(wave, limit);
      text << period << " x " << amplitude << " to " << limit << ": " << found.samples << " "
           << std::lround(1000 * found.likeness) << (found.is_quiet ? " quiet" : "");
      std::vector<int16_t> shorter = wave;
      leave_out_period(shorter, found.samples);
      std::vector<int16_t> longer = wave;
      repeat_period(longer, found.samples);
      std::vector<int16_t> faded = wave;
      fade(faded, 0.25, 0.75);
      cross_fade(wave, faded);
      text << " " << digest_of(shorter) << " " << digest_of(longer) << " " << digest_of(faded)
           << "\n";
    }
  }
  expect_golden("time_scale", text.str());
}

TEST(FrameClock, HandsOutFramesAsRecorded) {
  std::ostringstream text;
  Rng rng{34};
  FrameClock clock{{.wait_max = 120ms, .held_max = 5}};
  std::vector<std::pair<TimePoint, EncodedFrame>> arrivals;
  for (uint32_t id = 0; id < 400; ++id) {
    const bool key = id == 0 || rng.chance(0.06);
    const auto back = static_cast<uint32_t>(rng.chance(0.3) ? 2 + rng.below(9) : 1);
    if (rng.chance(0.05)) {
      continue;
    }
    for (int again = 0; again == 0 || rng.chance(0.05); ++again) {
      const Duration delay = 30ms + from_seconds(rng.exponential(0.025));
      arrivals.push_back({kTimeZero + id * 33ms + delay,
                          {.id = id,
                           .reference_id = key ? id : id - std::min(back, id),
                           .key_frame = key,
                           .data = std::vector<std::byte>(100 + id)}});
    }
  }
  std::ranges::stable_sort(arrivals, {}, [](const auto& arrival) { return arrival.first; });
  int count = 0;
  const auto drain = [&](TimePoint now) {
    while (const auto frame = clock.poll_decode(now)) {
      text << " " << frame->id;
      if (rng.chance(0.01)) {
        clock.handle_decode_failure(now);
        text << "!";
      }
    }
  };
  for (const auto& [at, frame] : arrivals) {
    while (clock.poll_timeout() < at) {
      const TimePoint due = clock.poll_timeout();
      clock.handle_timeout(due);
      drain(due);
      if (clock.poll_timeout() == due) {
        break;
      }
    }
    clock.handle_frame(at, frame);
    drain(at);
    if (++count % 15 == 0) {
      const FrameClockStats& stats = clock.stats();
      text << "\nheld " << clock.held_frames() << (clock.needs_key_frame() ? " stuck" : "")
           << ", received " << stats.received << ", decoded " << stats.decoded << ", late "
           << stats.late << ", again " << stats.duplicates << ", superseded " << stats.superseded
           << ", expired " << stats.expired << ", overflowed " << stats.overflowed << "\n";
    }
  }
  expect_golden("frame_clock", text.str());
}

TEST(AvSync, HoldsFollowDelaysAsRecorded) {
  std::ostringstream text;
  Rng rng{35};
  AvSync sync;
  for (const auto& [sound, picture] : {std::pair<Duration, Duration>{60ms, 70ms},
                                       {60ms, 200ms},
                                       {300ms, 90ms},
                                       {700ms, 90ms},
                                       {50ms, 60ms}}) {
    for (int i = 0; i < 60; ++i) {
      const AvHold held = sync.hold();
      sync.handle_sound(sound + from_seconds(rng.uniform(0, 0.02)) + held.sound, held.sound);
      sync.handle_picture(picture + from_seconds(rng.uniform(0, 0.04)) + held.picture,
                          held.picture);
      if (i % 5 == 4) {
        const AvHold hold = sync.hold();
        text << hold.sound.count() / 1000 << "/" << hold.picture.count() / 1000
             << (i == 59 ? "\n" : " ");
      }
    }
  }
  expect_golden("av_sync", text.str());
}

}  // namespace
}  // namespace cress::media
