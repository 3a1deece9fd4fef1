#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "eval/schemes/webrtc/gcc_rate_control.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"

namespace cress::schemes {

/// libwebrtc's: three and six times the start rate. Empty factors: no probing at the start.
struct GccProberOptions {
  std::vector<double> factors{3, 6};
  int64_t packets_min = 5;
  Duration duration_min = 15ms;
};

/// Sends short bursts above the target to learn whether the link carries more (libwebrtc's initial
/// probing; the draft has none). Threads: none inside; one owner.
class GccProber {
 public:
  GccProber(DataRate start, const GccProberOptions& options);

  /// When a packet must be sent: media if there is any, padding otherwise. kNever: none.
  TimePoint poll_timeout() const;
  /// Probing begins with the first packet of the call.
  void handle_first_packet(TimePoint now);
  /// A packet was sent as part of the probe. Returns its cluster.
  int handle_sent(TimePoint now, DataSize size);
  /// The result of a packet of `cluster`. Returns a rate once enough of the cluster has arrived.
  std::optional<DataRate> handle_result(int cluster, const GccPacketResult& result);

 private:
  struct Cluster {
    DataRate rate;
    int64_t packets_sent = 0;
    DataSize sent{};
    TimePoint started{};
    int64_t packets_arrived = 0;
    DataSize arrived{};
    DataSize last_sent_size{};
    DataSize first_arrived_size{};
    TimePoint first_sent{};
    TimePoint last_sent{};
    TimePoint first_arrival{};
    TimePoint last_arrival{};
    bool reported = false;
  };
  bool is_complete(const Cluster& cluster) const;
  std::optional<DataRate> measured(const Cluster& cluster) const;

  GccProberOptions options_;
  std::vector<Cluster> clusters_;
  size_t current_ = 0;  // the one being sent; clusters_.size() when all are
  bool begun_ = false;
};

}  // namespace cress::schemes
