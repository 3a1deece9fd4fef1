#include "traces/model_json.hh"

#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "transport/base/text_file.hh"

namespace cress::traces {
namespace {

constexpr DataSize kModelFileMax{1'000'000};
// Whatever a number in a file is, its conversion to nanoseconds must not overflow.
constexpr double kSecondsMax = 1e6;
constexpr double kKbpsMax = 1e9;

struct Member {
  const char* name;
  std::function<double(const LinkModelParameters&)> get;
  std::function<void(LinkModelParameters&, double)> set;
};

Member number(const char* name, double LinkModelParameters::*field) {
  return {name, [field](const LinkModelParameters& p) { return p.*field; },
          [field](LinkModelParameters& p, double value) { p.*field = value; }};
}

Member seconds(const char* name, Duration LinkModelParameters::*field) {
  return {name, [field](const LinkModelParameters& p) { return to_seconds(p.*field); },
          [field](LinkModelParameters& p, double value) {
            p.*field = from_seconds(std::clamp(value, -kSecondsMax, kSecondsMax));
          }};
}

Member kbps(const char* name, DataRate LinkModelParameters::*field) {
  return {name, [field](const LinkModelParameters& p) { return (p.*field).kilobits_per_second(); },
          [field](LinkModelParameters& p, double value) {
            p.*field = DataRate::bits_per_second(
                std::llround(std::clamp(value, -kKbpsMax, kKbpsMax) * 1e3));
          }};
}

std::vector<Member> members() {
  using P = LinkModelParameters;
  return {kbps("mean_kbps", &P::mean_rate),
          kbps("rate_max_kbps", &P::rate_max),
          number("slow_spread", &P::slow_spread),
          seconds("slow_time_s", &P::slow_time),
          number("fast_spread", &P::fast_spread),
          seconds("fast_time_s", &P::fast_time),
          number("outage_share", &P::outage_share),
          seconds("outage_mean_s", &P::outage_mean),
          seconds("outage_max_s", &P::outage_max),
          number("outage_repeat", &P::outage_repeat),
          number("slipped_mean", &P::slipped_mean),
          number("stall_share", &P::stall_share),
          number("stall_tail_exponent", &P::stall_tail_exponent),
          number("gap_variation", &P::gap_variation),
          number("burst_mean", &P::burst_mean)};
}

}  // namespace

std::string format_model(const LinkModelParameters& parameters) {
  nlohmann::ordered_json json;
  for (const Member& member : members()) {
    json[member.name] = member.get(parameters);
  }
  return json.dump(2) + "\n";
}

Result<LinkModelParameters, std::string> parse_model(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return std::string{"not a JSON object; a model is what `cress-trace fit` writes"};
  }
  LinkModelParameters parameters;
  const std::vector<Member> known = members();
  for (const Member& member : known) {
    const auto found = json.find(member.name);
    if (found == json.end() || !found->is_number()) {
      return std::string{"\""} + member.name + "\" is missing or not a number";
    }
    member.set(parameters, found->get<double>());
  }
  if (json.size() > known.size()) {
    return std::string{"has members that no link model has; `cress-trace fit` writes a sound one"};
  }
  if (const auto problem = problem_with(parameters)) {
    return "out of range: " + *problem;
  }
  return parameters;
}

LinkModelParameters load_model(const std::filesystem::path& path) {
  const auto parameters = parse_model(load_text(path, kModelFileMax));
  if (!parameters) {
    throw std::runtime_error(path.string() + ": " + parameters.error());
  }
  return *parameters;
}

}  // namespace cress::traces
