#include "app/call/audio_receiver.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <numbers>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "app/call/audio_sender.hh"
#include "media/codec/opus_decoder.hh"
#include "media/codec/versions.hh"
#include "media/playout/audio_message.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "transport/base/golden_test_tools.hh"
#include "transport/base/rng.hh"
#include "transport/sim/link.hh"

namespace cress::app {
namespace {

namespace fs = std::filesystem;
using media::kAudioFrameLength;

TimePoint at(Duration since_start) { return kTimeZero + since_start; }

struct Message {
  TimePoint when{};  // sent; after a path, arrived
  std::vector<std::byte> bytes;
};
/// The network's effect on all messages: when each arrives, if it does.
using Path = std::function<std::vector<Message>(std::vector<Message>)>;

/// Each message independently, by a rule that gives its arrival; kNever: lost.
Path each(std::function<TimePoint(TimePoint sent)> rule) {
  return [rule = std::move(rule)](std::vector<Message> messages) {
    for (Message& message : messages) {
      message.when = rule(message.when);
    }
    std::erase_if(messages, [](const Message& message) { return message.when == kNever; });
    std::ranges::stable_sort(messages, {}, &Message::when);
    return messages;
  };
}

Path steady(Duration delay) {
  return each([=](TimePoint sent) { return sent + delay; });
}

Path lossy(Duration delay, double loss, uint64_t seed = 5) {
  return each([=, rng = Rng{seed}](TimePoint sent) mutable {
    return rng.chance(loss) ? kNever : sent + delay;
  });
}

/// An exponential delay on top of a fixed one; in order, as behind one queue.
Path jittery(Duration delay, Duration mean, uint64_t seed = 6) {
  return each([=, rng = Rng{seed}, last = kTimeZero](TimePoint sent) mutable {
    last = std::max(last, sent + delay + from_seconds(rng.exponential(to_seconds(mean))));
    return last;
  });
}

/// Nothing arrives in [from, to); those messages arrive together at its end.
Path stalled(Duration delay, TimePoint from, TimePoint to) {
  return each([=](TimePoint sent) {
    const TimePoint arrives = sent + delay;
    return arrives >= from && arrives < to ? to : arrives;
  });
}

/// An emulated link that carries only the audio. 60 bytes: IP, UDP, and the transport's own.
Path over_link(const std::shared_ptr<const sim::DeliveryTrace>& trace) {
  return [=](const std::vector<Message>& messages) {
    sim::Link link{{.trace = trace, .queue = nullptr}};
    std::vector<Message> arrived;
    const auto run_until = [&](TimePoint end) {
      while (link.poll_timeout() <= end) {
        const TimePoint now = link.poll_timeout();
        link.handle_timeout(now);
        while (auto datagram = link.poll_delivered(now)) {
          arrived.push_back({.when = now, .bytes = std::move(datagram->bytes)});
        }
      }
    };
    for (const Message& message : messages) {
      run_until(message.when);
      link.push(message.when,
                {message.bytes, DataSize{static_cast<int64_t>(message.bytes.size()) + 60}});
    }
    run_until(messages.back().when + 30s);
    return arrived;
  };
}

struct TalkOptions {
  Duration length = 60s;
  DataRate rate = DataRate::kilobits_per_second(24);
  double told_loss = 0;
  AudioReceiverOptions receiver{};
};

struct Talk {
  std::vector<PlayedAudio> played;
  std::vector<TimePoint> spoken;  // capture times of frames sent as audio
  AudioSenderStats sent;
  AudioReceiverStats receiver;
  media::AudioJitterBufferStats buffer;

