#include "transport/control/cress/cress_control.hh"

#include <algorithm>
#include <cmath>

#include "transport/control/delivery_history.hh"

namespace cress::control {
namespace {

// A report may be lost: each arrival is reported this many times.
constexpr int kTimesReported = 3;
// Reports continue this long after the last datagram that asked for them: "nothing more has
// arrived" is information too.
constexpr Duration kReportsAfterLast = 300ms;
// The window is read this often while it grows.
constexpr Duration kWindowStep = 1ms;
// A report is as old as the round trip when it arrives, and must then promise for the delay target,
// the time to the next report, and a report that is lost.
constexpr Duration kLifeBeyondTrip = 150ms;
constexpr Duration kLifeMost = 1s;
// Longer than the usual pauses of a link: data sent now would only queue.
constexpr Duration kStalledAfter = 300ms;
// The report interval is at least the delay of the queue ahead of it divided by
// kReportsPerLateness: on a link that carries one packet per second, reports alone would otherwise
// fill the queue. In silence it is at least the time since the last arrival divided by
// kReportsPerSilence, and the link counts as carrying kUsualInSilence of its usual rate, if the
// forecast is lower.
constexpr int kReportsPerLateness = 2;
constexpr int kReportsPerSilence = 4;
constexpr double kUsualInSilence = 0.5;
// Where datagrams were lost in this time, a silence is more likely a burst of losses than an
// outage: reports go on until one outlasts the burst (docs/experiments/0028). If such a burst was
// long, so do audio and small frames (docs/experiments/0038).
constexpr Duration kLossyFor = 20s;
// During such a silence reports take up to this share of the usual rate ...
constexpr double kReportsWhereLossy = 0.05;
// ... at no less than this interval: more would delay the other end's datagrams on a shared radio.
constexpr Duration kReportsWhereLossyEvery = 25ms;
constexpr DataSize kReportSize{120};
// With this many expected packets missing, a silence is an outage or a long burst of losses.
constexpr double kDoubtfulPackets = 8;
// Measured: sooner gains nothing, 50 ms cost flows 2 to 4 ms of delay (docs/experiments/0001).
constexpr Duration kHeartbeatIntervalMin = 40ms;
// Beyond sure_life() the forecast goes on at this share of its mean rate: the reverse path is known
// to be slow. The share rises to 1, with steadiness(), while a queue stands on it.
constexpr double kRateInSilence = 0.5;
// Of the forecast, in a silence of which it is not known whether the link or only the reverse path
// is down; of the usual rate, where it may be a burst of losses. If it is the link, its queue then
// takes about a tenth of the outage to empty.
constexpr double kRateInDoubt = 0.1;
// Pacing rate relative to our share of a shared queue: a frame leaves in 1 / 1.5 of its interval.
constexpr double kPacingGain = 1.5;
// Pacing rate relative to the forecast, or to the usual rate, in a queue that marks. A higher rate
// keeps a competing call with Google Congestion Control from its half; a lower one delays frames
// (docs/results/conditions.md).
constexpr double kPacingOfForecast = 0.8;
constexpr DataRate kPacingLeast = DataRate::kilobits_per_second(300);
constexpr DataRate kRateMin = DataRate::kilobits_per_second(1);
// The usual rate forgets half of what it was in this much busy time.
constexpr Duration kUsualHalfLife = 500ms;
// As the link's share of silent time rises from the first to the second, the forecast's quantile
// moves from caution_normal to caution_when_silent. Recorded LTE links are mostly below the first.
constexpr double kSilentLeast = 0.1;
constexpr double kSilentMost = 0.22;
// Frame header and flow of a message (docs/protocol/wire.md).
constexpr DataSize kMessageFraming{4};

}  // namespace

CressControl::CressControl(const Options& options)
    : options_(options),
      belief_(options.belief),
      belief_at_delivery_(options.belief),
      history_(options.datagram_overhead) {}

void CressControl::handle_arrival(TimePoint now, const ArrivedDatagram& datagram) {
  auto at = arrivals_.end();
  while (at != arrivals_.begin() && std::prev(at)->stamp.sequence > datagram.sequence) {
    --at;
  }
  if (at == arrivals_.begin() || std::prev(at)->stamp.sequence != datagram.sequence) {
    const uint64_t next = sequence_after(datagram.sequence, datagram.payload);
    arrivals_.insert(at, {{datagram.sequence, now, datagram.marked}, next});
    ++unreported_;
  }
  if (arrivals_.size() > kArrivalsMax) {
    forget_oldest_arrival(now);
  }
  if (options_.knows_losses_by_time) {
    overtaking_.handle_arrival(now, datagram.sequence);
  }
  if (unreported_ >= kUnreportedMax) {
    report_due_ = now;
  }
  if (datagram.sent_ms) {
    transit_.handle_arrival(now, *datagram.sent_ms);
  }
  if (datagram.asks_for_feedback) {
    asked_until_ = now + kReportsAfterLast;
    report_due_ = std::min(report_due_, std::max(now, reported_at_ + report_interval(now)));
  }
}

std::optional<Feedback> CressControl::poll_feedback(TimePoint now) {
  if (now < report_due_ && now < reported_at_ + pace(now) / 2) {
    return std::nullopt;
  }
  unreported_ = 0;
  Feedback feedback{.made_at = now, .counts = {}, .arrivals = {}};
  feedback.arrivals.reserve(arrivals_.size());
  for (Reported& arrival : arrivals_) {
    feedback.arrivals.push_back(arrival.stamp);
    ++arrival.times;
  }
  while (!arrivals_.empty() && arrivals_.front().times >= kTimesReported) {
    forget_oldest_arrival(now);
  }
  reported_at_ = now;
  const TimePoint next = now + report_interval(now);
  report_due_ = next <= asked_until_ ? next : kNever;
  return feedback;
}

// Counts a gap before the oldest arrival as a loss: what was sent in it has had time to arrive.
void CressControl::forget_oldest_arrival(TimePoint now) {
  const auto& [stamp, next, times] = arrivals_.front();
  lost_at_ = forgotten_before_ && stamp.sequence > *forgotten_before_ ? now : lost_at_;
  forgotten_before_ = std::max(forgotten_before_.value_or(0), next);
  arrivals_.pop_front();
}

Duration CressControl::report_interval(TimePoint now) const {
  const Duration usual = pace(now);
  return transit_.is_clear(now) ? std::max(usual, options_.report_interval_clear) : usual;
}

Duration CressControl::pace(TimePoint now) const {
  const auto base = history_.base_delay();
  if (!base) {
    return options_.report_interval;
  }
  const DataSize queue{static_cast<int64_t>(drained(backlog_, now + *base).bytes)};
  DataRate rate = std::max(forecast_rate().value_or(DataRate{}), kRateMin);
  Duration silence{};
  if (options_.spares_silent_link) {
    // Silence may be a burst of losses, and then the link carries what it usually does. But it may
    // be an outage: reports alone would then fill a slow link.
    rate = std::max(rate, usual_rate().value_or(DataRate{}) * kUsualInSilence);
    silence = spacing_in_silence(now);
  }
  return std::clamp(std::max(queue / rate / kReportsPerLateness, silence), options_.report_interval,
                    options_.report_interval_max);
}

Duration CressControl::spacing_in_silence(TimePoint now) const {
  const Duration spacing = no_news(now) / kReportsPerSilence;
  const auto usual = usual_rate();
  if (!usual || now - lost_at_ >= kLossyFor) {
    return spacing;
  }
  const Duration affordable = kReportSize / std::max(*usual * kReportsWhereLossy, kRateMin);
  return std::min(spacing, std::max(affordable, kReportsWhereLossyEvery));
}

void CressControl::on_sent(TimePoint now, uint64_t sequence, DataSize payload) {
  history_.on_sent(now, sequence, payload);
  const DataSize size = history_.outstanding().back().size;
  queue_.on_sent(now, size);
  marks_.on_sent(now, size);
  if (const auto base = history_.base_delay()) {
    backlog_ = drained(backlog_, now + *base);
    backlog_.bytes += static_cast<double>(size.bytes());
  }
}

void CressControl::handle_feedback(TimePoint now, const Feedback& feedback,
                                   uint64_t /*next_sequence*/, uint64_t /*received_or_lost*/) {
  missed_packets_most_ = 0;
  const Duration silence =
      now + history_.base_delay().value_or(Duration{}) - history_.reported_until();
  const bool is_news = history_.handle_report(
      now, feedback.made_at, feedback.arrivals, missed_packets_ >= kDoubtfulPackets,
      [&](const Exposure& exposure) { learn(now, exposure); });
  if (is_news) {
    watch_queue(now);
    reverse_path_.handle_report(now, feedback.made_at, history_.base_delay(), silence,
                                missed_packets_most_ >= options_.outage_packets);
    look_ahead();
  }
}

void CressControl::watch_queue(TimePoint now) {
  const Duration jitter = history_.reordering().spread();
  const Duration transit = history_.base_delay().value_or(Duration{});
  bool is_congested = history_.lost() > 0;
  lost_at_ = is_congested ? now : lost_at_;
  for (const auto& [sent, at, marked] : history_.arrived()) {
    const TimePoint expected = sent.at + transit;
    queue_.handle_arrival(now, expected + jitter, at, sent.size, now - sent.at, jitter);
    is_congested |= marks_.handle_arrival(now, expected, at, marked, now - sent.at, jitter);
  }
  if (is_congested) {
    queue_.handle_congestion(now);
  }
  if (queue_.is_shared()) {
    history_.keep_base_delay(now);
  }
}

bool CressControl::is_shared(TimePoint now) const {
  return queue_.is_shared() && no_news(now) < queue_.waited() + forecast_life();
}

DataSize CressControl::forecast_total() const {
  return queue_.is_shared() ? queue_.rate() * options_.forecast_life : forecast_total_;
}

void CressControl::learn(TimePoint now, const Exposure& exposure) {
  if (queue_.is_shared()) {
    return;
  }
  if (exposure.replaces_silence) {
    belief_ = belief_at_delivery_;
    silences_ = silences_at_delivery_;
    missed_packets_ = 0;
    burst_at_ = now;
  }
  if (!exposure.busy) {
    belief_.pass_idle(exposure.elapsed);
    silences_.pass_idle(exposure.elapsed);
    return;
  }
  missed_packets_ += belief_.mean_rate() * to_seconds(exposure.elapsed);
  missed_packets_most_ = std::max(missed_packets_most_, missed_packets_);
  missed_packets_ = exposure.packets > 0 ? 0 : missed_packets_;
  silences_.pass_busy(exposure.elapsed, exposure.packets > 0);
  belief_.pass_busy(exposure.elapsed);
  belief_.observe(exposure.packets);
  if (exposure.packets > 0) {
    const double rate = belief_.deliveries(options_.forecast_life, options_.caution_normal) /
                        to_seconds(options_.forecast_life);
    const double past = std::exp2(-to_seconds(exposure.elapsed) / to_seconds(kUsualHalfLife));
    usual_packets_ = rate + past * (usual_packets_.value_or(rate) - rate);
    belief_at_delivery_ = belief_;
    silences_at_delivery_ = silences_;
  }
}

double CressControl::caution() const {
  const double silent =
      std::clamp((silences_.share() - kSilentLeast) / (kSilentMost - kSilentLeast), 0.0, 1.0);
  const double more = std::max(0.0, options_.caution_when_silent - options_.caution_normal);
  return options_.caution_normal + silent * more;
}

double CressControl::deliveries(TimePoint at) const {
  if (missed_packets_ >= options_.outage_packets) {
    return 0;
  }
  const Duration horizon = std::clamp(at - history_.reported_until(), Duration{}, forecast_life());
  const Duration sure = std::min(horizon, sure_life());
  const double packets = belief_.deliveries(sure, caution());
  const double most = reverse_path_.standing_queue() > Duration{} ? 1 : kRateInSilence;
  const double rate = std::lerp(kRateInSilence, most, steadiness());
  const double of_silence =
      horizon > sure ? rate * (to_seconds(horizon) / to_seconds(sure) - 1) : 0;
  return packets * (1 + of_silence) * static_cast<double>(kOpportunitySize.bytes());
}

Duration CressControl::sure_life() const {
  const Duration trip = reverse_path_.least_trip().value_or(Duration{});
  return std::max(options_.forecast_life, std::min(trip + kLifeBeyondTrip, kLifeMost));
}

Duration CressControl::forecast_life() const {
  const Duration sure = sure_life();
  if (options_.forecast_life_max <= options_.forecast_life) {
    return sure;
  }
  // Such a queue may have doubled since the report that waited least.
  const Duration queue = reverse_path_.standing_queue();
  const Duration behind_queue = queue > Duration{} ? sure + 2 * queue : Duration{};
  const Duration harmless = std::min(options_.forecast_life_max, reverse_path_.harmless_silence());
  return std::max({sure, harmless, behind_queue});
}

CressControl::Backlog CressControl::drained(Backlog backlog, TimePoint until) const {
  if (until > backlog.at) {
    const double by_then = deliveries(until);
    const double delivered = by_then - backlog.delivered;
    backlog = {until, std::max(0.0, backlog.bytes - std::max(0.0, delivered)), by_then};
  }
  return backlog;
}

void CressControl::look_ahead() {
  backlog_ = {history_.reported_until(), 0, deliveries(history_.reported_until())};
  const auto base = history_.base_delay();
  if (!base) {
    return;
  }
  forecast_total_ =
      DataSize{static_cast<int64_t>(deliveries(backlog_.at + options_.forecast_life))};
  for (const ExposureHistory::Sent& sent : history_.outstanding()) {
    if (sent.arrived) {
      continue;
    }
    backlog_ = drained(backlog_, sent.at + *base);
    backlog_.bytes += static_cast<double>(sent.size.bytes());
  }
}

DataSize CressControl::window(TimePoint now) const {
  const auto base = history_.base_delay();
  if (!base) {
    return history_.outstanding().empty() ? options_.probe : DataSize{};
  }
  if (is_shared(now)) {
    return queue_.window(now);
  }
  const DataSize window = forecast_window(now, *base);
  return marks_.is_shared() ? std::min(window, marks_.window(now)) : window;
}

DataSize CressControl::forecast_window(TimePoint now, Duration base) const {
  const TimePoint reaches_link = now + base;
  const Backlog queue = drained(backlog_, reaches_link);
  const double before = queue.at == reaches_link ? queue.delivered : deliveries(reaches_link);
  const double room = deliveries(reaches_link + options_.delay_target) - before - queue.bytes;
  const DataSize window{static_cast<int64_t>(std::max(0.0, room))};
  return history_.outstanding().empty() ? std::max(window, options_.probe) : window;
}

DataSize CressControl::outstanding(TimePoint now) const {
  if (is_shared(now)) {
    return {};
  }
  const auto base = history_.base_delay();
  if (!base) {
    return history_.outstanding_size();
  }
  const DataSize queue{static_cast<int64_t>(drained(backlog_, now + *base).bytes)};
  return std::max(queue - delivered_in_doubt(now, *base), DataSize{});
}

DataSize CressControl::delivered_in_doubt(TimePoint now, Duration base) const {
  DataRate rate = usual_rate().value_or(DataRate{});
  TimePoint known_until = history_.last_arrival();
  if (now - burst_at_ >= kLossyFor) {
    if (missed_packets_ >= options_.outage_packets) {
      return {};
    }
    rate = std::min(rate, forecast_rate().value_or(DataRate{}));
    known_until = history_.reported_until();
  }
  const Duration silence = now + base - known_until - forecast_life();
  return rate * kRateInDoubt * std::max(silence, Duration{});
}

Duration CressControl::no_news(TimePoint now) const {
  const auto base = history_.base_delay();
  return !base || history_.outstanding().empty() ? Duration{}
                                                 : now + *base - history_.last_arrival();
}

DataSize CressControl::message_overhead() const {
  return options_.datagram_overhead + kMessageFraming;
}

std::optional<DataRate> CressControl::forecast_rate() const {
  if (!history_.base_delay()) {
    return std::nullopt;
  }
  const DataRate rate = DataRate::from(forecast_total(), options_.forecast_life);
  return marks_.is_shared() ? std::min(rate, marks_.rate()) : rate;
}

std::optional<DataRate> CressControl::usual_rate() const {
  if (queue_.is_shared() || !usual_packets_) {
    return std::nullopt;
  }
  return DataRate::bits_per_second(
      static_cast<int64_t>(*usual_packets_ * static_cast<double>(kOpportunitySize.bits())));
}

Duration CressControl::heartbeat_interval(TimePoint now, Duration usual) const {
  if (options_.heartbeats_per_age == 0) {
    return std::max(usual, pace(now));
  }
  const Duration age = history_.base_delay() && !history_.outstanding().empty()
                           ? now - history_.newest_arrived_sent()
                           : Duration{};
  return std::clamp(age / options_.heartbeats_per_age, kHeartbeatIntervalMin,
                    options_.report_interval_max);
}

Duration CressControl::patience(TimePoint now) const {
  return no_news(now) > std::max(kStalledAfter, sure_life()) ? Duration::max() : options_.patience;
}

// A burst into a queue that is full is lost as a whole; spread out, it finds the places that free
// up. A queue that marks would mark a burst, and what others send behind it.
Duration CressControl::spacing(TimePoint now, DataSize size) const {
  const DataSize whole = size + options_.datagram_overhead;
  if (is_shared(now)) {
    return whole / (queue_.rate() * kPacingGain);
  }
  if (marks_.is_shared()) {
    return whole / (marks_.rate() * kPacingGain);
  }
  if (!marks_.marks(now)) {
    return {};
  }
  // Between reports the forecast runs out; the link does not.
  const DataRate rate = std::max(forecast_rate(), usual_rate()).value_or(DataRate{});
  return whole / std::max(rate * kPacingOfForecast, kPacingLeast);
}

Duration CressControl::reordering_max() const {
  return std::max(kThrowawayInterval, history_.reordering().sent_before_max());
}

TimePoint CressControl::next_change(TimePoint now) const {
  const auto base = history_.base_delay();
  if (!base || now + *base > history_.reported_until() + forecast_life()) {
    return kNever;
  }
  return now + kWindowStep;
}

}  // namespace cress::control
