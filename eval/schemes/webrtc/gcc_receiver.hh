#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "eval/schemes/host/scheme_host.hh"
#include "eval/schemes/webrtc/gcc_packets.hh"
#include "eval/schemes/webrtc/gcc_playout.hh"
#include "media/codec/vp8_decoder.hh"
#include "media/frame/assembler.hh"
#include "media/playout/frame_clock.hh"

namespace cress::schemes {

/// The arrivals of one feedback interval, by transport-wide sequence number. Accepts any peer data.
/// Threads: none inside; one owner.
class GccArrivalLog {
 public:
  void handle_arrival(uint32_t transport_sequence, TimePoint now);
  bool empty() const { return arrivals_.empty(); }
  /// The arrivals since the last call, in messages of at most kGccFeedbackMax; those missing in
  /// between are reported as lost.
  std::vector<GccFeedback> take_feedback(TimePoint now);

 private:
  uint32_t first_ = 0;
  std::deque<std::optional<TimePoint>> arrivals_;  // of first_ and on; the last one has arrived
};

/// Which media packets to request again, and when (libwebrtc's rules): at once, then every round
/// trip, kTriesMax times. Threads: none inside; one owner.
class GccMissing {
 public:
  static constexpr int kTriesMax = 10;
  static constexpr size_t kMissingMax = 1000;
  /// How often it checks for repeated requests.
  static constexpr Duration kInterval = 20ms;

  void handle_arrival(uint32_t media_sequence);
  /// The requests due now. At most kGccNackMax.
  std::vector<uint32_t> take_due(TimePoint now, Duration round_trip);
  TimePoint poll_timeout() const { return missing_.empty() ? kNever : next_look_; }
  /// More was missing than can be requested: everything was discarded, and only a key frame helps.
  bool take_overflow();

 private:
  struct Request {
    int tries = 0;
    TimePoint last{};
  };
  std::map<uint32_t, Request> missing_;
  uint32_t next_ = 0;  // the media sequence number expected next
  bool overflow_ = false;
  TimePoint next_look_{};
};

/// The receiving half of an end: arrival feedback, retransmission requests, key frame requests,
/// reassembly, holding by GccPlayout, decoding and display. Errors: invalid datagrams are dropped.
/// Threads: none inside; one owner.
class GccReceiver {
 public:
  /// libwebrtc: between 50 and 250 ms, so that feedback takes 5 % of the rate; 50 ms from 110
  /// kbit/s up.
  static constexpr Duration kFeedbackInterval = 50ms;
  /// Of key frame requests.
  static constexpr Duration kRequestInterval = 300ms;

  GccReceiver();

  void handle_media(TimePoint now, const GccMedia& media);
  void handle_padding(TimePoint now, const GccPadding& padding);
  void handle_timeout(TimePoint now);
  TimePoint poll_timeout() const;
  /// A datagram for the sender.
  std::optional<std::vector<std::byte>> poll_datagram();
  std::optional<ShownFrame> poll_shown();
  /// Encoded bytes of the displayed frames.
  DataSize delivered() const { return delivered_; }

 private:
  struct Held {
    media::EncodedFrame frame;
    TimePoint show_at{};
  };
  void note_arrival(TimePoint now, uint32_t transport_sequence);
  void note_sent_again(uint32_t frame_id);
  void hold_decodable(TimePoint now);
  void show_due(TimePoint now);
  void send_feedback(TimePoint now);
  void ask(TimePoint now);

  GccArrivalLog log_;
  GccMissing missing_;
  media::Assembler assembler_;
  media::FrameClock clock_;
  media::Vp8Decoder decoder_;
  GccPlayout playout_;
  Duration round_trip_ = 200ms;
  std::map<uint32_t, TimePoint> completed_;  // frames not yet released by the clock
  std::set<uint32_t> sent_again_;            // frames that needed a retransmission, bounded
  std::deque<Held> held_;                    // at most kHeldMax
  std::deque<ShownFrame> shown_;             // drained after each call
  std::deque<std::vector<std::byte>> outgoing_;
  TimePoint feedback_due_ = kNever;
  std::optional<TimePoint> last_request_;
  bool undecodable_ = false;  // since the decoder failed, until the next key frame
  DataSize delivered_;
};

}  // namespace cress::schemes
