#include "eval/sweep/plan.hh"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

// The library's own header gives warnings with -Wconversion.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include <toml++/toml.h>
#pragma GCC diagnostic pop

#include "transport/base/near_name.hh"
#include "transport/base/text.hh"

namespace cress::sweep {

uint32_t Plan::add_value(PlanValue value) {
  values_.push_back(std::move(value));
  return narrow<uint32_t>(values_.size());
}

namespace {

/// Thrown inside this file only: TOML is read recursively, and the first error ends it.
struct Refusal {
  PlanError error;
};

[[noreturn]] void refuse(size_t line, std::string what) { throw Refusal{{line, std::move(what)}}; }

size_t line_of(const toml::node& node) { return node.source().begin.line; }

/// Checks for input that could harm a recursive parser, before it gets it.
void check_shape(std::string_view text) {
  if (text.size() > kPlanBytesMax) {
    refuse(0, fmt::format("a plan of over {} KiB; split it", kPlanBytesMax / 1024));
  }
  size_t line = 1;
  size_t line_bytes = 0;
  size_t dots = 0;
  size_t depth = 0;
  char quote = 0;
  bool comment = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      line_bytes = dots = 0;
      quote = 0;
      comment = false;
      continue;
    }
    dots += c == '.' ? 1 : 0;
    if (++line_bytes > kPlanLineBytesMax || dots > kPlanDotsOfALineMax) {
      refuse(line, "this line is too long; a list may go over several lines");
    }
    if (comment) {
      continue;
    }
    if (quote != 0) {
      at += c == '\\' && quote == '"' ? 1 : 0;
      quote = c == quote ? '\0' : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#') {
      comment = true;
    } else if ((c == '[' || c == '{') && ++depth > kPlanBracketDepthMax) {
      refuse(line, "lists in lists; a plan needs only one level");
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
}

std::string unknown_key(std::string_view key) {
  const auto nearest = std::ranges::min_element(
      kKeyNames, {}, [&](std::string_view name) { return edit_distance(key.substr(0, 40), name); });
  std::string text = fmt::format("unknown key \"{}\"", key.substr(0, 40));
  if (is_near(key, *nearest)) {
    return fmt::format("{}; did you mean \"{}\"?", text, *nearest);
  }
  text += "; a plan knows";
  for (const std::string_view name : kKeyNames) {
    text += fmt::format(" {}", name);
  }
  return text + " and [[run]]";
}

std::optional<Key> key_named(std::string_view name) {
  const auto found = std::ranges::find(kKeyNames, name);
  return found == kKeyNames.end() ? std::nullopt
                                  : std::optional{static_cast<Key>(found - kKeyNames.begin())};
}

std::string shortest(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

/// "a number" or "text": the type of a key, for the error.
[[noreturn]] void refuse_type(std::string_view key, const toml::node& node,
                              std::string_view wanted) {
  refuse(line_of(node), fmt::format("{}: {}", key, wanted));
}

std::string text_of(std::string_view key, const toml::node& node, std::string_view wanted) {
  const auto text = node.value_exact<std::string>();
  if (!text || text->find('\0') != std::string::npos) {
    refuse_type(key, node, wanted);
  }
  return *text;
}

std::string number_text(const toml::node& node, std::string_view key, std::string_view wanted) {
  if (const auto whole = node.value_exact<int64_t>()) {
    return std::to_string(*whole);
  }
  const auto number = node.value_exact<double>();
  if (!number || !std::isfinite(*number)) {
    refuse_type(key, node, wanted);
  }
  return shortest(*number);
}

/// A link of two traces: {down = "a.down", up = "a.up", name = "mine"}.
PlanValue traces_of(const toml::table& table) {
  PlanValue value{.line = line_of(table)};
  for (const auto& [name, node] : table) {
    const std::string wanted = fmt::format("{} is text", name.str());
    if (name == "down") {
      value.down = text_of("link", node, wanted);
    } else if (name == "up") {
      value.up = text_of("link", node, wanted);
    } else if (name == "name") {
      value.text = text_of("link", node, wanted);
    } else {
      refuse(line_of(node), fmt::format("link: unknown \"{}\"; a link is a name or {{down = "
                                        "\"F\", up = \"F\", name = \"N\"}}",
                                        name.str()));
    }
  }
  if (value.down.empty() || value.up.empty()) {
    refuse(value.line, "link: give both traces, {down = \"FILE\", up = \"FILE\"}");
  }
  return value;
}

uint64_t seed_number(std::string_view text, const toml::node& node) {
  const auto seed = parse_number<uint64_t>(text);
  if (!seed) {
    refuse_type("seed", node, "a whole number from 0, or a range as in \"1..10\"");
  }
  return *seed;
}

/// A number, or every one of "1..10".
void add_seeds(const toml::node& node, std::vector<PlanValue>& values) {
  const auto text = node.value_exact<std::string>();
  const size_t dots = text ? text->find("..") : std::string::npos;
  if (dots == std::string::npos) {
    const auto whole = node.value_exact<int64_t>();
    const std::string digits = whole ? std::to_string(*whole) : text.value_or("");
    values.push_back({.text = std::to_string(seed_number(digits, node)), .line = line_of(node)});
    return;
  }
  const uint64_t first = seed_number(std::string_view{*text}.substr(0, dots), node);
  const uint64_t last = seed_number(std::string_view{*text}.substr(dots + 2), node);
  if (first > last || last - first >= kPlanListMax) {
    refuse(line_of(node),
           fmt::format("seed: \"{}\" is no range of 1 to {} seeds", *text, kPlanListMax));
  }
  for (uint64_t i = 0; i <= last - first; ++i) {
    values.push_back({.text = std::to_string(first + i), .line = line_of(node)});
  }
}

void add_value(Key key, const toml::node& node, std::vector<PlanValue>& values) {
  const std::string_view name = kKeyNames[static_cast<size_t>(key)];
  const auto put = [&](std::string text) {
    values.push_back({.text = std::move(text), .line = line_of(node)});
  };
  switch (key) {
    case Key::kSeed:
      add_seeds(node, values);
      return;
    case Key::kLink:
      if (const toml::table* table = node.as_table()) {
        values.push_back(traces_of(*table));
        return;
      }
      put(text_of(name, node, "a name in quotes, or {down = \"FILE\", up = \"FILE\"}"));
      return;
    case Key::kOneWay: {
      const auto flag = node.value_exact<bool>();
      if (!flag) {
        refuse_type(name, node, "true or false, without quotes");
      }
      put(*flag ? "true" : "false");
      return;
    }
    case Key::kLoss:
      put(number_text(node, name, "a probability without quotes: 5 % is 0.05"));
      return;
    case Key::kDelay:
    case Key::kDuration:
    case Key::kSkip:
      put(node.is_string() ? text_of(name, node, "a time in quotes, as in \"20ms\"")
                           : number_text(node, name, "a time, as in \"20ms\" or 60 (seconds)"));
      return;
    case Key::kQueue:
    case Key::kVideo:
    case Key::kAudio:
    case Key::kScheme:
      put(text_of(name, node, "text in quotes, or a list of them"));
      return;
  }
}

using Lists = std::array<std::vector<PlanValue>, kKeyNames.size()>;

/// One key's list; a single value is a list of one.
std::vector<PlanValue> list_of(Key key, const toml::node& node) {
  const std::string name{kKeyNames[static_cast<size_t>(key)]};
  std::vector<PlanValue> values;
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& element : *array) {
      add_value(key, element, values);
      if (values.size() > kPlanListMax) {
        refuse(line_of(element), fmt::format("{}: more than {} values", name, kPlanListMax));
      }
    }
    if (values.empty()) {
      refuse(line_of(node), name + ": an empty list is no run; leave the key out for the default");
    }
  } else {
    add_value(key, node, values);
  }
  return values;
}

Lists lists_of(const toml::table& table, Lists lists) {
  for (const auto& [name, node] : table) {
    if (name == "run") {
      continue;  // the tables, which the caller reads
    }
    const auto key = key_named(name.str());
    if (!key) {
      refuse(name.source().begin.line, unknown_key(name.str()));
    }
    lists[static_cast<size_t>(*key)] = list_of(*key, node);
  }
  return lists;
}

void add_product(Plan& plan, const Lists& lists, size_t line) {
  for (const Key key : {Key::kScheme, Key::kLink}) {
    if (lists[static_cast<size_t>(key)].empty()) {
      refuse(line, key == Key::kScheme
                       ? "no scheme; add scheme = [\"cress\"] (`cress-eval schemes` lists them)"
                       : "no link; add link = [\"lte-slow\"] (`cress-eval links` lists them)");
    }
  }
  std::array<std::vector<uint32_t>, kKeyNames.size()> numbers;
  size_t runs = 1;
  for (size_t key = 0; key < lists.size(); ++key) {
    for (const PlanValue& value : lists[key]) {
      numbers[key].push_back(plan.add_value(value));
    }
    runs *= std::max<size_t>(lists[key].size(), 1);  // each factor and the product are bounded
    if (runs > kPlanRunsMax - plan.size()) {
      refuse(line, fmt::format("more than {} runs; split the plan", kPlanRunsMax));
    }
  }
  for (size_t run = 0; run < runs; ++run) {
    std::array<uint32_t, kKeyNames.size()> chosen{};
    size_t rest = run;
    for (size_t key = numbers.size(); key-- > 0;) {
      if (!numbers[key].empty()) {
        chosen[key] = numbers[key][rest % numbers[key].size()];
        rest /= numbers[key].size();
      }
    }
    plan.add_run(chosen);
  }
}

Plan plan_of(const toml::table& root) {
  Lists defaults;
  defaults[static_cast<size_t>(Key::kSeed)] = {{.text = "1"}};
  defaults = lists_of(root, std::move(defaults));
  Plan plan;
  const toml::node* runs = root.get("run");
  if (runs == nullptr) {
    add_product(plan, defaults, 0);
    return plan;
  }
  const toml::array* tables = runs->as_array();
  if (tables == nullptr || tables->empty() || !tables->is_homogeneous<toml::table>()) {
    refuse(line_of(*runs), "run: write [[run]], with two brackets, above the keys of each product");
  }
  if (tables->size() > kPlanTablesMax) {
    refuse(line_of(*runs), fmt::format("more than {} [[run]] tables", kPlanTablesMax));
  }
  for (const toml::node& node : *tables) {
    const toml::table& table = *node.as_table();
    if (const toml::node* nested = table.get("run")) {
      refuse(line_of(*nested), unknown_key("run in [[run]]"));
    }
    add_product(plan, lists_of(table, defaults), line_of(node));
  }
  return plan;
}

/// The library's words may quote the text; a line for a person does not hold line ends.
std::string printable(std::string_view text) {
  constexpr size_t kWordsMax = 200;
  std::string line{text.substr(0, kWordsMax)};
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' ');
  return line;
}

}  // namespace

Result<Plan, PlanError> parse_plan(std::string_view text) {
  try {
    check_shape(text);
    return plan_of(toml::parse(text));
  } catch (const Refusal& refusal) {
    return refusal.error;
  } catch (const toml::parse_error& error) {
    return PlanError{error.source().begin.line,
                     fmt::format("is not TOML: {}", printable(error.description()))};
  }
}

}  // namespace cress::sweep
