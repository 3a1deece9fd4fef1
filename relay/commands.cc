#include "relay/commands.hh"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <istream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>

#include "transport/base/text_file.hh"
#include "transport/process/command_line.hh"
#include "transport/process/own_secrets.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/own_address.hh"
#include "transport/secure/handshake/credential.hh"
#include "transport/secure/link/link.hh"

namespace cress::relay {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-relay config > relay.toml                every setting with its default and meaning
  cress-relay --config relay.toml                the relay, until SIGTERM
  cress-relay --config relay.toml room create kitchen --expires 7d --members 8
  cress-call room access --link-file kitchen.link | cress-relay --config relay.toml room add
  cress-relay --config relay.toml room list
  cress-relay --config relay.toml room kick kitchen 3      the number is in the relay's log
The link that `room create` prints is the room's key: it is shown once, and the relay keeps only
what lets members in. Give it to the members with cress-call 'cress://...'. A room that somebody
made with `cress-call room new` is added: then this machine never had the key.)";

/// A valid request that failed: exit code 1, unlike bad arguments.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Arguments {
  std::string config{};
  std::string listen{};
  std::string metrics{};
  std::string rooms{};
  std::string host{};
  std::string name{};
  std::optional<Duration> expires{};
  int members = 0;
  int member = 0;
  bool json = false;
};

RelayConfig config_of(const CLI::App& app, const Arguments& arguments) {
  RelayConfig config;
  if (!arguments.config.empty()) {
    config = load_relay_config(arguments.config);
  }
  if (app.count("--listen") > 0) {
    config.listen = arguments.listen;
  }
  if (app.count("--metrics") > 0) {
    config.metrics = arguments.metrics;
  }
  if (app.count("--rooms") > 0) {
    config.rooms = arguments.rooms;
  }
  if (app.count("--host") > 0) {
    config.host = arguments.host;
  }
  return config;
}

uint16_t link_port(const RelayConfig& config) {
  const auto address = runtime::resolve(config.listen).front();
  if (address.port == 0) {
    throw std::runtime_error("listen = \"" + config.listen +
                             "\": a link needs a fixed port, not 0");
  }
  return address.port;
}

void store_room(const RelayConfig& config, const Arguments& arguments, UnixSeconds now,
                const secure::RoomAccess& access) {
  StoredRoom room{.door = {.name = access.room, .access = access.key}, .created = now};
  if (arguments.members > 0) {
    room.door.members_max = static_cast<size_t>(arguments.members);
  }
  if (arguments.expires) {
    room.expires = now + std::chrono::floor<std::chrono::seconds>(*arguments.expires).count();
  }
  if (!RoomStore{config.rooms}.create(room)) {
    throw Refused("there is a room \"" + access.room + "\" already; close it first");
  }
}

int create_room(const RelayConfig& config, const Arguments& arguments, UnixSeconds now,
                std::ostream& out, std::ostream& err) {
  if (!secure::is_room_name(arguments.name)) {
    throw std::runtime_error("\"" + arguments.name +
                             "\" is no room's name: 1 to 64 of A-Z a-z 0-9 . _ -");
  }
  const secure::Link link{.host = config.host,
                          .port = link_port(config),
                          .secret = secure::make_secret(),
                          .room = arguments.name};
  const std::string text = secure::format_link(link);
  if (!secure::parse_link(text)) {
    throw std::runtime_error("--host " + config.host + ": neither a name nor an address");
  }
  store_room(config, arguments, now,
             {.room = arguments.name, .key = secure::derive_room(link.secret).access});
  print_now(out, text + "\n");
  if (const char* who = runtime::who_reaches(config.host); *who != '\0') {
    err << "cress-relay: warning: only " << who << " can reach " << config.host
        << "; set `host` to a name or address at which members find this relay\n";
  }
  return 0;
}

int add_room(const RelayConfig& config, const Arguments& arguments, UnixSeconds now,
             std::istream& in) {
  const std::string text = runtime::read_secret(in, secure::kLinkLengthMax);
  const auto access = secure::parse_room_access(text);
  if (!access) {
    throw std::runtime_error(
        text.starts_with("cress://")
            ? "standard input: this is the link itself, which the relay must not have; make the "
              "relay's half of it with `cress-call room access`"
            : "standard input: not what `cress-call room access` prints (cress-access://...)");
  }
  store_room(config, arguments, now, *access);
  return 0;
}

std::string date(UnixSeconds seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M}Z", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

int list_rooms(const RelayConfig& config, const Arguments& arguments, std::ostream& out) {
  const auto rooms = RoomStore{config.rooms, RoomStore::Open::kExisting}.rooms();
  if (arguments.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const StoredRoom& room : rooms) {
      nlohmann::ordered_json entry{{"name", room.door.name}, {"created", room.created}};
      if (room.expires) {
        entry["expires"] = *room.expires;
      }
      if (room.door.members_max) {
        entry["members_max"] = *room.door.members_max;
      }
      all.push_back(entry);
    }
    out << all.dump(2) << "\n";
    return 0;
  }
  out << fmt::format("{:<32}  {:<17}  {:<17}  {}\n", "room", "created", "expires", "members");
  for (const StoredRoom& room : rooms) {
    out << fmt::format("{:<32}  {:<17}  {:<17}  {}\n", room.door.name, date(room.created),
                       room.expires ? date(*room.expires) : "never",
                       room.door.members_max ? fmt::format("at most {}", *room.door.members_max)
                                             : "as configured");
  }
  return 0;
}

