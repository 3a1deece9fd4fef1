#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "eval/cellsim/link_score.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/sim/link.hh"

namespace cress::cellsim {

/// The events of one direction, as lines in the format of Mahimahi's link logs
/// (docs/guide/cress-eval.md, "cellsim"):
///   T + BYTES         a packet arrived at the queue
///   T # BYTES         an opportunity, used or not
///   T - BYTES WAITED  a packet left, WAITED ms after its arrival
///   T d PACKETS BYTES the queue dropped
/// T: whole milliseconds since the link's start. Bytes are of IP packets, without the four bytes
/// that Mahimahi adds. In order of time. Errors: the constructor throws std::runtime_error; flush()
/// reports a failed write (a full disk), once, and the log ends. Threads: none inside; one owner.
class LinkLog {
 public:
  struct Options {
    std::filesystem::path path;
    std::string direction;  ///< "uplink" or "downlink"
    std::string trace_name;
    std::string queue;
    std::string command_line;
    Duration started_at{};  ///< on the wall clock, since 1970
    std::shared_ptr<const sim::DeliveryTrace> trace;
  };
  explicit LinkLog(const Options& options);

  void handle_queued(TimePoint now, DataSize size);
  void handle_dropped(TimePoint now, uint64_t count, DataSize size);
  void handle_left(const sim::PacketRecord& record);
  /// All events before `now` are known: writes them to the disk. Throws std::runtime_error "PATH:
  /// what" if that failed.
  void flush(TimePoint now);

 private:
  void write_opportunities(TimePoint until);

  std::filesystem::path path_;
  std::ofstream file_;
  bool has_failed_ = false;
  OpportunityWalk opportunities_;
  std::string pending_;
};

}  // namespace cress::cellsim
