#include "app/ui/model/history.hh"

#include "transport/base/check.hh"

namespace cress::ui {

void History::add(const LinkSample& sample) {
  check(samples_.empty() || samples_.back().at <= sample.at, "History: a sample from the past");
  // One sample older than the span stays, so that a line reaches the graph's left edge.
  while (samples_.size() >= 2 && samples_[1].at < sample.at - kHistorySpan) {
    samples_.pop_front();
  }
  if (samples_.size() == kHistorySamplesMax) {
    samples_.pop_front();
  }
  samples_.push_back(sample);
}

}  // namespace cress::ui