int close_room(const RelayConfig& config, const Arguments& arguments) {
  if (!RoomStore{config.rooms, RoomStore::Open::kExisting}.remove(arguments.name)) {
    throw Refused("there is no room \"" + arguments.name + "\"; `room list` shows all");
  }
  return 0;
}

int kick_member(const RelayConfig& config, const Arguments& arguments) {
  RoomStore store{config.rooms, RoomStore::Open::kExisting};
  const auto rooms = store.rooms();
  if (std::ranges::none_of(
          rooms, [&](const StoredRoom& room) { return room.door.name == arguments.name; })) {
    throw Refused("there is no room \"" + arguments.name + "\"; `room list` shows all");
  }
  store.ask_to_kick(arguments.name, static_cast<room::MemberNumber>(arguments.member));
  return 0;
}

/// Options that the chosen command does not read.
void refuse_without_effect(const CLI::App& app, bool is_room, bool needs_host) {
  if (is_room) {
    runtime::refuse_given(app, {"--metrics"}, "only for the relay itself and `config`");
  }
  if (is_room && !needs_host) {
    runtime::refuse_given(app, {"--listen", "--host"}, "only a link needs it: `room create`");
  }
}

void add_name(CLI::App* command, Arguments& arguments) {
  command->add_option("NAME", arguments.name, "The room's")->required();
}

/// Parses the arguments, and executes the command.
int execute(CLI::App& app, int argc, const char* const* argv, const WallClock& wall_clock,
            std::istream& in, std::ostream& out, std::ostream& err) {
  Arguments arguments;
  app.add_option("--config", arguments.config, "TOML file; `cress-relay config` prints one");
  app.add_option("--listen", arguments.listen, "UDP ADDRESS:PORT, in place of the file's");
  app.add_option("--metrics", arguments.metrics, "TCP ADDRESS:PORT of /metrics, or nothing");
  app.add_option("--rooms", arguments.rooms, "The rooms' file");
  app.add_option("--host", arguments.host, "Where members find this machine, for links");
  app.require_subcommand(0, 1);
  auto* const print = app.add_subcommand("config", "Print the configuration in force");
  auto* const room = app.add_subcommand("room", "Rooms; a running relay follows within a second");
  room->require_subcommand(1);
  auto* const create = room->add_subcommand("create", "Make a room and print its link, once");
  add_name(create, arguments);
  auto* const add = room->add_subcommand(
      "add", "Add a room that `cress-call room new` made: its access, from standard input");
  for (auto* const command : {create, add}) {
    runtime::add_duration(*command, "--expires", arguments.expires,
                          "30m, 12h, 7d or 2w from now; else never",
                          {1s, 24h * 3660, "from one second to ten years"});
    command->add_option("--members", arguments.members, "At most so many")
        ->check(CLI::Range(1, kRoomMembersMax));
  }
  auto* const list = room->add_subcommand("list", "Show all rooms");
  list->add_flag("--json", arguments.json, "As JSON");
  auto* const close = room->add_subcommand("close", "End a room for good");
  add_name(close, arguments);
  auto* const kick = room->add_subcommand(
      "kick", "Send a member away; who has the link can come back: for good, close the room");
  add_name(kick, arguments);
  kick->add_option("MEMBER", arguments.member, "Its number, from the relay's log")
      ->required()
      ->check(CLI::Range(1, static_cast<int>(std::numeric_limits<room::MemberNumber>::max())));

  runtime::parse(app, {argv + 1, argv + argc}, {"--metrics"});
  refuse_without_effect(app, room->parsed(), create->parsed() || print->parsed());
  const RelayConfig config = config_of(app, arguments);
  if (print->parsed()) {
    out << format_relay_config(config);
    return 0;
  }
  if (create->parsed()) {
    return create_room(config, arguments, wall_clock(), out, err);
  }
  if (add->parsed()) {
    return add_room(config, arguments, wall_clock(), in);
  }
  if (list->parsed()) {
    return list_rooms(config, arguments, out);
  }
  if (close->parsed()) {
    return close_room(config, arguments);
  }
  if (kick->parsed()) {
    return kick_member(config, arguments);
  }
  return run_daemon(config, wall_clock, err);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, const WallClock& wall_clock,
                     std::istream& in, std::ostream& out, std::ostream& err) {
  CLI::App app{"A relay for calls of many: it passes on what it cannot read."};
  app.footer(kExamples);
  app.set_version_flag("--version", "cress-relay " CRESS_VERSION);
  return runtime::run_command_line(app, "cress-relay", out, err, [&] {
    try {
      return execute(app, argc, argv, wall_clock, in, out, err);
    } catch (const Refused& error) {
      err << "cress-relay: " << one_line(error.what()) << "\n";
      return 1;
    }
  });
}

}  // namespace cress::relay
