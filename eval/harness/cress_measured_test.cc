// Goal: scheme cress under a source that takes exactly what the window allows, over recorded links
// on which it was not tuned, and over generated ones with and without loss. The numbers printed are
// in docs/results/cress-flows.md. Calls and saturating flows need no test: cress-eval runs them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "eval/harness/run.hh"
#include "eval/metrics/delay_over_time.hh"
#include "traces/link_model.hh"
#include "traces/links.hh"
#include "transport/base/rng.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/session/endpoint.hh"
#include "transport/sim/world.hh"

namespace cress::harness {
namespace {

namespace fs = std::filesystem;

const fs::path kData = CRESS_DATA;

struct RecordedLink {
  std::string name;  // with the direction
  LinkSpec spec;
  Duration duration;
  Duration skip;
};

/// Both directions of the four links of the paper's authors: 60 to 760 s, of the short one 10 to
/// 140.
std::vector<RecordedLink> recorded_links() {
  std::vector<RecordedLink> links;
  for (const char* name :
       {"Verizon-LTE-short", "ATT-LTE-driving", "TMobile-UMTS-driving", "Verizon-EVDO-driving"}) {
    traces::NamedLink named = traces::resolve_link(name, kData);
    const bool is_short = std::string_view{name}.ends_with("short");
    const auto down = std::make_shared<const sim::DeliveryTrace>(std::move(named.down));
    const auto up = std::make_shared<const sim::DeliveryTrace>(std::move(named.up));
    const auto add = [&](const char* direction, auto forward, auto reverse) {
      RecordedLink link{
          .name = std::string{name} + direction, .spec = {}, .duration = {}, .skip = {}};
      link.spec.name = name;
      link.spec.down = forward;
      link.spec.up = reverse;
      link.duration = is_short ? 140s : 760s;
      link.skip = is_short ? 10s : 60s;
      links.push_back(std::move(link));
    };
    add(" down", down, up);
    add(" up", up, down);
  }
  return links;
}

constexpr uint64_t kSeeds = 5;

/// The generated links, down, generated again with each seed; 120 s, scored from 10 s on.
RecordedLink generated_link(std::string_view name, uint64_t seed) {
  RecordedLink link{.name = std::string{name} + " down", .spec = {}, .duration = 120s, .skip = 10s};
  link.spec.name = name;
  const auto made = [&](traces::Direction direction) {
    const uint64_t drawn = traces::embedded_seed(name, direction) + seed - 1;
    return std::make_shared<const sim::DeliveryTrace>(
        traces::generate(traces::embedded_model(name, direction), link.duration, drawn));
  };
  link.spec.down = made(traces::Direction::kDown);
  link.spec.up = made(traces::Direction::kUp);
  return link;
}

/// Statistics of one measure over seeds.
struct Spread {
  std::vector<double> values;

  double mean() const {
    double sum = 0;
    for (const double value : values) {
      sum += value;
    }
    return sum / static_cast<double>(values.size());
  }
  double deviation() const {
    double sum = 0;
    for (const double value : values) {
      sum += (value - mean()) * (value - mean());
    }
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
  }
  double least() const { return *std::ranges::min_element(values); }
  double most() const { return *std::ranges::max_element(values); }
};

class CressMeasured : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kData / "traces" / "cellular")) {
      GTEST_SKIP() << "no data: recorded links at " << kData << " (set CRESS_DATA)";
    }
  }
  schemes::SchemeContext context_;
};

/// A source whose frame every thirtieth of a second is exactly what the window permits, at most 4
/// Mbit/s, and a small frame every 200 ms if it permits nothing: an encoder without its errors.
class ElasticSource final : public Machine {
 public:
  struct Shown {
    TimePoint captured{};
    TimePoint shown{};
  };

  explicit ElasticSource(TimePoint start, bool sends)
      : endpoint_(start, {},
                  std::make_unique<control::CressControl>(control::CressControl::Options{})),
        next_(sends ? start : kNever),
        last_(start - 1s) {
    endpoint_.open_flow(session::kVideoFlow,
                        {.priority = session::Priority::kVideo, .report_outcomes = false});
  }

