#include "traces/links.hh"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "traces/embedded_models.hh"
#include "traces/everyday_links.hh"
#include "transport/base/check.hh"
#include "transport/base/near_name.hh"
#include "transport/base/text.hh"

namespace cress::traces {
namespace {

constexpr std::array kEmbedded{
    EmbeddedLink{"lte-fast", "a good LTE cell from a bus: 6 to 9 Mbit/s, short silences"},
    EmbeddedLink{"lte-slow",
                 "a crowded LTE cell while driving: 1 to 2 Mbit/s, silences of a second"},
    EmbeddedLink{"3g", "UMTS while driving: about 1 Mbit/s, some silences of seconds"},
    EmbeddedLink{"outages", "EVDO while driving: 0.7 Mbit/s, silent for a good part of the time"},
    EmbeddedLink{"wifi", "Wi-Fi on a walk: 10 to 20 Mbit/s, deep fades"},
};

constexpr size_t kNearMatchesMax = 3;

const EmbeddedModel& entry_of(std::string_view name, Direction direction) {
  for (const EmbeddedModel& model : embedded_models()) {
    if (model.name == name && model.direction == direction) {
      return model;
    }
  }
  std::string known;
  for (const EmbeddedLink& link : kEmbedded) {
    known.append(known.empty() ? "" : ", ").append(link.name);
  }
  throw std::runtime_error("no embedded link is called \"" + std::string{name} + "\"; there are " +
                           known);
}

/// The files of one recorded link; at least one of the two exists.
struct Recording {
  std::optional<std::filesystem::path> down;
  std::optional<std::filesystem::path> up;
};

std::map<std::string, Recording, std::less<>> recordings(const std::filesystem::path& data_folder) {
  std::map<std::string, Recording, std::less<>> found;
  for (const auto& folder : {data_folder / "traces" / "cellular", data_folder / "traces"}) {
    std::map<std::string, Recording, std::less<>> here;
    std::error_code error;
    for (std::filesystem::directory_iterator it{folder, error}, end; !error && it != end;
         it.increment(error)) {
      const std::filesystem::path& path = it->path();
      if (path.extension() == ".down") {
        here[path.stem().string()].down = path;
      } else if (path.extension() == ".up") {
        here[path.stem().string()].up = path;
      }
    }
    found.merge(here);  // a name of the first folder hides the second's
  }
  return found;
}

std::string description_of(const Recording& recording) {
  if (recording.down && recording.up) {
    return "recorded, both directions";
  }
  return recording.down ? "recorded, downlink only: used for both directions"
                        : "recorded, uplink only: used for both directions";
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

/// Up to kNearMatchesMax names that a user who typed `name` may have meant.
std::vector<std::string> near_matches(std::string_view name,
                                      const std::vector<LinkSummary>& links) {
  std::vector<std::pair<size_t, std::string>> ranked;
  const std::string_view typed = name.substr(0, 100);
  for (const LinkSummary& link : links) {
    const size_t distance = edit_distance(lower(typed), lower(link.name));
    const bool part = typed.size() >= 3 && link.name.find(typed) != std::string::npos;
    if (part || is_near(lower(typed), lower(link.name))) {
      ranked.emplace_back(part ? 0 : distance, link.name);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (const auto& [distance, match] : ranked) {
    if (names.size() < kNearMatchesMax) {
      names.push_back(match);
    }
  }
  return names;
}

[[noreturn]] void throw_unknown(std::string_view name, const std::filesystem::path& data_folder) {
  std::string message = "no link is called \"" + std::string{name} + "\"";
  const auto near = near_matches(name, list_links(data_folder));
  for (size_t i = 0; i < near.size(); ++i) {
    message += (i == 0 ? "; did you mean " : " or ") + near[i];
  }
  message += near.empty() ? "" : "?";
  throw std::runtime_error(message + (near.empty() ? "; " : " ") +
                           "`cress-eval links` lists them all");
}

}  // namespace

std::span<const EmbeddedLink> embedded_links() { return kEmbedded; }

bool is_embedded(std::string_view name) {
  return std::ranges::find(kEmbedded, name, &EmbeddedLink::name) != kEmbedded.end();
}

LinkModelParameters embedded_model(std::string_view name, Direction direction) {
  const EmbeddedModel& entry = entry_of(name, direction);
  LinkModelParameters parameters = entry.fitted;
  parameters.mean_rate = parameters.mean_rate * entry.scale;
  parameters.rate_max = parameters.rate_max * entry.scale;
  return parameters;
}

uint64_t embedded_seed(std::string_view name, Direction direction) {
  return entry_of(name, direction).seed;
}

sim::DeliveryTrace embedded_trace(std::string_view name, Direction direction) {
  return generate(embedded_model(name, direction), kEmbeddedLength, embedded_seed(name, direction));
}

NamedLink resolve_link(std::string_view name, const std::filesystem::path& data_folder) {
  if (const auto* link = std::ranges::find(kEmbedded, name, &EmbeddedLink::name);
      link != kEmbedded.end()) {
    return {std::string{name},
            std::string{link->description},
            embedded_trace(name, Direction::kDown),
            embedded_trace(name, Direction::kUp),
            {}};
  }
  if (is_everyday(name)) {
    return everyday_link(name);
  }
  if (name.starts_with(kConstantPrefix)) {
    return constant_link(name);
  }
  const auto recorded = recordings(data_folder);
  const auto found = recorded.find(name);
  if (found == recorded.end()) {
    throw_unknown(name, data_folder);
  }
  const Recording& recording = found->second;
  NamedLink link{found->first, description_of(recording), {}, {}, {}};
  if (recording.down) {
    link.down = sim::load_trace(*recording.down);
  }
  link.up = recording.up ? sim::load_trace(*recording.up) : link.down;
  if (!recording.down) {
    link.down = link.up;
  }
  return link;
}

std::vector<LinkSummary> list_links(const std::filesystem::path& data_folder) {
  std::vector<LinkSummary> links;
  links.reserve(kEmbedded.size() + everyday_links().size());
  for (const EmbeddedLink& link : kEmbedded) {
    links.push_back({std::string{link.name}, std::string{link.description}, true});
  }
  for (const EverydayLink& link : everyday_links()) {
    links.push_back({std::string{link.name}, std::string{link.description}, true});
  }
  for (const auto& [name, recording] : recordings(data_folder)) {
    if (!is_embedded(name) && !is_everyday(name)) {
      links.push_back({name, description_of(recording), false});
    }
  }
  return links;
}

}  // namespace cress::traces
