#include "relay/daemon/relay_config.hh"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <variant>

#include "transport/base/units.hh"

namespace cress::relay {
namespace {

// A key, where it lives, what it means: parsing and printing are made of the same list.
struct Minutes {
  Duration* value;
};
using Field = std::variant<size_t*, int64_t*, double*, Duration*, Minutes, DataRate*, DataSize*>;
struct NumberKey {
  const char* table;
  const char* name;  // ends in its unit
  const char* about;
  int64_t least;
  int64_t most;
  Field (*field)(RelayConfig&);
};
struct TextKey {
  const char* name;
  const char* about;
  std::string (*get)(const RelayConfig&);
  void (*set)(RelayConfig&, const std::string&);
};

constexpr const char* kMetrics = "metrics";  // the only text that may be empty

constexpr TextKey kTexts[] = {
    {"listen", "UDP address and port of the relay; [::] is every address, IPv4 too",
     [](const RelayConfig& c) { return c.listen; },
     [](RelayConfig& c, const std::string& text) { c.listen = text; }},
    {"host", "at which members find this machine: a name or an address, for the links",
     [](const RelayConfig& c) { return c.host; },
     [](RelayConfig& c, const std::string& text) { c.host = text; }},
    {"rooms", "the file of the rooms (SQLite); relative to this file's folder",
     [](const RelayConfig& c) { return c.rooms.string(); },
     [](RelayConfig& c, const std::string& text) { c.rooms = text; }},
    {kMetrics, "TCP address and port of /metrics, /healthz and /readyz; empty: none",
     [](const RelayConfig& c) { return c.metrics; },
     [](RelayConfig& c, const std::string& text) { c.metrics = text; }},
};

constexpr NumberKey kNumbers[] = {
    {"drain", "not_ready_ms", "asked to end, /readyz answers 503 for this long before members go",
     0, 3'600'000, [](RelayConfig& c) -> Field { return &c.not_ready; }},
    {"drain", "again_in_ms", "members of a relay that ends are told to come back after this", 0,
     3'600'000, [](RelayConfig& c) -> Field { return &c.drain_again_in; }},
    {"calls", "calls", "of two through this relay at the same time; 0: none", 0, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.calls.calls_max; }},
    {"calls", "call_kbps", "of one, both directions together; more is dropped unread", 100,
     1'000'000, [](RelayConfig& c) -> Field { return &c.machine.calls.rate_max; }},
    {"calls", "call_minutes", "for which one call may use this relay; a direct call continues", 1,
     100'000, [](RelayConfig& c) -> Field { return Minutes{&c.machine.calls.length_max}; }},
    {"limits", "rooms", "with somebody in them, at once", 1, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.live_rooms_max; }},
    {"limits", "members", "of all rooms together", 1, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.listener.peers_max; }},
    {"limits", "members_per_room", "where the room does not say otherwise", 1, kRoomMembersMax,
     [](RelayConfig& c) -> Field { return &c.machine.room.members_max; }},
    {"limits", "member_kbps", "what one member may send; more is dropped unread", 50, 1'000'000,
     [](RelayConfig& c) -> Field { return &c.machine.room.member_rate_max; }},
    {"limits", "member_datagrams_per_second", "likewise", 50, 1'000'000,
     [](RelayConfig& c) -> Field { return &c.machine.room.member_datagrams_per_second; }},
    {"limits", "control_messages_per_second", "of one member", 5, 10'000,
     [](RelayConfig& c) -> Field { return &c.machine.room.control_messages_per_second; }},
    {"limits", "video_kbps", "what one member is asked to send at most", 50, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.room.video_rate_max; }},
    {"limits", "thumbnail_kbps", "the same for one that nobody looks at in large", 20, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.room.thumbnail_rate; }},
    {"limits", "leg_queue_bytes", "of pictures that wait for one member's link", 16'000,
     100'000'000, [](RelayConfig& c) -> Field { return &c.machine.room.leg_queue_max; }},
    {"limits", "lost_after_ms", "a member of whom nothing is heard for so long is gone", 1'000,
     600'000, [](RelayConfig& c) -> Field { return &c.machine.room.lost_after; }},
    {"limits", "handshakes", "under way at once; when one more comes the oldest goes", 8, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.listener.pending_max; }},
    {"limits", "handshakes_per_second", "of everybody; each costs about 0.4 ms", 1, 100'000,
     [](RelayConfig& c) -> Field { return &c.machine.listener.limits.handshakes.per_second; }},
    {"limits", "handshakes_per_second_of_a_network", "of one /24 (IPv4) or /48 (IPv6)", 1, 100'000,
     [](RelayConfig& c) -> Field {
       return &c.machine.listener.limits.handshakes_of_network.per_second;
     }},
};

struct Get {
  int64_t operator()(const Duration* value) const { return *value / 1ms; }
  int64_t operator()(Minutes minutes) const { return *minutes.value / 1min; }
  int64_t operator()(const DataRate* value) const { return value->bits_per_second() / 1000; }
  int64_t operator()(const DataSize* value) const { return value->bytes(); }
  template <class Number>
  int64_t operator()(const Number* value) const {
    return static_cast<int64_t>(*value);
  }
};
struct Set {
  int64_t number;
  void operator()(Duration* value) const { *value = number * 1ms; }
  void operator()(Minutes minutes) const { *minutes.value = number * 1min; }
  void operator()(DataRate* value) const { *value = DataRate::kilobits_per_second(number); }
  void operator()(DataSize* value) const { *value = DataSize{number}; }
  template <class Number>
  void operator()(Number* value) const {
    *value = static_cast<Number>(number);
  }
};

