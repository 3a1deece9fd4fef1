#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/harness/cross.hh"
#include "eval/harness/queue_spec.hh"
#include "eval/harness/worst_moments.hh"
#include "eval/metrics/window.hh"
#include "eval/schemes/registry.hh"
#include "media/source/video_source.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"

namespace cress::harness {

/// Both directions of an emulated path. `forward` runs over `down`, `reverse` over `up`.
struct LinkSpec {
  std::string name;
  std::shared_ptr<const sim::DeliveryTrace> down;
  std::shared_ptr<const sim::DeliveryTrace> up;
  Duration delay = 20ms;               ///< propagation, each way
  std::vector<sim::Detour> detours{};  ///< each way
  double loss = 0;                     ///< Bernoulli, each way
  Duration jitter{};  ///< uniform from 0, each way, for each packet alone: reorders
  sim::BurstLoss burst_loss{};
  double duplicate = 0;  ///< share of packets, each way
  QueueSpec queue;
};

/// Simulated encoding time of a real machine, per pixel of the camera's picture; measured with one
/// core of the machine that produced the results.
struct ProcessingTime {
  Duration encode_per_megapixel = 5200us;  ///< per attempt
  Duration decode_per_megapixel = 2600us;

  Duration of(int64_t pixels, int attempts) const {
    return (attempts * encode_per_megapixel + decode_per_megapixel) * pixels / 1'000'000;
  }
};

/// One scheme over one link, once. Equal specs give equal outputs.
struct RunSpec {
  std::string scheme;
  LinkSpec link;
  Duration duration = 120s;
  Duration skip = 10s;  ///< not scored
  uint64_t seed = 1;
  /// Empty: a saturating one-way flow. Otherwise a call; the video of each end (may be the same
  /// object).
  std::shared_ptr<media::VideoSource> forward_video;
  std::shared_ptr<media::VideoSource>
      reverse_video;  ///< empty: only the forward direction carries media
  /// The audio of each end of a call; empty: that end sends none.
  std::shared_ptr<media::AudioSource> forward_sound;
  std::shared_ptr<media::AudioSource> reverse_sound;
  /// Other traffic in the same queues.
  std::vector<CrossFlow> cross;
  /// Camera and microphone of the calls among it: `number` is 2i for the sending end of flow i, and
  /// 2i + 1 for the other end, if it sends too. Empty: synthetic pictures, no audio.
  std::function<schemes::CallMedia(size_t number)> cross_media;
  /// Charged to each frame's delay: the simulated machines code in no time, real ones don't.
  ProcessingTime processing;
  /// Called for every displayed picture and every 20 ms played, in order (may be empty): for films.
  /// The direction is that of the media.
  std::function<void(const std::string& direction, const schemes::ShownFrame&)> on_shown;
  std::function<void(const std::string& direction, const app::PlayedAudio&)> on_played;

  metrics::Window window() const { return {kTimeZero + skip, kTimeZero + duration}; }
};

/// The measures of docs/method.md, as the viewer experienced them.
struct VideoResult {
  double bitrate_kbps = 0;  ///< encoded video handed to the transport
  std::optional<double> frame_delay_p50_ms, frame_delay_p95_ms, frame_delay_p99_ms;
  std::optional<double> ssim_db, psnr_db;
  int64_t frames_captured = 0;
  int64_t frames_displayed = 0;
  int64_t freezes = 0;
  double frozen_s = 0;
  int64_t key_frames = 0;
  int64_t freezes_w3c = 0;
  double frozen_w3c_s = 0;
  int64_t gaps_500ms = 0;  ///< between displayed frames, longer than that
  double harmonic_fps = 0;
  double live_ssim_db = 0;
};

/// What the listener heard (eval/metrics/audio.hh).
struct SoundResult {
  std::optional<double> mouth_to_ear_p50_ms, mouth_to_ear_p95_ms;
  std::optional<double> concealed;  ///< share
};

struct DirectionResult {
  std::string scheme;
  std::string link;
  std::string direction;  ///< "forward" or "reverse"
  uint64_t seed = 0;
  metrics::Window window;
  double capacity_kbps = 0;
  double throughput_kbps = 0;
  double goodput_kbps = 0;
  double utilization = 0;
  std::optional<double> delay95_ms, omniscient95_ms, self_inflicted_ms;
  std::optional<double> delay50_ms;
  int64_t packets_delivered = 0;
  int64_t packets_lost = 0;     ///< by random loss
  int64_t packets_dropped = 0;  ///< by the queue
  std::optional<VideoResult> video;
  std::optional<SoundResult> sound;
  std::optional<Sharing> sharing;  ///< with other traffic
};

inline constexpr Duration kTimelineBin = 100ms;

struct TimelineRow {
  std::string scheme{};
  std::string link{};
  std::string direction{};
  Duration time{};  ///< start of the bin
  double capacity_kbps = 0;
  double throughput_kbps = 0;
  std::optional<double> delay_ms{};  ///< the maximum in the bin
  std::optional<int64_t> window_bytes{};
  std::optional<double> forecast_kbps{};
};

struct FrameRow {
  std::string scheme{};
  std::string link{};
  std::string direction{};
  uint32_t frame = 0;
  Duration captured{};
  std::optional<Duration> shown{};
  int64_t size_bytes = 0;  ///< 0: skipped
  std::optional<int64_t> budget_bytes{};
  int quantizer = 0;
  bool key_frame = false;
  std::optional<double> ssim_db{};
  std::optional<double> psnr_db{};
};

/// A moment displayed in the report, with its picture.
struct MomentRow {
  std::string scheme{};
  std::string link{};
  std::string direction{};
  WorstMoment worst{};
};

struct RunOutput {
  std::vector<DirectionResult> results;
  std::vector<TimelineRow> timeline;
  std::vector<FrameRow> frames;
  std::vector<MomentRow> moments;
};

/// Simulates and scores. `on_progress` (may be empty) is called with the share done, 0..1. Throws
/// std::invalid_argument for a scheme that does not exist or does not support the request.
RunOutput run(const RunSpec& spec, const schemes::SchemeContext& context,
              const std::function<void(double)>& on_progress = {});

}  // namespace cress::harness
