#include "eval/compare/run_record.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "eval/report/page_parts.hh"
#include "eval/report/parse_json.hh"
#include "eval/sweep/digest.hh"

namespace cress::compare {
namespace {

using Json = nlohmann::ordered_json;

/// An option's names in run.json and on the command line.
struct OptionName {
  std::string_view key;
  std::string_view option;
  std::string_view unit;
};
/// In the order in which differences are reported: --skip follows --duration by default.
constexpr std::array<OptionName, 8> kOptionNames{{{"duration_s", "--duration", "s"},
                                                  {"skip_s", "--skip", "s"},
                                                  {"delay_ms", "--delay", "ms"},
                                                  {"loss", "--loss", ""},
                                                  {"queue", "--queue", ""},
                                                  {"video", "--video", ""},
                                                  {"audio", "--audio", ""},
                                                  {"one_way", "--one-way", ""}}};

/// The value, independent of its spelling. Twelve digits: some tools write no more.
void append_normal(const nlohmann::json& value, std::string& text) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      text += fmt::format("{}:{}{{", name.size(), name);
      append_normal(member, text);
    }
    text += "}";
  } else if (value.is_array()) {
    text += "[";
    for (const nlohmann::json& element : value) {
      append_normal(element, text);
      text += ",";
    }
    text += "]";
  } else if (value.is_number()) {
    text += fmt::format("{:.12g}", value.get<double>() + 0.0);  // -0 is 0
  } else {
    text += value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

std::string normal_text(const nlohmann::json& value) {
  std::string text;
  append_normal(value, text);
  return text;
}

nlohmann::json with_doubles(nlohmann::json value) {
  if (value.is_structured()) {
    for (nlohmann::json& member : value) {
      member = with_doubles(std::move(member));
    }
  } else if (value.is_number()) {
    value = value.get<double>() + 0.0;
  }
  return value;
}

std::string text_of(const Json& value) {
  return value.is_string()   ? value.get<std::string>()
         : value.is_number() ? fmt::format("{}", value.get<double>())
                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The digest of an input, empty for a generated one.
std::string digest_of_input(const Experiment& experiment, std::string_view name) {
  const auto input = experiment.inputs.find(std::string{name});
  if (input == experiment.inputs.end() || !input->is_object() || !input->contains("digest")) {
    return {};
  }
  return text_of(input->at("digest"));
}

/// One respect in which two experiments can differ.
struct Field {
  std::string option;
  std::string value{};  ///< equal for the same; empty: not given
  std::string words{};
};

std::string short_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// A file is identified by its bytes, wherever it is.
Field field_of(const Experiment& experiment, const std::string& key, const Json& value) {
  const auto* const known = std::ranges::find(kOptionNames, key, &OptionName::key);
  Field field{.option = "--" + key, .value = normal_text(value), .words = text_of(value)};
  std::ranges::replace(field.option, '_', '-');
  if (known != kOptionNames.end()) {
    field.option = known->option;
    field.words += known->unit;
  }
  if (const std::string digest = digest_of_input(experiment, key); !digest.empty()) {
    field.value = "file " + digest;
    field.words =
        fmt::format("{} with the digest {}", short_name(text_of(value)), digest.substr(0, 12));
  }
  return field;
}

std::vector<Field> fields_of(const Experiment& experiment) {
  std::vector<Field> fields{{"--link", experiment.link, experiment.link}};
  for (const OptionName& name : kOptionNames) {
    const auto value = experiment.options.find(std::string{name.key});
    fields.push_back(value == experiment.options.end()
                         ? Field{.option = std::string{name.option}, .words = "not given"}
                         : field_of(experiment, std::string{name.key}, *value));
  }
  for (const std::string_view trace : {"down", "up"}) {
    const std::string digest = digest_of_input(experiment, trace);
    fields.push_back({fmt::format("the trace --{} of --link {}", trace, experiment.link), digest,
                      digest.empty() ? "unknown" : digest.substr(0, 12)});
  }
  const auto is_known = [](const std::string& key) {
    return std::ranges::find(kOptionNames, key, &OptionName::key) != kOptionNames.end();
  };
  std::map<std::string, Field> others;  // of a later version
  for (const auto& [key, value] : experiment.options.items()) {
    if (!is_known(key)) {
      others.emplace(key, field_of(experiment, key, value));
    }
  }
  for (auto& [key, field] : others) {
    fields.push_back(std::move(field));
  }
  return fields;
}

std::vector<std::pair<Field, Field>> differences(const Experiment& a, const Experiment& b) {
  std::vector<Field> of_a = fields_of(a);
  std::vector<Field> of_b = fields_of(b);
  std::vector<std::pair<Field, Field>> found;
  for (const Field& field : of_a) {
    const auto other = std::ranges::find(of_b, field.option, &Field::option);
    const Field absent{.option = field.option, .words = "not given"};
    const Field& there = other == of_b.end() ? absent : *other;
    if (field.value != there.value) {
      found.emplace_back(field, there);
    }
  }
  for (const Field& field : of_b) {
    if (std::ranges::find(of_a, field.option, &Field::option) == of_a.end()) {
      found.emplace_back(Field{.option = field.option, .words = "not given"}, field);
    }
  }
  return found;
}

/// Equal for experiments that are the same.
std::string identity_of(const Experiment& experiment) {
  std::string text;
  for (const Field& field : fields_of(experiment)) {
    text += fmt::format("{}:{}{}:{}", field.option.size(), field.option, field.value.size(),
                        field.value);
  }
  return text;
}

/// A result's link and options, which identify its experiment.
using Place = std::pair<std::string, std::string>;
Place place_of(const Experiment& experiment) {
  return {experiment.link, normal_text(experiment.options)};
}

[[noreturn]] void refuse(const Experiment& before, const Experiment& after) {
  const auto differing = differences(before, after);
  if (differing.empty()) {  // only if one option was given two names
    throw std::invalid_argument("the experiments differ");
  }
  const auto& [a, b] = differing.front();
  throw std::invalid_argument(
      fmt::format("the experiments differ: {} is {} in A and {} in B", a.option, a.words, b.words));
}

/// Compares with the one of `others` that differs least from `experiment`.
const Experiment& nearest(const Experiment& experiment,
                          const std::vector<const Experiment*>& others) {
  return **std::ranges::min_element(
      others, {}, [&](const Experiment* other) { return differences(experiment, *other).size(); });
}

void set_options(report::RunResult& result, const std::string& options) {
  std::erase_if(result.others, [](const auto& other) { return other.first == "options"; });
  result.others.emplace_back("options", options);
}

/// Each result's experiment; nullptr for one without, or one that is ambiguous.
std::vector<const Experiment*> experiments_of(const RecordedResults& recorded) {
  std::map<Place, const Experiment*> by_place;
  std::map<std::string, std::vector<const Experiment*>> by_link;
  for (const Experiment& experiment : recorded.record.experiments) {
    by_place.emplace(place_of(experiment), &experiment);
    by_link[experiment.link].push_back(&experiment);
  }
  std::vector<const Experiment*> found;
  found.reserve(recorded.results.size());
  for (const report::RunResult& result : recorded.results) {
    const std::string options = options_of(result);
    const Experiment* experiment = nullptr;
    if (options.empty()) {  // from `run`, whose results do not contain them
      const auto of_link = by_link.find(result.key.link);
      experiment = of_link == by_link.end() || of_link->second.size() != 1
                       ? nullptr
                       : of_link->second.front();
    } else {
      const auto place = by_place.find(
          {result.key.link, normal_text(nlohmann::json::parse(options, nullptr, false))});
      experiment = place == by_place.end() ? nullptr : place->second;
    }
    found.push_back(experiment);
  }
  return found;
}

std::string read_text(const Json& object, const char* name, std::string& into) {
  if (!object.contains(name) || !object.at(name).is_string()) {
    return fmt::format("\"{}\" must be a string", name);
  }
  into = object.at(name).get<std::string>();
  return {};
}

/// The error's text if it is broken.
std::string read_experiment(const Json& object, Experiment& out) {
  if (!object.is_object()) {
    return "is not an object";
  }
  if (std::string error = read_text(object, "link", out.link); !error.empty()) {
    return error;
  }
  for (const auto& [name, into] : {std::pair<const char*, Json&>{"options", out.options},
                                   std::pair<const char*, Json&>{"inputs", out.inputs}}) {
    if (!object.contains(name) || !object.at(name).is_object()) {
      return fmt::format("\"{}\" must be an object", name);
    }
    into = object.at(name);
  }
  return {};
}

/// The error's text if it is broken.
std::string read_record(const Json& root, RunRecord& out) {
  if (!root.is_object()) {
    return "must be an object";
  }
  for (const auto& [name, into] : {std::pair<const char*, std::string&>{"program", out.program},
                                   std::pair<const char*, std::string&>{"commit", out.commit},
                                   std::pair<const char*, std::string&>{"command", out.command},
                                   std::pair<const char*, std::string&>{"digest", out.digest}}) {
    if (std::string error = read_text(root, name, into); !error.empty()) {
      return error;
    }
  }
  out.not_compared = root.value("not_compared", Json::object());
  const Json list = root.value("experiments", Json{});
  if (!list.is_array() || list.empty() || list.size() > kExperimentsMax) {
    return fmt::format("\"experiments\" must be a list of 1 to {}", kExperimentsMax);
  }
  std::set<Place> seen;
  for (const Json& object : list) {
    Experiment& experiment = out.experiments.emplace_back();
    std::string error = read_experiment(object, experiment);
    if (error.empty() && !seen.insert(place_of(experiment)).second) {
      error = "is there twice";
    }
    if (!error.empty()) {
      return fmt::format("experiment {} {}", out.experiments.size(), error);
    }
  }
  return {};
}

}  // namespace

std::string digest_of(const std::vector<Experiment>& experiments, std::string_view results) {
  std::vector<std::string> texts;
  texts.reserve(experiments.size());
  for (const Experiment& experiment : experiments) {
    texts.push_back(normal_text(Json{{"link", experiment.link},
                                     {"options", experiment.options},
                                     {"inputs", experiment.inputs}}));
  }
  const auto rows = nlohmann::json::parse(results);
  for (const nlohmann::json& row : rows) {
    texts.push_back(normal_text(row));
  }
  std::ranges::sort(texts);  // a tool may have moved the rows
  sweep::Digest digest;
  for (const std::string& text : texts) {
    digest.add(text);
  }
  return digest.hex();
}

std::string record_json(RunRecord record, std::string_view results) {
  Json experiments = Json::array();
  for (const Experiment& experiment : record.experiments) {
    experiments.push_back({{"link", experiment.link},
                           {"options", experiment.options},
                           {"inputs", experiment.inputs}});
  }
  const Json root{{"program", record.program},
                  {"commit", record.commit},
                  {"command", record.command},
                  {"not_compared", record.not_compared},
                  {"experiments", std::move(experiments)},
                  {"digest", digest_of(record.experiments, results)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<RunRecord, report::ParseError> parse_record(std::string_view text) {
  const auto root = report::parse_json<Json>(text);
  if (!root) {
    return root.error();
  }
  RunRecord record;
  std::string error = read_record(*root, record);
  if (!error.empty()) {
    return report::ParseError{0, std::move(error)};
  }
  return record;
}

bool has_values_of(const RunRecord& record, std::string_view text) {
  return digest_of(record.experiments, text) == record.digest;
}

void check_belongs(const RecordedResults& recorded) {
  if (std::ranges::count(experiments_of(recorded), nullptr) > 0) {
    throw std::invalid_argument(
        "is not of these results: one of the two files was replaced; run the experiment again");
  }
}

void match_experiments(RecordedResults& before, RecordedResults& after, bool allow_missing) {
  std::map<std::string, const Experiment*> by_identity;
  std::map<Place, const Experiment*> by_place;
  for (const Experiment& experiment : before.record.experiments) {
    by_identity.emplace(identity_of(experiment), &experiment);
    by_place.emplace(place_of(experiment), &experiment);
  }
  std::map<const Experiment*, const Experiment*> matches;  // of either side: the one of `before`
  std::vector<const Experiment*> only_after;
  for (const Experiment& experiment : after.record.experiments) {
    const auto same = by_identity.find(identity_of(experiment));
    if (same != by_identity.end()) {
      matches.emplace(&experiment, same->second);
      matches.emplace(same->second, same->second);
      continue;
    }
    only_after.push_back(&experiment);
    if (const auto like = by_place.find(place_of(experiment)); like != by_place.end()) {
      refuse(*like->second, experiment);  // the same name for different bytes
    }
  }
  std::vector<const Experiment*> only_before;
  for (const Experiment& experiment : before.record.experiments) {
    if (!matches.contains(&experiment)) {
      only_before.push_back(&experiment);
    }
  }
  if (!only_before.empty() && !only_after.empty() && (!allow_missing || matches.empty())) {
    refuse(*only_before.front(), nearest(*only_before.front(), only_after));
  }
  for (RecordedResults* const side : {&before, &after}) {
    const auto experiments = experiments_of(*side);
    for (size_t i = 0; i < side->results.size(); ++i) {
      const auto match = matches.find(experiments[i]);
      const Experiment& named = match == matches.end() ? *experiments[i] : *match->second;
      set_options(side->results[i], with_doubles(named.options).dump());
    }
  }
}

std::string normal_options(const std::string& options) {
  auto parsed = nlohmann::json::parse(options, nullptr, false);
  return parsed.is_object() ? with_doubles(std::move(parsed))
                                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                            : options;
}

}  // namespace cress::compare