constexpr const char* kLogAddresses = "log_addresses";

std::string quoted(const std::string& text) {
  std::ostringstream out;
  out << toml::value<std::string>{text};
  return out.str();
}

class Reader {
 public:
  Reader(std::string_view name, RelayConfig& config) : name_(name), config_(config) {}

  void read(const toml::table& top) {
    for (const auto& [key, value] : top) {
      if (value.is_table()) {
        read_table(std::string{key.str()}, *value.as_table());
      } else if (key.str() == kLogAddresses) {
        config_.log_addresses = typed<bool>(value, key.str(), "true or false");
      } else {
        read_text(key.str(), value);
      }
    }
  }

 private:
  [[noreturn]] void fail(const toml::node& at, const std::string& what) const {
    throw std::runtime_error(fmt::format("{}:{}: {}", name_, at.source().begin.line, what));
  }
  template <class T>
  T typed(const toml::node& value, std::string_view key, const char* kind) const {
    const auto read = value.value_exact<T>();
    if (!read) {
      fail(value, fmt::format("{} must be {}", key, kind));
    }
    return *read;
  }
  void read_text(std::string_view key, const toml::node& value) {
    for (const TextKey& known : kTexts) {
      if (key == known.name) {
        const auto text = typed<std::string>(value, key, "text in quotes");
        if (text.empty() && key != kMetrics) {
          fail(value, fmt::format("{} is empty; leave it out for the default", key));
        }
        known.set(config_, text);
        return;
      }
    }
    fail(value, fmt::format("{} is no setting of a relay; `cress-relay config` prints all", key));
  }
  void read_table(const std::string& table, const toml::table& values) {
    if (std::ranges::none_of(kNumbers, [&](const NumberKey& key) { return table == key.table; })) {
      fail(values, fmt::format("[{}] is no part of a relay's settings; `cress-relay config` prints "
                               "all",
                               table));
    }
    for (const auto& [key, value] : values) {
      const NumberKey* known = find(table, key.str());
      if (known == nullptr) {
        fail(value, fmt::format("[{}] {} is no setting of a relay; `cress-relay config` prints all",
                                table, key.str()));
      }
      const auto number = typed<int64_t>(value, key.str(), "a whole number");
      if (number < known->least || number > known->most) {
        fail(value, fmt::format("{} = {} is not in {} to {}", key.str(), number, known->least,
                                known->most));
      }
      std::visit(Set{number}, known->field(config_));
    }
  }
  static const NumberKey* find(std::string_view table, std::string_view key) {
    for (const NumberKey& known : kNumbers) {
      if (table == known.table && key == known.name) {
        return &known;
      }
    }
    return nullptr;
  }

  std::string_view name_;
  RelayConfig& config_;
};

}  // namespace

RelayConfig parse_relay_config(std::string_view text, std::string_view name) {
  RelayConfig config;
  try {
    Reader{name, config}.read(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    throw std::runtime_error(
        fmt::format("{}:{}: not TOML: {}", name, error.source().begin.line, error.description()));
  }
  return config;
}

RelayConfig load_relay_config(const std::filesystem::path& file) {
  std::ifstream stream{file, std::ios::binary};
  // A configuration is about a page; a larger file is something else.
  constexpr size_t kSizeMax = 1 << 20;
  std::string text(kSizeMax, '\0');
  if (stream.read(text.data(), static_cast<std::streamsize>(text.size())) || !stream.eof()) {
    throw std::runtime_error(fmt::format("{}: {}", file.string(),
                                         stream.gcount() > 0
                                             ? "larger than a configuration can be"
                                             : "cannot be read; `cress-relay config` prints one"));
  }
  text.resize(static_cast<size_t>(stream.gcount()));
  RelayConfig config = parse_relay_config(text, file.string());
  config.rooms = file.parent_path() / config.rooms;  // an absolute path is unchanged
  return config;
}

std::string format_relay_config(const RelayConfig& config) {
  std::string text = "# Configuration of cress-relay. What is left out is as here.\n";
  const auto out = std::back_inserter(text);
  for (const TextKey& key : kTexts) {
    fmt::format_to(out, "# {}\n{} = {}\n", key.about, key.name, quoted(key.get(config)));
  }
  fmt::format_to(out,
                 "# members' whole addresses in the log, for those who hunt a fault\n{} = {}\n",
                 kLogAddresses, config.log_addresses);
  std::string_view table;
  RelayConfig copy = config;  // to point into
  for (const NumberKey& key : kNumbers) {
    if (table != key.table) {
      table = key.table;
      fmt::format_to(out, "\n[{}]\n", table);
    }
    fmt::format_to(out, "# {} ({} to {})\n{} = {}\n", key.about, key.least, key.most, key.name,
                   std::visit(Get{}, key.field(copy)));
  }
  return text;
}

}  // namespace cress::relay
