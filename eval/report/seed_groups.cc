#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "eval/report/page_parts.hh"

namespace cress::report {
namespace {

constexpr std::string_view kOptions = "options";

/// Name and value as text, sorted by name; anything but an object has none.
std::map<std::string, std::string> members_of(const std::string& options) {
  std::map<std::string, std::string> members;
  const auto object = nlohmann::json::parse(options, nullptr, false);
  if (object.is_object()) {
    for (const auto& [name, value] : object.items()) {
      members[name] = value.is_string()
                          ? value.get<std::string>()
                          : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }
  return members;
}

}  // namespace

std::string options_of(const RunResult& result) {
  const auto found =
      std::ranges::find(result.others, kOptions, [](const auto& other) { return other.first; });
  return found == result.others.end() ? "" : found->second;
}

std::vector<double> SeedGroup::values(std::string_view measure) const {
  std::vector<double> all;
  for (const RunResult* result : results) {
    if (const auto value = result->number(measure)) {
      all.push_back(*value);
    }
  }
  return all;
}

std::vector<SeedGroup> seed_groups(std::span<const RunResult> results) {
  std::vector<SeedGroup> groups;
  std::map<std::pair<SeriesKey, std::string>, size_t> places;
  for (const RunResult& result : results) {
    const auto [place, fresh] =
        places.try_emplace(std::pair{result.key, options_of(result)}, groups.size());
    if (fresh) {
      groups.push_back({result.key, place->first.second, {}});
    }
    groups[place->second].results.push_back(&result);
  }
  return groups;
}

std::vector<std::string> telling_options(std::span<const SeedGroup> groups) {
  std::vector<std::map<std::string, std::string>> members;
  std::map<std::string, std::map<std::string, size_t>> seen;  // name -> value -> how many groups
  for (const SeedGroup& group : groups) {
    members.push_back(members_of(group.options));
    for (const auto& [name, value] : members.back()) {
      ++seen[name][value];
    }
  }
  std::vector<std::string> words(groups.size());
  for (const auto& [name, values] : seen) {
    const bool alike = values.size() == 1 && values.begin()->second == groups.size();
    for (size_t i = 0; i < groups.size() && !alike; ++i) {
      if (const auto member = members[i].find(name); member != members[i].end()) {
        words[i] += (words[i].empty() ? std::string{} : std::string{", "})
                        .append(name)
                        .append(" ")
                        .append(member->second);
      }
    }
  }
  return words;
}

}  // namespace cress::report
