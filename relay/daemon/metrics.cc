#include "relay/daemon/metrics.hh"

#include <CivetServer.h>
#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cress::relay {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  void gauge(const char* name, const char* help, double value) {
    ClientMetric metric;
    metric.gauge.value = value;
    add(name, help, MetricType::Gauge, {metric});
  }
  void counter(const char* name, const char* help, uint64_t value) {
    add(name, help, MetricType::Counter, {count(value)});
  }
  using Labelled = std::vector<std::pair<const char*, uint64_t>>;
  void counters(const char* name, const char* help, const char* label, const Labelled& values) {
    std::vector<ClientMetric> metrics;
    for (const auto& [kind, value] : values) {
      metrics.push_back(count(value));
      metrics.back().label.push_back({label, kind});
    }
    add(name, help, MetricType::Counter, std::move(metrics));
  }
  void histogram(const char* name, const char* help, const DurationHistogram& values) {
    ClientMetric metric;
    uint64_t total = 0;
    for (size_t i = 0; i < values.counts().size(); ++i) {
      total += values.counts().at(i);
      metric.histogram.bucket.push_back({total, i < DurationHistogram::kBounds.size()
                                                    ? to_seconds(DurationHistogram::kBounds.at(i))
                                                    : std::numeric_limits<double>::infinity()});
    }
    metric.histogram.sample_count = total;
    metric.histogram.sample_sum = to_seconds(values.sum());
    add(name, help, MetricType::Histogram, {metric});
  }
  std::string text() const { return prometheus::TextSerializer{}.Serialize(families_); }

 private:
  static ClientMetric count(uint64_t value) {
    ClientMetric metric;
    metric.counter.value = static_cast<double>(value);
    return metric;
  }
  void add(const char* name, const char* help, MetricType type, std::vector<ClientMetric> metrics) {
    families_.push_back({std::string{"cress_relay_"} + name, help, type, std::move(metrics)});
  }

  std::vector<MetricFamily> families_;
};

void add_door(Families& out, const secure::ListenerStats& door) {
  out.counter("datagrams_received_total", "of whatever kind", door.datagrams_received);
  out.counter("datagrams_sent_total", "of whatever kind", door.datagrams_sent);
  out.counter("bytes_received_total", "UDP payload", door.bytes_received);
  out.counter("bytes_sent_total", "UDP payload", door.bytes_sent);
  out.counter("handshakes_total", "begun", door.handshakes_begun);
  out.counters("refused_total", "datagrams and handshakes that were not taken", "reason",
               {{"unknown_kind", door.unknown_kind},
                {"truncated", door.truncated},
                {"bad_tag", door.bad_tag},
                {"unknown_key", door.unknown_key},
                {"replayed", door.replayed},
                {"without_session", door.without_session},
                {"bad_handshake", door.bad_handshake},
                {"handshake_failed", door.handshakes_failed},
                {"rate_limited", door.rate_limited},
                {"ignored", door.ignored},
                {"over_limit", door.over_limit},
                {"full", door.full}});
}

void add_joins(Families& out, const JoinsRefused& refused) {
  out.counters("joins_refused_total", "by why", "reason",
               {{"wrong_key", refused.wrong_key},
                {"closed_room", refused.closed_room},
                {"room_full", refused.room_full},
                {"relay_full", refused.relay_full},
                {"draining", refused.draining}});
}

void add_calls(Families& out, const CallRelayStats& calls) {
  out.counter("calls_begun_total", "both ends have met", calls.begun);
  out.counter("call_datagrams_forwarded_total", "of calls of two", calls.datagrams);
  out.counter("call_bytes_forwarded_total", "of calls of two, UDP payload", calls.bytes);
  out.counters("call_refused_total", "datagrams and requests of calls that were not taken",
               "reason",
               {{"over_rate", calls.over_rate},
                {"over_time", calls.over_time},
                {"without_other", calls.without_other},
                {"bad_signature", calls.bad_signature},
                {"malformed", calls.malformed},
                {"rate_limited", calls.rate_limited},
                {"busy", calls.refused_busy},
                {"full", calls.refused_full}});
}

