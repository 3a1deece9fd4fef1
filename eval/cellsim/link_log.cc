#include "eval/cellsim/link_log.hh"

#include <fmt/format.h>

#include <cerrno>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace cress::cellsim {

LinkLog::LinkLog(const Options& options)
    : path_(options.path),
      file_(options.path, std::ios::binary | std::ios::trunc),
      opportunities_(options.trace) {
  if (!file_) {
    throw std::runtime_error(path_.string() +
                             ": cannot be written: " + std::system_category().message(errno));
  }
  pending_ = fmt::format(
      "# mahimahi mm-link ({}) [{}] > {}\n"
      "# written by cress-eval {}: {} bytes an opportunity, IP packets without a link's header\n"
      "# command line: {}\n"
      "# queue: {}\n"
      "# init timestamp: {}\n"
      "# base timestamp: 0\n",
      options.direction, options.trace_name, path_.string(), CRESS_VERSION,
      sim::kOpportunitySize.bytes(), options.command_line, options.queue,
      std::chrono::floor<std::chrono::milliseconds>(options.started_at).count());
}

void LinkLog::write_opportunities(TimePoint until) {
  while (!has_failed_ && opportunities_.next() < until) {
    fmt::format_to(std::back_inserter(pending_), "{} # {}\n",
                   floor_milliseconds(opportunities_.next()), sim::kOpportunitySize.bytes());
    opportunities_.take();
  }
}

void LinkLog::handle_queued(TimePoint now, DataSize size) {
  if (has_failed_) {
    return;
  }
  write_opportunities(now);  // an opportunity at this instant still serves what arrives now
  fmt::format_to(std::back_inserter(pending_), "{} + {}\n", floor_milliseconds(now), size.bytes());
}

void LinkLog::handle_dropped(TimePoint now, uint64_t count, DataSize size) {
  if (has_failed_) {
    return;
  }
  fmt::format_to(std::back_inserter(pending_), "{} d {} {}\n", floor_milliseconds(now), count,
                 size.bytes());
}

void LinkLog::handle_left(const sim::PacketRecord& record) {
  if (has_failed_) {
    return;
  }
  write_opportunities(record.left + Duration{1});
  fmt::format_to(std::back_inserter(pending_), "{} - {} {}\n", floor_milliseconds(record.left),
                 record.size.bytes(),
                 floor_milliseconds(record.left) - floor_milliseconds(record.sent));
}

void LinkLog::flush(TimePoint now) {
  if (has_failed_) {
    return;
  }
  write_opportunities(now);
  file_ << pending_;
  file_.flush();
  pending_.clear();
  if (!file_) {
    has_failed_ = true;
    throw std::runtime_error(path_.string() +
                             ": cannot be written: " + std::system_category().message(errno));
  }
}

}  // namespace cress::cellsim
