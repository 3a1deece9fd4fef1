#pragma once

#include <memory>
#include <optional>

#include "eval/cellsim/cellsim.hh"
#include "eval/cellsim/link_log.hh"
#include "eval/cellsim/link_score.hh"
#include "transport/sim/link.hh"

namespace cress::cellsim {

/// Scores one direction while it runs and keeps its log, if one is wanted.
/// Errors: as LinkLog. Threads: none inside; one owner.
class DirectionMonitor final : public sim::LinkObserver {
 public:
  enum class Way { kUp, kDown };
  /// `started_at`: the wall clock at the link's start, since 1970. Throws std::runtime_error if the
  /// log cannot be created.
  DirectionMonitor(const PathOptions& path, Way way, Duration started_at);

  /// Options for a link observed by this monitor, which must outlive it. Seeds are those of
  /// `cress-eval run`.
  sim::LinkOptions link_options();

  void handle_queued(TimePoint now, DataSize size) override;
  void handle_dropped(TimePoint now, uint64_t count, DataSize size) override;
  void handle_left(const sim::PacketRecord& record) override;

  /// The link has done everything due until `now`. Throws std::runtime_error, once, if the log can
  /// no longer be written.
  void advance(TimePoint now);
  DirectionReport finish(TimePoint end);

 private:
  const PathOptions& path_;
  Way way_;
  std::shared_ptr<const sim::DeliveryTrace> trace_;
  LinkScore score_;
  std::optional<LinkLog> log_;
};

}  // namespace cress::cellsim