  void handle_datagram(TimePoint now, const Address& /*from*/,
                       std::span<const std::byte> bytes) override {
    (void)endpoint_.handle_datagram(now, bytes);
    while (const auto message = endpoint_.poll_message()) {
      Header header;
      std::memcpy(&header, message->bytes.data(), sizeof header);
      if (++arrived_[header.frame] == header.messages) {
        shown_.push_back({header.captured, now});
        arrived_.erase(arrived_.begin(), arrived_.upper_bound(header.frame));
      }
    }
  }
  void handle_timeout(TimePoint now) override {
    endpoint_.handle_timeout(now);
    for (; next_ <= now; next_ += 33'333us) {
      capture(now);
    }
  }
  std::optional<Transmit> poll_transmit(TimePoint now) override {
    auto bytes = endpoint_.poll_transmit(now);
    if (!bytes) {
      return std::nullopt;
    }
    return Transmit{.to = {}, .bytes = *std::move(bytes)};
  }
  TimePoint poll_timeout() const override { return std::min(next_, endpoint_.poll_timeout()); }

  const std::vector<Shown>& shown() const { return shown_; }
  const std::map<TimePoint, DataSize>& sent() const { return sent_; }

 private:
  struct Header {
    uint64_t frame = 0;
    int64_t messages = 0;
    TimePoint captured{};
  };

  void capture(TimePoint now) {
    constexpr int64_t kFrameMin = 300;
    constexpr int64_t kFrameMax = 4'000'000 / 8 / 30;
    const int64_t message = endpoint_.message_max().bytes();
    const int64_t overhead = endpoint_.control().message_overhead().bytes();
    const int64_t room = endpoint_.available_window(now).bytes();
    int64_t size = room / (message + overhead) * message +
                   std::max<int64_t>(0, room % (message + overhead) - overhead);
    size = std::min(size, kFrameMax);
    session::Leave leave = session::Leave::kWithinWindow;
    if (size < kFrameMin) {
      if (now - last_ < 199ms || endpoint_.queued() > DataSize{}) {
        return;
      }
      size = kFrameMin;
      leave = session::Leave::kNow;
    }
    last_ = now;
    sent_[now] = DataSize{size};
    const Header header{frame_++, (size + message - 1) / message, now};
    for (int64_t left = header.messages; left > 0; --left) {
      const int64_t part = size / left;
      size -= part;
      std::vector<std::byte> bytes(static_cast<size_t>(part));
      std::memcpy(bytes.data(), &header, sizeof header);
      endpoint_.send(now, session::kVideoFlow, std::move(bytes), leave);
    }
  }

  session::Endpoint endpoint_;
  TimePoint next_;
  TimePoint last_;
  uint64_t frame_ = 0;
  std::map<TimePoint, DataSize> sent_;
  std::map<uint64_t, int64_t> arrived_;
  std::vector<Shown> shown_;
};

struct CameraResult {
  double kbps = 0;
  double delay95_ms = 0;
  double age95_ms = 0;
};

/// `seed` draws when the viewer starts, and so when its reports are sent: before the first datagram
/// arrives.
CameraResult measure_camera(const RecordedLink& link, uint64_t seed, double loss = 0) {
  Rng rng{seed};
  const Duration viewer_start = seed == 1 ? Duration{7ms} : from_seconds(rng.uniform(0, 0.019));
  sim::Link forward{{.trace = link.spec.down, .loss = loss, .seed = rng.next(), .queue = nullptr}};
  sim::Link reverse{{.trace = link.spec.up, .loss = loss, .seed = rng.next(), .queue = nullptr}};
  ElasticSource camera{kTimeZero, true};
  ElasticSource viewer{kTimeZero + viewer_start, false};
  sim::World world{{camera, viewer, forward, reverse}};
  world.run_until(kTimeZero + link.duration);
  const metrics::Window window{kTimeZero + link.skip, kTimeZero + link.duration};
  DataSize sent;
  for (const auto& [at, size] : camera.sent()) {
    sent += window.contains(at) ? size : DataSize{};
  }
  std::vector<double> delays_ms;
  std::vector<metrics::Arrival> arrivals;
  for (const auto& [captured, shown] : viewer.shown()) {
    arrivals.push_back({captured, shown});
    if (window.contains(captured)) {
      delays_ms.push_back(to_milliseconds(shown - captured));
    }
  }
  std::ranges::sort(delays_ms);
  return {.kbps = DataRate::from(sent, window.length()).kilobits_per_second(),
          .delay95_ms = delays_ms.at(delays_ms.size() * 95 / 100),
          .age95_ms = to_milliseconds(*metrics::delay_quantile(arrivals, window, 0.95))};
}