  static bool is_real(const PlayedAudio& frame) {
    return frame.kind == SoundKind::kNormal || frame.kind == SoundKind::kFec;
  }
  double share(SoundKind kind) const {
    return static_cast<double>(std::ranges::count(played, kind, &PlayedAudio::kind)) /
           static_cast<double>(played.size());
  }
  /// As in eval/metrics/audio.hh.
  double concealed(TimePoint from = kTimeZero, TimePoint to = kNever) const {
    double wanted = 0;
    double made_up = 0;
    for (const PlayedAudio& frame : played) {
      if (frame.played >= from && frame.played < to && frame.kind != SoundKind::kSilence) {
        wanted += 1;
        made_up += is_real(frame) ? 0 : 1;
      }
    }
    return wanted > 0 ? made_up / wanted : 0.0;
  }
  double mouth_to_ear_ms(double q, TimePoint from = kTimeZero, TimePoint to = kNever) const {
    std::vector<double> delays_ms;
    for (const PlayedAudio& frame : played) {
      if (is_real(frame) && frame.played >= from && frame.played < to) {
        delays_ms.push_back(to_milliseconds(frame.played - frame.captured));
      }
    }
    std::ranges::sort(delays_ms);
    return delays_ms.empty()
               ? -1.0
               : delays_ms[static_cast<size_t>(q * static_cast<double>(delays_ms.size() - 1))];
  }
  /// As in eval/metrics/audio.hh, but for frames of which nothing at all was played.
  double unheard() const {
    std::set<TimePoint> heard;
    for (const PlayedAudio& frame : played) {
      if (is_real(frame)) {
        heard.insert(frame.captured);
      }
    }
    double missed = 0;
    for (const TimePoint frame : spoken) {
      const auto next = heard.upper_bound(frame - kAudioFrameLength);
      missed += next == heard.end() || *next >= frame + kAudioFrameLength ? 1 : 0;
    }
    return missed / static_cast<double>(spoken.size());
  }
  std::vector<int16_t> samples() const {
    std::vector<int16_t> all;
    for (const PlayedAudio& frame : played) {
      all.insert(all.end(), frame.samples.begin(), frame.samples.end());
    }
    return all;
  }
};

/// A sender's messages for a voice. It is encoded once for all tests, because encoding takes most
/// of their time, and as far as the longest of them needs.
struct Speech {
  AudioSender sender;
  std::vector<Message> messages;
  std::vector<TimePoint> spoken;
  std::vector<AudioSenderStats> stats;  // after each frame
};

const Speech& speech_of(media::AudioSource& source, const TalkOptions& options, uint64_t frames) {
  static std::map<std::tuple<std::string, DataRate, double>, Speech> all;
  const auto [found, is_new] =
      all.try_emplace({source.description(), options.rate, options.told_loss});
  Speech& speech = found->second;
  if (is_new) {
    speech.sender.set_rate(options.rate);
    speech.sender.handle_loss(options.told_loss);
  }
  for (uint64_t i = speech.stats.size(); i < frames; ++i) {
    const TimePoint now = kTimeZero + static_cast<int64_t>(i + 1) * kAudioFrameLength;
    const uint64_t silent_before = speech.sender.stats().silent;
    if (auto bytes = speech.sender.capture(now, source.frame(i))) {
      speech.messages.push_back({.when = now, .bytes = std::move(*bytes)});
    }
    if (speech.sender.stats().silent == silent_before) {
      speech.spoken.push_back(now - kAudioFrameLength - 6'500us);
    }
    speech.stats.push_back(speech.sender.stats());
  }
  return speech;
}

Talk talk(media::AudioSource& source, const Path& path, const TalkOptions& options = {}) {
  Talk result;
  const auto frames = static_cast<uint64_t>(options.length / kAudioFrameLength);
  const Speech& speech = speech_of(source, options, frames);
  const TimePoint last_sent = kTimeZero + static_cast<int64_t>(frames) * kAudioFrameLength;
  std::vector<Message> messages;
  std::ranges::copy_if(speech.messages, std::back_inserter(messages),
                       [=](const Message& message) { return message.when <= last_sent; });
  std::ranges::copy_if(speech.spoken, std::back_inserter(result.spoken),
                       [=](TimePoint begin) { return begin < last_sent - kAudioFrameLength; });
  result.sent = speech.stats.at(frames - 1);
  AudioReceiver receiver{options.receiver};
  const std::vector<Message> arriving = path(std::move(messages));
  auto next = arriving.begin();
  const TimePoint end = kTimeZero + options.length;
  for (;;) {
    const TimePoint arrival = next == arriving.end() ? kNever : next->when;
    const TimePoint now = std::min(arrival, receiver.poll_timeout());
    if (now > end) {
      break;
    }
    if (arrival == now) {
      EXPECT_TRUE(receiver.handle_message(now, next->bytes).has_value());
      ++next;
    } else if (auto frame = receiver.poll_frame(now)) {
      result.played.push_back(*frame);
    }
  }
  result.receiver = receiver.stats();
  result.buffer = receiver.buffer_stats();
  return result;
}

int step_max(const std::vector<int16_t>& sound) {
  int most = 0;
  for (size_t i = 1; i < sound.size(); ++i) {
    most = std::max(most, std::abs(sound[i] - sound[i - 1]));
  }
  return most;
}

/// A sung vowel: harmonics of 110 Hz with vibrato, so that it is not classified as background.
class Vowel final : public media::AudioSource {
 public:
  media::AudioFrame frame(uint64_t index) override {
    media::AudioFrame out;
    for (size_t i = 0; i < out.size(); ++i) {
      const double t = static_cast<double>(index * out.size() + i) / 48'000.0;
      const double phase =
          2 * std::numbers::pi * (110 * t + 0.8 * std::sin(2 * std::numbers::pi * 3 * t));
      const double loud = 0.7 + 0.5 * std::sin(2 * std::numbers::pi * 5 * t);
      out[i] = static_cast<int16_t>(loud * (5'000 * std::sin(phase) + 2'000 * std::sin(2 * phase) +
                                            1'000 * std::sin(5 * phase)));
    }
    return out;
  }
  std::string description() const override { return "vowel"; }
};

constexpr DataRate kbps(int64_t rate) { return DataRate::kilobits_per_second(rate); }
// 20 ms of framing, 6.5 of the coder's look-ahead, 20 of margin, and the width of a bin.
constexpr double kLeastAddedMs = 26.5 + 20 + 5;

TEST(AudioReceiver, SteadyPathPlaysEverythingSoonAfterArrival) {
  media::SyntheticVoice voice;
  const Talk result = talk(voice, steady(40ms));
  EXPECT_EQ(result.concealed(at(100ms)), 0.0);
  EXPECT_EQ(result.share(SoundKind::kConcealed), 0.0);
  EXPECT_LT(result.unheard(), 0.005);
  EXPECT_LE(result.mouth_to_ear_ms(0.95), 40 + kLeastAddedMs);
  EXPECT_EQ(result.played.size(), (60'000U - 60U) / 20U + 1U) << "every 20 ms from the first on";
}

TEST(AudioReceiver, SameMessagesGiveSameAudio) {
  media::SyntheticVoice voice;
  const Talk one = talk(voice, jittery(30ms, 25ms), {.length = 20s});
  const Talk two = talk(voice, jittery(30ms, 25ms), {.length = 20s});
  EXPECT_EQ(one.samples(), two.samples());
}

TEST(AudioReceiver, TenPercentLossIsMostlyRepairedByFecAndMoreByCopies) {
  media::SyntheticVoice voice;
  const Talk plain = talk(voice, lossy(40ms, 0.1));
  const Talk fec = talk(voice, lossy(40ms, 0.1), {.told_loss = 0.1});
  const Talk copies = talk(voice, lossy(40ms, 0.1), {.rate = kbps(36), .told_loss = 0.1});
  EXPECT_NEAR(plain.concealed(at(5s)), 0.09, 0.025);
  EXPECT_LT(fec.concealed(at(5s)), 0.025);
  EXPECT_LT(copies.concealed(at(5s)), 0.008);
  EXPECT_GT(fec.share(SoundKind::kFec), 0.03);
  // A copy arrives one message later, two for the whole frame: that is its only cost.
  EXPECT_LE(fec.mouth_to_ear_ms(0.95), plain.mouth_to_ear_ms(0.95) + 25);
  EXPECT_LE(copies.mouth_to_ear_ms(0.95), plain.mouth_to_ear_ms(0.95) + 45);
}

TEST(AudioReceiver, TwentyPercentLossLeavesSpeechIntact) {
  media::SyntheticVoice voice;
  const Talk result = talk(voice, lossy(40ms, 0.2), {.rate = kbps(36), .told_loss = 0.2});
  EXPECT_LT(result.concealed(at(5s)), 0.03);
  EXPECT_LT(result.unheard(), 0.03);
}

TEST(AudioReceiver, JitterCostsDelayAndHardlyAnyAudio) {
  media::SyntheticVoice voice;
  for (const Duration mean : {10ms, 20ms, 30ms}) {
    const Talk result = talk(voice, jittery(40ms, mean));
    EXPECT_LT(result.concealed(at(5s)), 0.02) << to_milliseconds(mean);
    // Behind one queue exponential delays add up to some five means at the 95 % quantile.
    EXPECT_LT(result.mouth_to_ear_ms(0.95), 40 + kLeastAddedMs + 6 * to_milliseconds(mean));
  }
}

// As a download fills the queue: half a second more within ten seconds, and 10 ms of jitter.
TEST(AudioReceiver, AQueueThatGrowsIsHardlyHeard) {
  media::SyntheticVoice voice;
  const Path jitter = jittery(40ms, 10ms);
  const Path path = [&](std::vector<Message> messages) {
    std::vector<Message> arriving = jitter(std::move(messages));
    for (Message& message : arriving) {
      message.when += std::clamp<Duration>((message.when - at(10s)) / 20, 0ms, 500ms);
    }
    return arriving;
  };
  const Talk result = talk(voice, path, {.length = 30s});
  EXPECT_LT(result.concealed(at(10s), at(25s)), 0.04) << "0.08 if whole frames are concealed";
  EXPECT_GT(result.receiver.lengthened, 20U);
  EXPECT_LT(result.mouth_to_ear_ms(0.5, at(22s)), 540 + kLeastAddedMs + 40);
}

// Each second nothing arrives for 120 ms, which is known; each tenth second for 160 ms.
TEST(AudioReceiver, WhatIsHeldIsStretchedWhileNothingArrives) {
  Vowel vowel;
  const Path path = each([last = kTimeZero](TimePoint sent) mutable {
    const TimePoint arrives = sent + 40ms;
    const Duration phase = arrives.time_since_epoch() % 1s;
    const Duration stall = arrives.time_since_epoch() % 10s < 1s ? 160ms : 120ms;
    last = std::max(last, phase < stall ? arrives - phase + stall : arrives);
    return last;
  });
  const Talk result = talk(vowel, path, {.length = 60s});
  EXPECT_EQ(result.share(SoundKind::kConcealed), 0.0);
  EXPECT_GT(result.receiver.lengthened, 100U);
  EXPECT_LT(result.mouth_to_ear_ms(0.5), 160 + kLeastAddedMs + 10);
}

TEST(AudioReceiver, AfterAnOutageTheNewestAudioPlaysAtOnceAndOldIsSkipped) {
  media::SyntheticVoice voice;
  for (const Duration outage : {1s, 3s, 30s}) {
    const TimePoint end = at(20s + outage);
    const Talk result = talk(voice, stalled(40ms, at(20s), end), {.length = 60s + outage});
    const double before_ms = result.mouth_to_ear_ms(0.95, at(5s), at(20s));
    EXPECT_LE(result.mouth_to_ear_ms(1.0), before_ms + 120) << to_seconds(outage);
    EXPECT_LE(result.mouth_to_ear_ms(1.0, end + 2s), before_ms + 45) << to_seconds(outage);
    EXPECT_LT(result.concealed(end + 100ms), 0.005) << to_seconds(outage);
    EXPECT_GT(result.receiver.skipped, 40U);
    EXPECT_LT(result.mouth_to_ear_ms(1.0, at(20s + 400ms), end), 0) << "real sound in an outage";
  }
}

TEST(AudioReceiver, AQueueThatDrainsSlowlyAfterAnOutageIsNotPlayedSecondsLate) {
  media::SyntheticVoice voice;
  // From 20 to 25 s nothing; then three times as fast as it was spoken.
  const Path path = each([](TimePoint sent) {
    const TimePoint arrives = sent + 40ms;
    const TimePoint drained = at(25s) + (arrives - at(20s)) / 3;
    return arrives < at(20s) ? arrives : std::max(arrives, drained);
  });
  const Talk result = talk(voice, path);
  EXPECT_LE(result.mouth_to_ear_ms(1.0), 40 + kLeastAddedMs + 420) << "400 ms behind at most";
  EXPECT_LT(result.concealed(at(28s)), 0.01);
}

TEST(AudioReceiver, DelayGrownByASpikeIsReducedAgain) {
  media::SyntheticVoice voice;
  // Every 5 s the path stops for 80 ms: shorter than what would be skipped.
  const Path path = each([last = kTimeZero](TimePoint sent) mutable {
    const TimePoint arrives = sent + 40ms;
    const Duration phase = arrives.time_since_epoch() % 5s;
    last = std::max(last, phase < 80ms ? arrives - phase + 80ms : arrives);
    return last;
  });
  const Talk result = talk(voice, path);
  EXPECT_EQ(result.receiver.skipped, 0U);
  EXPECT_LT(result.unheard(), 0.005) << "only periods are left out";
  EXPECT_LT(result.concealed(at(1s)), 0.03);
  EXPECT_GT(result.receiver.shortened, 20U);
  EXPECT_LE(result.mouth_to_ear_ms(0.5), 40 + kLeastAddedMs + 20);
}

TEST(AudioReceiver, FollowsALongerPathWithinASecondAndAShorterOneLater) {
  media::SyntheticVoice voice;
  const Path path = each(
      [](TimePoint sent) { return sent + (sent >= at(20s) && sent < at(40s) ? 140ms : 40ms); });
  const Talk result = talk(voice, path, {.length = 90s});
  EXPECT_LT(result.concealed(at(21s), at(40s)), 0.002);
  EXPECT_LE(result.mouth_to_ear_ms(0.95, at(21s), at(40s)), 140 + kLeastAddedMs + 20);
  EXPECT_LT(result.concealed(at(40s), at(90s)), 0.002);
  EXPECT_LE(result.mouth_to_ear_ms(0.95, at(75s)), 40 + kLeastAddedMs + 20);
}

TEST(AudioReceiver, NetworkEventsCauseNoClicks) {
  Vowel vowel;
  const Talk undisturbed = talk(vowel, steady(40ms), {.length = 30s});
  const int own = step_max(undisturbed.samples());
  const Talk jitter = talk(vowel, jittery(40ms, 40ms), {.length = 30s});
  const Talk loss = talk(vowel, lossy(40ms, 0.15), {.length = 30s});
  const Talk outage = talk(vowel, stalled(40ms, at(10s), at(12s)), {.length = 30s});
  EXPECT_EQ(undisturbed.share(SoundKind::kSilence), 0.0);
  EXPECT_GT(jitter.receiver.shortened, 10U);
  EXPECT_GT(loss.share(SoundKind::kConcealed), 0.1);
  EXPECT_GT(outage.receiver.skipped, 50U);
  for (const Talk* result : {&jitter, &loss, &outage}) {
    // A cut anywhere in the wave would be a step of thousands.
    EXPECT_LE(step_max(result->samples()), 2 * own);
  }
}

TEST(AudioReceiver, SilenceAndLossAreDistinguished) {
  media::SyntheticVoice voice;
  const Talk whole = talk(voice, steady(40ms));
  EXPECT_NEAR(whole.share(SoundKind::kSilence),
              static_cast<double>(whole.sent.silent) / static_cast<double>(whole.sent.frames),
              0.02);
  EXPECT_GT(whole.share(SoundKind::kSilence), 0.1);
  // The path fails permanently: a second later the receiver must not assume silence any more.
  const Talk cut = talk(voice, each([](TimePoint sent) { return sent < at(20s) ? sent : kNever; }));
  for (const PlayedAudio& frame : cut.played) {
    if (frame.played > at(21s + 300ms)) {
      ASSERT_EQ(frame.kind, SoundKind::kComfort) << to_seconds(frame.played);
    }
  }
}

// The slow twin of concealment: what a decoder of the same packets conceals, at full loudness for
// 60 ms and then faded out within 100.
std::vector<int16_t> made_up_after(media::OpusDecoder& decoder, size_t frames) {
  constexpr double kFull = 3.0 * media::kAudioFrameSamples;
  constexpr double kFade = 5.0 * media::kAudioFrameSamples;
  std::vector<int16_t> all;
  for (size_t i = 0; i < frames; ++i) {
    for (const int16_t sample : decoder.conceal()) {
      const double gain = 1.0 - (static_cast<double>(all.size()) - kFull) / kFade;
      all.push_back(static_cast<int16_t>(std::clamp(gain, 0.0, 1.0) * sample));
    }
  }
  return all;
}

TEST(AudioReceiver, ConcealmentFadesOutIn160Milliseconds) {
  Vowel vowel;
  AudioSender sender;
  // A margin that stays as it is at first, so that no time is stretched.
  AudioReceiver receiver{{.delay = {.margin_min = 40ms}}};
  media::OpusDecoder twin;
  media::AudioFrame last{};
  std::vector<int16_t> heard;
  std::vector<SoundKind> kinds;
  for (uint64_t i = 0; i < 70; ++i) {
    const TimePoint now = kTimeZero + static_cast<int64_t>(i + 1) * kAudioFrameLength;
    if (i < 50) {
      const auto message = sender.capture(now, vowel.frame(i));
      ASSERT_TRUE(message);
      ASSERT_TRUE(receiver.handle_message(now, *message));
      last = *twin.decode(media::parse_sound(*message)->payload);
    }
    if (now >= at(60ms)) {  // not before the first is due: waiting would conceal, too
      const PlayedAudio played = receiver.play(now);
      heard.insert(heard.end(), played.samples.begin(), played.samples.end());
      kinds.push_back(played.kind);
    }
  }
  ASSERT_EQ(receiver.stats().shortened + receiver.stats().lengthened, 0U);
  const auto end = std::search(heard.begin(), heard.end(), last.begin(), last.end());
  ASSERT_NE(end, heard.end());
  const std::vector<int16_t> expected = made_up_after(twin, 9);
  const std::vector<int16_t> found(end + std::ssize(last), end + std::ssize(last) + 9 * 960);
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], 1) << "sample " << i;
  }
  EXPECT_GT(*std::max_element(found.begin() + 7 * 960, found.begin() + 8 * 960), 0);
  EXPECT_TRUE(std::all_of(found.begin() + 8 * 960, found.end(), [](int16_t s) { return s == 0; }));
  EXPECT_EQ(std::ranges::count(kinds, SoundKind::kConcealed), 5);
}

TEST(AudioReceiver, DuplicatesChangeNothing) {
  media::SyntheticVoice voice;
  const Path doubled = [](const std::vector<Message>& messages) {
    std::vector<Message> arrived;
    for (const Message& message : messages) {
      arrived.push_back({message.when + 40ms, message.bytes});
      arrived.push_back({message.when + 95ms, message.bytes});
    }
    std::ranges::stable_sort(arrived, {}, &Message::when);
    return arrived;
  };
  const Talk once = talk(voice, steady(40ms), {.length = 20s});
  const Talk twice = talk(voice, doubled, {.length = 20s});
  EXPECT_EQ(twice.samples(), once.samples());
  EXPECT_GT(twice.buffer.duplicates, 500U);
}

TEST(AudioReceiver, ReorderingWithinTheMarginIsCorrected) {
  media::SyntheticVoice voice;
  const Path swapped = each([n = 0](TimePoint sent) mutable {
    return sent + (++n % 2 == 0 ? 40ms : 75ms);  // every pair arrives in reverse order
  });
  const Talk result = talk(voice, swapped);
  EXPECT_LT(result.concealed(at(2s)), 0.002);
  EXPECT_LT(result.unheard(), 0.01);
}

TEST(AudioReceiver, RestartedSenderIsPlayedAtOnce) {
  media::SyntheticVoice voice;
  AudioReceiver receiver;
  std::vector<PlayedAudio> played;
  const auto call = [&](Duration begin, Duration length) {
    AudioSender sender;  // its clock and count begin at 0
    for (Duration t = 20ms; t <= length; t += 20ms) {
      const TimePoint now = at(begin + t);
      if (const auto message =
              sender.capture(at(t), voice.frame(static_cast<uint64_t>(t / 20ms)))) {
        EXPECT_TRUE(receiver.handle_message(now, *message));
      }
      while (const auto frame = receiver.poll_frame(now)) {
        played.push_back(*frame);
      }
    }
  };
  call(0s, 20s);
  const size_t first_call = played.size();
  call(25s, 20s);
  EXPECT_EQ(receiver.buffer_stats().restarts, 1U);
  size_t heard = first_call;
  while (heard < played.size() &&
         (!Talk::is_real(played[heard]) || played[heard].captured > at(5s))) {
    ++heard;
  }
  ASSERT_LT(heard, played.size());
  EXPECT_LT(played[heard].played, at(25s + 700ms)) << "it speaks after 200 ms";
}

TEST(AudioReceiver, AudioIsHeldForVideoOnRequest) {
  media::SyntheticVoice voice;
  AudioReceiver receiver;
  AudioSender sender;
  Duration before{};
  for (uint64_t i = 1; i < 1'500; ++i) {
    const TimePoint now = kTimeZero + static_cast<int64_t>(i) * kAudioFrameLength;
    if (const auto message = sender.capture(now, voice.frame(i))) {
      ASSERT_TRUE(receiver.handle_message(now, *message));
    }
    (void)receiver.poll_frame(now);
    if (i == 700) {
      before = *receiver.playout_delay();
      receiver.set_hold(40ms);
    }
  }
  EXPECT_NEAR(to_milliseconds(*receiver.playout_delay() - before), 40, 12);
}

TEST(AudioReceiver, BadMessagesAreCountedAndHarmless) {
  AudioReceiver receiver;
  EXPECT_EQ(receiver.poll_timeout(), kNever);
  EXPECT_FALSE(receiver.handle_message(kTimeZero, {}));
  const auto no_opus = media::format_sound({.sequence = 1, .payload = {std::byte{0x03}}});
  EXPECT_EQ(receiver.handle_message(kTimeZero, no_opus).error(),
            media::SoundMessageError::kBadPayload);
  EXPECT_EQ(receiver.stats().malformed, 2U);
  EXPECT_EQ(receiver.poll_timeout(), kNever) << "nobody has spoken yet";
  EXPECT_EQ(receiver.poll_frame(kTimeZero), std::nullopt);
  EXPECT_EQ(receiver.play(kTimeZero).kind, SoundKind::kComfort);
}

TEST(AudioReceiver, LateDriverSkipsMissedAudio) {
  media::SyntheticVoice voice;
  AudioReceiver receiver;
  AudioSender sender;
  ASSERT_TRUE(receiver.handle_message(at(20ms), *sender.capture(at(20ms), voice.frame(0))));
  int frames = 0;
  while (receiver.poll_frame(at(10s))) {
    ++frames;
  }
  EXPECT_EQ(frames, 1);
  EXPECT_EQ(receiver.poll_timeout(), at(10s + 20ms));
}

// The composition of each second of a call, and its loudness. One letter per frame: normal, fec,
// concealed, silence, unknown; then how long after its capture the last one was played.
void write_talk(std::ostringstream& text, const char* what, const Talk& talk) {
  text << what << ": malformed " << talk.receiver.malformed << ", undecodable "
       << talk.receiver.undecodable << ", skipped " << talk.receiver.skipped << ", shortened "
       << talk.receiver.shortened << ", lengthened " << talk.receiver.lengthened << ", late "
       << talk.buffer.late << ", copies " << talk.sent.copies << ", bytes "
       << talk.sent.bytes.bytes();
  double energy = 0;
  for (size_t i = 0; i < talk.played.size(); ++i) {
    const PlayedAudio& frame = talk.played[i];
    text << (i % 50 == 0 ? "\n" : "") << "nfcsu"[static_cast<size_t>(frame.kind)];
    for (const int16_t sample : frame.samples) {
      energy += static_cast<double>(sample) * sample;
    }
    if (i % 50 == 49) {
      text << " " << std::lround(to_milliseconds(frame.played - frame.captured)) << " ms "
           << std::lround(std::sqrt(energy / (50.0 * media::kAudioFrameSamples)));
      energy = 0;
    }
  }
  text << "\n";
}

TEST(AudioReceiver, PlaysOverBadPathsAsRecorded) {
  media::SyntheticVoice voice;
  const TalkOptions copies{.length = 15s, .rate = kbps(36), .told_loss = 0.1};
  const TalkOptions fec{.length = 15s, .told_loss = 0.1};
  std::ostringstream text;
  text << media::codec_versions() << "\n";
  write_talk(text, "losses", talk(voice, lossy(40ms, 0.15), copies));
  write_talk(text, "jitter", talk(voice, jittery(40ms, 40ms), fec));
  write_talk(text, "short stall", talk(voice, stalled(40ms, at(5s), at(5'150ms)), fec));
  write_talk(text, "outage", talk(voice, stalled(40ms, at(4s), at(7s)), copies));
  write_talk(text, "longer, then shorter",
             talk(voice, each([](TimePoint sent) {
                    return sent + (sent >= at(4s) && sent < at(9s) ? 140ms : 40ms);
                  }),
                  copies));
  write_talk(
      text, "ever slower clock",
      talk(voice, each([](TimePoint sent) { return sent + 40ms + (sent - kTimeZero) / 100; }),
           fec));
  if (!golden_begins("audio_receiver", media::codec_versions())) {
    GTEST_SKIP() << "recorded with other codecs than " << media::codec_versions();
  }
  expect_golden("audio_receiver", text.str());
}

struct RecordedLink {
  const char* name;
  double concealed_max;
  double p95_ms_max;
};

class AudioOverRecordedLink : public ::testing::TestWithParam<RecordedLink> {};

// The whole link for the audio alone: the jitter buffer under real jitter and real outages.
TEST_P(AudioOverRecordedLink, StaysLiveAndMostlyAudible) {
  const fs::path path = fs::path(CRESS_DATA) / "traces/cellular" / GetParam().name;
  if (!fs::exists(path)) {
    GTEST_SKIP() << "no data: recorded links in " << CRESS_DATA << "/traces/cellular";
  }
  media::SyntheticVoice voice;
  const auto trace = std::make_shared<sim::DeliveryTrace>(sim::load_trace(path));
  const Talk result = talk(voice, over_link(trace), {.length = 120s});
  RecordProperty("concealed", std::to_string(result.concealed(at(10s))));
  RecordProperty("p95_ms", std::to_string(result.mouth_to_ear_ms(0.95, at(10s))));
  EXPECT_LT(result.concealed(at(10s)), GetParam().concealed_max);
  EXPECT_LT(result.mouth_to_ear_ms(0.95, at(10s)), GetParam().p95_ms_max);
}

INSTANTIATE_TEST_SUITE_P(Links, AudioOverRecordedLink,
                         ::testing::Values(RecordedLink{"Verizon-LTE-short.down", 0.05, 200},
                                           RecordedLink{"Verizon-LTE-short.up", 0.05, 170},
                                           RecordedLink{"hsdpa-tram.down", 0.02, 220},
                                           RecordedLink{"nymp-22_2_wifi.down", 0.05, 250}),
                         [](const auto& link) {
                           std::string name = link.param.name;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

}  // namespace
}  // namespace cress::app
