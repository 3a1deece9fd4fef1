#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "app/call/audio_sender.hh"
#include "app/call/late_parity.hh"
#include "app/call/media_seal.hh"
#include "app/call/preference.hh"
#include "app/call/video_sender.hh"
#include "transport/session/endpoint.hh"

namespace cress::app {

/// The share of messages that the network lost lately: over about the last two hundred, so that a
/// few per cent can be distinguished from none. Messages dropped from our own queue do not count.
/// Threads: none inside; one owner.
class LossMeter {
 public:
  void handle_outcome(session::MessageOutcome::Kind kind) {
    if (kind != session::MessageOutcome::Kind::kDropped) {
      const double lost = kind == session::MessageOutcome::Kind::kLost ? 1 : 0;
      share_ += (lost - share_) / kMessages;
    }
  }
  /// 0..1.
  double share() const { return share_; }

 private:
  static constexpr double kMessages = 200;
  double share_ = 0;
};

struct CallSenderOptions {
  /// How this end's camera is encoded; empty: this end only receives.
  std::optional<VideoSenderOptions> video;
  /// See CallOptions.
  bool pads_window = false;
  bool trickles = true;
  MotionTrade trade{};
  /// Pictures are handed out by poll_encode_work instead of being encoded at once.
  bool hands_out_encoding = false;
  /// Borrowed; null: media are sent without end-to-end encryption.
  MediaSeal* seal = nullptr;
};

/// Opens the flows that carry a call (docs/protocol/wire.md, "Flows"). `tell_control`: outcomes of
/// control messages are reported, too.
void open_call_flows(session::Endpoint& endpoint, bool tell_control = false);

/// Sends one person's camera and microphone over a session. Audio is sent first, at once. A
/// captured picture is encoded at once to fit the current window, or skipped; it never waits for a
/// larger window. While the window is closed a small frame is still sent occasionally. Threads:
/// none inside; one owner; encoding may take place in another (hands_out_encoding). `now` never
/// goes back.
class CallSender {
 public:
  /// `endpoint` is borrowed, must outlive this and has the flows of a call open.
  CallSender(TimePoint start, CallSenderOptions options, session::Endpoint& endpoint);

  /// A picture of the own camera, just captured; pictures are numbered from 0. Not while the one
  /// before is being encoded.
  void capture(TimePoint now, const media::PicturePtr& picture);
  /// The picture just captured, to be run once, in any thread; null: none, or it was handed out.
  std::shared_ptr<EncodeWork> poll_encode_work() { return std::exchange(to_encode_, nullptr); }
  /// Its work has been run, with any delay. No effect for another sender's work.
  void handle_encoded(TimePoint now, EncodeWork& work);
  /// 20 ms of the own microphone; the last sample was captured just now.
  void capture_sound(TimePoint now, const media::AudioFrame& samples);

  void handle_outcome(TimePoint now, const session::MessageOutcome& outcome);
  void handle_report(const FrameReport& report);
  void handle_key_frame_request(TimePoint now);
  /// An upper bound for the video rate, whatever the window allows; nullopt: no such limit. At 0 no
  /// pictures are encoded.
  void set_video_rate_max(TimePoint now, std::optional<DataRate> rate);

  /// The outcome of each captured picture, in order.
  std::optional<CodedVideo> poll_coded();
  /// The share (0..1) of own messages recently lost in the network.
  double loss() const { return loss_.share(); }

 private:
  struct SentSound {
    TimePoint at{};
    DataSize size;
  };
  /// The video budget under set_video_rate_max.
  struct RateMax {
    DataRate rate;
    DataSize credit;
    TimePoint at{};
  };

  DataSize message_max() const;
  DataSize message_overhead() const;
  std::optional<DataSize> frame_budget(TimePoint now);
  std::optional<DataSize> trickle_budget(TimePoint now) const;
  /// AdaptiveEncoder's `need_weight` for the picture just captured.
  double weigh_need(TimePoint now, bool is_closed);
  DataSize limit(TimePoint now, DataSize budget);
  DataSize sound_backlog_max() const;
  DataRate usual_rate() const;
  /// MotionTrade::frame_share, which grows while no frame leaves.
  double frame_share(TimePoint now) const;
  /// MotionTrade::plenty, or that of a steady link, or between them.
  Plenty plenty(TimePoint now) const;
  /// What frames leave to audio: as much as the audio of the last 60 ms took.
  DataSize sound_reserve(TimePoint now);
  void send_fragment(TimePoint now, uint32_t frame_id, std::vector<std::byte> message,
                     session::Leave leave);
  int parity_of(TimePoint now, DataSize size);
  /// The part of the window that a frame and its parity may take, where messages are lost.
  double part_with_parity() const;
  /// Smoothed; zero until one was measured.
  Duration round_trip() const;
  void send_frame(TimePoint now, const media::EncodedFrame& frame, session::Leave leave);
  void doubt_references(TimePoint now, DataSize budget);
  void pad(TimePoint now);

  session::Endpoint& endpoint_;
  bool pads_window_;
  bool trickles_;
  MotionTrade trade_;
  MediaSeal* seal_;
  LossMeter loss_;
  LateParity late_parity_;
  uint64_t heard_ = 0;  // datagrams of the other end
  TimePoint heard_at_;
  TimePoint doubted_at_;

  bool hands_out_encoding_;
  std::optional<VideoSender> video_sender_;
  std::shared_ptr<EncodeWork> encoding_;                  // the picture that is being encoded
  std::shared_ptr<EncodeWork> to_encode_;                 // the same until it is handed out
  session::Leave leave_ = session::Leave::kWithinWindow;  // of that picture's frame
  std::deque<CodedVideo> coded_;  // grows by one per picture and is drained after it
  uint32_t next_frame_id_ = 0;
  TimePoint last_frame_at_;
  TimePoint captured_at_;
  double closed_share_ = 0;  // of recent time, 0..1
  std::optional<RateMax> rate_max_;

  AudioSender audio_sender_;
  std::deque<SentSound> recent_sound_;  // at most what kSoundReserve holds
};

}  // namespace cress::app
