#include "eval/path_options.hh"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "traces/everyday_links.hh"
#include "transport/base/duration_text.hh"

namespace cress::eval {
namespace {

constexpr Duration kJitterMax = 10s;
constexpr size_t kFlowsMax = 64;

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional{value} : std::nullopt;
}

std::optional<double> probability(std::string_view text) {
  const auto value = number<double>(text);
  return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

[[noreturn]] void refuse_burst_loss(const std::string& text) {
  throw std::invalid_argument("--burst-loss " + text +
                              ": not ENTER,LEAVE[,LOSS], as in 0.01,0.3: the chances, at each "
                              "packet, that a burst begins and ends, and of a loss within one");
}

[[noreturn]] void refuse_cross(const std::string& text) {
  throw std::invalid_argument("--cross " + text +
                              ": not KIND[:N]@START[+LENGTH][/up], as in cubic:4@10s+40s "
                              "(1 <= N <= 64)");
}

struct Times {
  Duration start{};
  std::optional<Duration> length;
};

/// "START[+LENGTH]", of `option`.
Times parse_times(std::string_view text, const std::string& option) {
  const size_t plus = text.find('+');
  Times times{.start = parse_duration(std::string{text.substr(0, plus)}, option + ":"),
              .length = {}};
  if (plus != std::string_view::npos) {
    times.length = parse_duration(std::string{text.substr(plus + 1)}, option + ":");
    if (*times.length <= Duration{}) {
      throw std::invalid_argument(option + ": lasts for no time");
    }
  }
  return times;
}

harness::CrossFlow parse_cross_flow(const std::string& text) {
  constexpr std::string_view kUp = "/up";
  harness::CrossFlow flow;
  std::string_view rest = text;
  if (rest.ends_with(kUp)) {
    flow.up = true;
    rest.remove_suffix(kUp.size());
  }
  const size_t at = rest.find('@');
  if (at == std::string_view::npos) {
    refuse_cross(text);
  }
  std::string_view kind = rest.substr(0, at);
  if (const size_t colon = kind.find(':'); colon != std::string_view::npos) {
    const auto count = number<size_t>(kind.substr(colon + 1));
    if (!count || *count == 0 || *count > kFlowsMax) {
      refuse_cross(text);
    }
    flow.count = *count;
    kind = kind.substr(0, colon);
  }
  if (kind.empty()) {
    refuse_cross(text);
  }
  flow.kind = kind;
  const Times times = parse_times(rest.substr(at + 1), "--cross " + text);
  flow.start = times.start;
  flow.length = times.length;
  return flow;
}

sim::Detour parse_detour(const std::string& text) {
  const std::string_view whole = text;
  const size_t at = whole.find('@');
  if (at == std::string_view::npos) {
    throw std::invalid_argument("--detour " + text +
                                ": not TIME@START[+LENGTH], as in 40ms@20s or 40ms@20s+10s");
  }
  sim::Detour detour{.by = parse_duration(text.substr(0, at), "--detour " + text + ":")};
  if (detour.by > kJitterMax) {
    throw std::invalid_argument("--detour " + text + ": more than 10 s longer");
  }
  const Times times = parse_times(whole.substr(at + 1), "--detour " + text);
  detour.from = times.start;
  detour.until = times.length ? times.start + *times.length : Duration::max();
  return detour;
}

}  // namespace

void add_path_options(CLI::App& command, PathArguments& a) {
  command
      .add_option("--detour", a.detour,
                  "TIME@START[+LENGTH]: each packet takes so much longer from then on, as after a "
                  "change of the cell, each way; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--jitter", a.jitter,
                     "Each packet takes up to this much longer, drawn alone: reorders, each way "
                     "[the link's]");
  command.add_option("--burst-loss", a.burst_loss,
                     "ENTER,LEAVE[,LOSS]: chances, at each packet, that a burst of losses begins "
                     "and ends, and of a loss within it [the link's; LOSS 1]");
  command.add_option("--duplicate", a.duplicate, "Share of packets that arrive twice, each way")
      ->capture_default_str();
  command
      .add_option("--cross", a.cross,
                  "KIND[:N]@START[+LENGTH][/up]: N flows in the same queue (/up: in the reverse "
                  "direction's); may be repeated")
      ->allow_extra_args(false);
}

std::vector<sim::Detour> parse_detours(const std::vector<std::string>& texts) {
  std::vector<sim::Detour> detours;
  detours.reserve(texts.size());
  for (const std::string& text : texts) {
    detours.push_back(parse_detour(text));
  }
  return detours;
}

Duration parse_jitter(const std::string& text) {
  const Duration jitter = parse_duration(text, "--jitter");
  if (jitter > kJitterMax) {
    throw std::invalid_argument("--jitter " + text + ": more than 10 s");
  }
  return jitter;
}

sim::BurstLoss parse_burst_loss(const std::string& text) {
  sim::BurstLoss bursts;
  std::string_view rest = text;
  size_t parts = 0;
  for (bool last = false; !last; ++parts) {
    const size_t comma = rest.find(',');
    const auto value = probability(rest.substr(0, comma));
    if (!value || parts == 3) {
      refuse_burst_loss(text);
    }
    (parts == 0 ? bursts.enter : parts == 1 ? bursts.leave : bursts.loss) = *value;
    last = comma == std::string_view::npos;
    rest.remove_prefix(last ? 0 : comma + 1);
  }
  if (parts < 2 || bursts.leave == 0) {
    refuse_burst_loss(text);
  }
  return bursts;
}

double parse_duplicate(double share) {
  if (!(share >= 0 && share < 1)) {
    throw std::invalid_argument("--duplicate: a probability, 0 <= P < 1 (5 % is 0.05)");
  }
  return share;
}

std::vector<harness::CrossFlow> parse_cross(const std::vector<std::string>& texts) {
  std::vector<harness::CrossFlow> flows;
  flows.reserve(texts.size());
  for (const std::string& text : texts) {
    flows.push_back(parse_cross_flow(text));
  }
  return flows;
}

std::string link_name_of(const std::string& link, const std::string& rate) {
  if (!rate.empty() && !link.empty()) {
    throw std::invalid_argument("give either --link or --rate, not both");
  }
  return rate.empty() ? link : std::string{traces::kConstantPrefix} + rate;
}

nlohmann::ordered_json path_options(const PathArguments& a) {
  auto options = nlohmann::ordered_json::object();
  if (!a.detour.empty()) {
    options["detour"] = a.detour;
  }
  if (!a.jitter.empty()) {
    options["jitter"] = a.jitter;
  }
  if (!a.burst_loss.empty()) {
    options["burst_loss"] = a.burst_loss;
  }
  if (a.duplicate > 0) {
    options["duplicate"] = a.duplicate;
  }
  if (!a.cross.empty()) {
    options["cross"] = a.cross;
  }
  return options;
}

Duration parse_duration(const std::string& text, const std::string& option) {
  const auto duration = cress::parse_duration(text);
  if (!duration) {
    throw std::invalid_argument(option + " " + text + ": " + std::string{kDurationForm});
  }
  return *duration;
}

}  // namespace cress::eval
