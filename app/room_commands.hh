#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>

namespace cress::app {

/// `cress-call room new` and `room access`: people make rooms, so that the relay and its operator
/// never have a room's secret. They need no network.
struct RoomArguments {
  std::string name{};
  std::string relay{};      ///< HOST:PORT, as members find it
  std::string link{};       ///< or "-": the first line of standard input
  std::string link_file{};  ///< `new` writes it, `access` reads it
};

struct RoomCommands {
  CLI::App* room = nullptr;
  CLI::App* make = nullptr;
  CLI::App* access = nullptr;
};
RoomCommands add_room_commands(CLI::App& app, RoomArguments& arguments);

/// Prints the new link, or the relay's half of one, on `out` (or into the file), and what to do
/// next on `err`. Throws std::runtime_error: what is wrong with the arguments or the file.
int execute_room_command(const RoomCommands& commands, const RoomArguments& arguments,
                         std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace cress::app