void add_rooms(Families& out, const RoomStats& rooms) {
  out.counter("joins_total", "members let in", rooms.joins);
  out.counter("leaves_total", "members gone", rooms.leaves);
  out.counter("frames_left_out_total", "for one receiver each: its link was too narrow",
              rooms.frames_left_out);
  out.counter("frames_missed_total", "for one receiver each: lost beyond repeating, or too late",
              rooms.frames_missed);
  out.counter("fragments_received_total", "of pictures", rooms.fragments_in);
  out.counter("fragments_forwarded_total", "of pictures", rooms.fragments_out);
  out.counter("fragments_repeated_total", "of those forwarded", rooms.fragments_repeated);
  out.counter("sounds_received_total", "messages of sound", rooms.sounds_in);
  out.counter("sounds_forwarded_total", "messages of sound", rooms.sounds_out);
  out.counter("key_frame_requests_total", "to senders", rooms.key_frame_requests);
  out.counters("member_refused_total", "what members sent and was not taken", "reason",
               {{"joins", rooms.refused_joins},
                {"datagrams_over_limit", rooms.datagrams_over_limit},
                {"datagrams_malformed", rooms.datagrams_malformed},
                {"messages_malformed", rooms.messages_malformed},
                {"control_over_limit", rooms.control_over_limit},
                {"frames_over_limit", rooms.frames_over_limit},
                {"sounds_over_limit", rooms.sounds_over_limit},
                {"proofs_over_limit", rooms.proofs_over_limit},
                {"shares_over_limit", rooms.shares_over_limit},
                {"chats_over_limit", rooms.chats_over_limit},
                {"fragments", rooms.fragments_refused},
                {"sounds", rooms.sounds_left_out}});
}

void add_network(Families& out, const runtime::DriverStats& network) {
  out.counters("send_failed_total", "datagrams that the machine's network did not take", "reason",
               {{"too_large", network.send_too_large},
                {"unroutable", network.send_unroutable},
                {"no_buffer", network.send_no_buffer},
                {"overflow", network.send_overflow}});
}

}  // namespace

void DurationHistogram::add(Duration value) {
  const auto bound = std::ranges::lower_bound(kBounds, value);
  ++counts_.at(static_cast<size_t>(bound - kBounds.begin()));
  sum_ += value;
}

std::string format_metrics(const RelayMetrics& metrics) {
  Families out;
  out.gauge("members", "in all rooms", static_cast<double>(metrics.members));
  out.gauge("live_rooms", "with somebody in them", static_cast<double>(metrics.live_rooms));
  out.gauge("open_rooms", "that may be entered", static_cast<double>(metrics.open_rooms));
  out.gauge("calls", "of two, with at least one end here", static_cast<double>(metrics.calls));
  out.gauge("draining", "1: members are being told to come back later", metrics.is_draining);
  out.gauge("resident_bytes", "memory of the process", static_cast<double>(metrics.resident_bytes));
  out.histogram("wait_seconds", "from the kernel's receipt of a datagram until it is looked at",
                metrics.wait);
  add_door(out, metrics.door);
  add_joins(out, metrics.joins_refused);
  add_calls(out, metrics.call_stats);
  add_rooms(out, metrics.rooms);
  add_network(out, metrics.network);
  return out.text();
}

class MetricsServer::Impl {
 public:
  explicit Impl(const std::string& address) {
    try {
      server_ = std::make_unique<CivetServer>(std::vector<std::string>{
          "listening_ports", address, "num_threads", "2", "request_timeout_ms", "2000",
          "keep_alive_timeout_ms", "0", "connection_queue", "16"});
    } catch (const CivetException&) {
      throw std::runtime_error(fmt::format(
          "metrics = \"{}\": nothing can listen there: in use, or no ADDRESS:PORT", address));
    }
    server_->addHandler("/metrics", page_);
    server_->addHandler("/healthz", health_);
    server_->addHandler("/readyz", ready_);
  }
  void publish(const RelayMetrics& metrics) {
    page_.set("200 OK", "text/plain; version=0.0.4; charset=utf-8", format_metrics(metrics));
    health_.set("200 OK", "text/plain", "ok\n");
    ready_.set(metrics.is_draining ? "503 Service Unavailable" : "200 OK", "text/plain",
               metrics.is_draining ? "draining\n" : "ready\n");
  }
  int port() const { return server_->getListeningPorts().front(); }

 private:
  // One answer, replaced as a whole.
  class Page : public CivetHandler {
   public:
    void set(const char* status, const char* type, std::string body) {
      std::string answer = fmt::format(
          "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
          status, type, body.size(), body);
      const std::lock_guard lock{mutex_};
      answer_ = std::move(answer);
    }
    bool handleGet(CivetServer* /*server*/, mg_connection* connection) override {
      std::string answer;
      {
        const std::lock_guard lock{mutex_};
        answer = answer_;
      }
      return mg_write(connection, answer.data(), answer.size()) >= 0;
    }

   private:
    std::mutex mutex_;
    std::string answer_ = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
  };

  Page page_;
  Page health_;
  Page ready_;
  std::unique_ptr<CivetServer> server_;  // ends before its pages
};

MetricsServer::MetricsServer(const std::string& address) : impl_(std::make_unique<Impl>(address)) {}
MetricsServer::~MetricsServer() = default;
void MetricsServer::publish(const RelayMetrics& metrics) { impl_->publish(metrics); }
int MetricsServer::port() const { return impl_->port(); }

}  // namespace cress::relay
