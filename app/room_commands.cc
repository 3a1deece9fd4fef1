#include "app/room_commands.hh"

#include <filesystem>
#include <istream>
#include <ostream>
#include <stdexcept>

#include "app/room/new_room.hh"
#include "transport/base/text.hh"
#include "transport/process/own_secrets.hh"
#include "transport/secure/link/link.hh"

namespace cress::app {
namespace {

secure::Link new_link(const RoomArguments& arguments) {
  const auto link = room::new_room(arguments.name, arguments.relay);
  if (!link) {
    const bool is_name = link.error() == room::NewRoomError::kBadName;
    throw std::runtime_error(
        (is_name ? "room \"" + arguments.name + "\"" : "--relay " + arguments.relay) + ": " +
        room::describe(link.error()));
  }
  return *link;
}

int make_room(const RoomArguments& arguments, std::ostream& out, std::ostream& err) {
  const secure::Link link = new_link(arguments);
  const std::string text = secure::format_link(link);
  if (arguments.link_file.empty()) {
    out << text << "\n" << std::flush;
    err << "cress-call: this link is the room's key: for its members alone. What the relay needs "
           "is printed by: cress-call room access -\n";
    return 0;
  }
  if (std::filesystem::exists(arguments.link_file)) {
    throw std::runtime_error("--link-file " + arguments.link_file +
                             ": exists already, and may be the key of another room");
  }
  runtime::write_secret(arguments.link_file, text);
  err << "cress-call: the link, which is the room's key, is in " << arguments.link_file
      << ". What the relay needs is printed by: cress-call room access --link-file "
      << arguments.link_file << "\n";
  return 0;
}

int print_access(const RoomArguments& arguments, std::istream& in, std::ostream& out) {
  if (arguments.link.empty() == arguments.link_file.empty()) {
    throw std::runtime_error("room access: either a link (- for standard input) or --link-file");
  }
  std::string text = arguments.link;
  if (!arguments.link_file.empty()) {
    text = runtime::read_secret(arguments.link_file, secure::kLinkLengthMax);
  } else if (text == "-") {
    text = runtime::read_secret(in, secure::kLinkLengthMax);
  }
  const auto link = secure::parse_link(text);
  if (!link) {
    throw std::runtime_error(std::string{secure::describe(link.error())});
  }
  if (link->room.empty()) {
    throw std::runtime_error("this link is for a call of two, of which a relay needs nothing");
  }
  out << room::relays_half(*link) << "\n";
  return 0;
}

}  // namespace

RoomCommands add_room_commands(CLI::App& app, RoomArguments& arguments) {
  RoomCommands commands;
  commands.room = app.add_subcommand("room", "Make a room for a relay that never has its key");
  commands.room->require_subcommand(1);
  commands.make = commands.room->add_subcommand("new", "Make a room's link, and print it");
  commands.make->add_option("NAME", arguments.name, "1 to 64 of A-Z a-z 0-9 . _ -")->required();
  commands.make->add_option("--relay", arguments.relay, "The relay's HOST:PORT, as members find it")
      ->required();
  commands.make->add_option("--link-file", arguments.link_file,
                            "Write the link to this file, which only you may read");
  commands.access = commands.room->add_subcommand(
      "access", "Print what the relay needs of a link, for `cress-relay room add`");
  commands.access->add_option("LINK", arguments.link, "The room's link; - reads standard input");
  commands.access->add_option("--link-file", arguments.link_file, "Read the link from this file");
  return commands;
}

int execute_room_command(const RoomCommands& commands, const RoomArguments& arguments,
                         std::istream& in, std::ostream& out, std::ostream& err) {
  return commands.make->parsed() ? make_room(arguments, out, err)
                                 : print_access(arguments, in, out);
}

}  // namespace cress::app
