#include "eval/cellsim/direction_monitor.hh"

namespace cress::cellsim {
namespace {

std::string name_of(DirectionMonitor::Way way) {
  return way == DirectionMonitor::Way::kUp ? "uplink" : "downlink";
}

}  // namespace

DirectionMonitor::DirectionMonitor(const PathOptions& path, Way way, Duration started_at)
    : path_(path),
      way_(way),
      trace_(way == Way::kUp ? path.up : path.down),
      score_(trace_, path.delay, path.skip) {
  if (!path.log_folder.empty()) {
    log_.emplace(LinkLog::Options{.path = path.log_folder / (name_of(way) + ".log"),
                                  .direction = name_of(way),
                                  .trace_name = path.name,
                                  .queue = path.queue,
                                  .command_line = path.command_line,
                                  .started_at = started_at,
                                  .trace = trace_});
  }
}

sim::LinkOptions DirectionMonitor::link_options() {
  constexpr uint64_t kQueueStream = 100;
  const uint64_t stream = way_ == Way::kDown ? 1 : 2;
  const Rng rng{path_.seed};
  sim::LinkOptions options;
  options.trace = trace_;
  options.propagation = path_.delay;
  options.detours = path_.detours;
  options.loss = path_.loss;
  options.jitter = path_.jitter;
  options.burst_loss = path_.burst_loss;
  options.duplicate = path_.duplicate;
  options.seed = rng.fork(stream).next();
  if (path_.make_queue) {
    options.queue = path_.make_queue(rng.fork(stream + kQueueStream));
  }
  options.observer = this;
  return options;
}

void DirectionMonitor::handle_queued(TimePoint now, DataSize size) {
  if (log_) {
    log_->handle_queued(now, size);
  }
}

void DirectionMonitor::handle_dropped(TimePoint now, uint64_t count, DataSize size) {
  score_.handle_dropped(count);
  if (log_) {
    log_->handle_dropped(now, count, size);
  }
}

void DirectionMonitor::handle_left(const sim::PacketRecord& record) {
  score_.handle_left(record);
  if (log_) {
    log_->handle_left(record);
  }
}

void DirectionMonitor::advance(TimePoint now) {
  score_.advance(now);
  if (log_) {
    log_->flush(now);
  }
}

DirectionReport DirectionMonitor::finish(TimePoint end) {
  DirectionReport report;
  report.direction = name_of(way_);
  report.score = score_.finish(end);
  return report;
}

}  // namespace cress::cellsim