TEST_F(CressMeasured, AThirtyFramesASecondSourceNeitherStarvesNorRunsAway) {
  Spread rate;
  Spread delay;
  Spread age;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CameraResult mean;
    for (const RecordedLink& link : recorded_links()) {
      const CameraResult result = measure_camera(link, seed);
      std::printf("seed %d %-26s %5.0f kbit/s, frame delay p95 %4.0f ms, age p95 %5.0f ms\n",
                  static_cast<int>(seed), link.name.c_str(), result.kbps, result.delay95_ms,
                  result.age95_ms);
      mean.kbps += result.kbps / 8;
      mean.delay95_ms += result.delay95_ms / 8;
      mean.age95_ms += result.age95_ms / 8;
    }
    rate.values.push_back(mean.kbps);
    delay.values.push_back(mean.delay95_ms);
    age.values.push_back(mean.age95_ms);
  }
  std::printf(
      "eight recorded links, five starts of the viewer: %.0f (%.0f to %.0f) kbit/s, delay p95 %.0f "
      "(%.0f to %.0f) ms, age p95 %.0f (%.0f to %.0f) ms\n",
      rate.mean(), rate.least(), rate.most(), delay.mean(), delay.least(), delay.most(), age.mean(),
      age.least(), age.most());
  EXPECT_GE(rate.mean(), 1550);
  EXPECT_LE(delay.mean(), 165);
  EXPECT_LE(age.mean(), 650);
}

// A generated link is another link with each seed. Under loss it stays the first one, and the seed
// draws the losses.
struct GeneratedRow {
  const char* link;
  double loss;
};

TEST_F(CressMeasured, LossCostsAFlowLittleMoreThanWhatIsLost) {
  std::map<std::string, double> lossless;  // utilization of the first link
  for (const GeneratedRow& row : {GeneratedRow{"lte-fast", 0},
                                  {"lte-slow", 0},
                                  {"3g", 0},
                                  {"outages", 0},
                                  {"wifi", 0},
                                  {"lte-fast", 0.05},
                                  {"lte-slow", 0.05},
                                  {"lte-fast", 0.10},
                                  {"lte-slow", 0.10}}) {
    Spread utilization;
    Spread self_ms;
    Spread rate;
    Spread delay;
    Spread age;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      // Under loss the link stays the first one.
      const RecordedLink link = generated_link(row.link, row.loss > 0 ? 1 : seed);
      RunSpec spec;
      spec.scheme = "cress";
      spec.link = link.spec;
      spec.link.loss = row.loss;
      spec.duration = link.duration;
      spec.skip = link.skip;
      spec.seed = seed;
      const DirectionResult result = run(spec, context_).results.at(0);
      utilization.values.push_back(result.utilization);
      self_ms.values.push_back(result.self_inflicted_ms.value_or(-1));
      const CameraResult camera = measure_camera(link, seed, row.loss);
      rate.values.push_back(camera.kbps);
      delay.values.push_back(camera.delay95_ms);
      age.values.push_back(camera.age95_ms);
    }
    std::printf(
        "%-9s loss %.2f: flow %.3f ± %.3f at %4.0f ± %3.0f ms; camera %5.0f ± %4.0f kbit/s, delay "
        "p95 %4.0f ± %3.0f ms, age p95 %5.0f ± %4.0f ms\n",
        row.link, row.loss, utilization.mean(), utilization.deviation(), self_ms.mean(),
        self_ms.deviation(), rate.mean(), rate.deviation(), delay.mean(), delay.deviation(),
        age.mean(), age.deviation());
    if (row.loss == 0) {
      lossless[row.link] = utilization.values.front();
    } else {
      EXPECT_GE(utilization.mean(), (1 - 1.2 * row.loss) * lossless[row.link])
          << row.link << ", loss " << row.loss;
    }
  }
}

}  // namespace
}  // namespace cress::harness
