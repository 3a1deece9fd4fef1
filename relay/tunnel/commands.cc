#include "relay/tunnel/commands.hh"

#include <algorithm>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "relay/tunnel/live_tunnel.hh"
#include "transport/process/command_line.hh"
#include "transport/process/own_secrets.hh"
#include "transport/runtime/address_text.hh"

namespace cress::tunnel {
namespace {

constexpr const char* kExamples = R"(Examples:
  cress-tunnel --listen 0.0.0.0:4500 --exec iperf3 -s      at one end: prints a link
  cress-tunnel 'cress://...' --exec iperf3 -c 100.65.0.1   at the other, over the tunnel alone
  cress-tunnel 'cress://...' --exec bash                   a shell whose only network is the tunnel
  sudo cress-tunnel --listen 0.0.0.0:4500 --internet       a way out for the other end's programs
  sudo cress-tunnel 'cress://...' --route 198.51.100.0/24  an interface of this machine
Whoever has the link can join; it is in quotes because of its '#'. With --exec no rights are needed:
COMMAND runs in a network of its own, whose default route is the tunnel. The listener is 100.65.0.1
and the joiner 100.65.0.2, if --address does not say otherwise.)";

struct Arguments {
  std::string link{};
  std::string link_file{};
  std::string listen{};
  std::string host{};
  std::string address = "100.65.0.1/30";
  int mtu = static_cast<int>(kTunnelMtu.bytes());
  std::string control = "cress";
  std::vector<std::string> routes{};
  bool internet = false;
  std::string stats{};
};

netns::Prefix parse_route(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string ip = text.substr(0, slash);
  const auto address =
      runtime::parse_address(ip.find(':') == std::string::npos ? ip + ":0" : "[" + ip + "]:0");
  int length = -1;
  if (slash != std::string::npos && text.size() - slash <= 4) {
    const auto digits = std::string_view{text}.substr(slash + 1);
    const bool all =
        !digits.empty() && std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    length = all ? std::stoi(std::string{digits}) : -1;
  }
  if (!address || length < 0 || length > (address->is_ipv4() ? 32 : 128)) {
    throw std::runtime_error("--route " + text + ": not a network such as 198.51.100.0/24");
  }
  return {*address, length};
}

netns::Prefix parse_network(const std::string& text) {
  const auto prefix = parse_tunnel_prefix(text);
  if (!prefix) {
    throw std::runtime_error("--address " + text +
                             ": not one of the two hosts of an IPv4 /30 or /31, such as "
                             "10.9.0.1/30");
  }
  return *prefix;
}

LiveTunnelOptions options_of(const CLI::App& app, const Arguments& arguments,
                             std::vector<std::string> command) {
  LiveTunnelOptions options{.command = std::move(command)};
  const bool listens = app.count("--listen") > 0;
  if (listens == !arguments.link.empty()) {
    throw std::runtime_error(listens ? "either a link to join or --listen, not both"
                                     : "a link to join, or --listen");
  }
  for (const char* ours : {"--mtu", "--host", "--internet"}) {
    if (!listens && app.count(ours) > 0) {
      throw std::runtime_error(std::string{ours} + ": the listener says that");
    }
  }
  if (!options.command.empty() && (app.count("--route") > 0 || arguments.internet)) {
    throw std::runtime_error(
        "--exec has a network of its own; --route and --internet are for an "
        "interface of this machine");
  }
  const auto control = parse_control(arguments.control);
  if (!control) {
    throw std::runtime_error("--control " + arguments.control + ": cress or sprout");
  }
  options.network.control = *control;
  options.network.mtu = DataSize{arguments.mtu};
  options.stats = arguments.stats;
  options.internet = arguments.internet;
  for (const std::string& route : arguments.routes) {
    options.routes.push_back(parse_route(route));
  }
  if (!listens) {
    const auto link = secure::parse_link(arguments.link);
    if (!link) {
      throw std::runtime_error(std::string{secure::describe(link.error())});
    }
    if (!link->room.empty()) {
      throw std::runtime_error("a room's link: a tunnel has two ends");
    }
    if (link->is_relayed) {
      throw std::runtime_error(
          "a link of a call through a relay: a tunnel needs one to its own "
          "listener");
    }
    options.role = secure::Role::kJoiner;
    options.link = *link;
    if (app.count("--address") > 0) {
      options.network.listener = parse_network(arguments.address);
    }
    return options;
  }
  options.network.listener = parse_network(arguments.address);
  options.link.host = arguments.host;
  if (!arguments.listen.empty()) {
    options.bind = runtime::resolve(arguments.listen).front();
  }
  return options;
}

void describe_options(CLI::App& app, Arguments& arguments) {
  app.add_option(
      "LINK", arguments.link,
      "A cress:// link: join the tunnel that listens there; - reads it from standard input");
  app.add_option("--link-file", arguments.link_file,
                 "Read the link from this file, which only you may read");
  app.add_option("--listen", arguments.listen,
                 "Wait at ADDR:PORT (port 0: any free one) for who has the link, and print it")
      ->expected(0, 1);
  app.add_option("--host", arguments.host, "How the link names this machine; else by an address");
  app.add_option(
         "--address", arguments.address,
         "The listener's address, of a /30 or a /31. A joiner says so to accept one outside "
         "of 100.64.0.0/10")
      ->capture_default_str();
  app.add_option("--mtu", arguments.mtu, "Of both ends' interfaces, in bytes")
      ->check(CLI::Range(static_cast<int>(kMtuMin.bytes()), static_cast<int>(kMtuMax.bytes())))
      ->capture_default_str();
  app.add_option("--control", arguments.control,
                 "Whose forecast decides what is sent, cress or sprout; the same at both ends")
      ->capture_default_str();
  app.add_option("--route", arguments.routes,
                 "A network that this machine reaches through the tunnel; again for more");
  app.add_flag("--internet", arguments.internet,
               "The joiner's programs reach through this machine what it reaches (root)");
  app.add_option("--stats", arguments.stats, "A line of JSON a second goes to this file");
  std::string unused;
  app.add_option("--exec", unused,
                 "Run COMMAND with all that follows as its arguments, in a network of its own "
                 "behind the tunnel, and end with it")
      ->option_text("COMMAND...");
}

int execute(CLI::App& app, std::span<const char* const> words, std::istream& in, std::ostream& out,
            std::ostream& err) {
  // Arguments after --exec belong to another program, whatever they look like.
  const auto exec = std::ranges::find(words, std::string_view{"--exec"});
  std::vector<std::string> command;
  if (exec != words.end()) {
    command.assign(exec + 1, words.end());
    if (command.empty()) {
      throw std::runtime_error("--exec: which COMMAND?");
    }
  }
  Arguments arguments;
  describe_options(app, arguments);
  runtime::parse(app, {words.begin() + 1, exec});
  if (!arguments.link.empty() && !arguments.link_file.empty()) {
    throw std::runtime_error("either a link to join or --link-file, not both");
  }
  if (!arguments.link_file.empty()) {
    arguments.link = runtime::read_secret(arguments.link_file, secure::kLinkLengthMax);
  } else if (arguments.link == "-") {
    arguments.link = runtime::read_secret(in, secure::kLinkLengthMax);
  }
  if (command.empty()) {
    // Otherwise the system must let it set up a user namespace by its own files in /proc.
    (void)runtime::refuse_inspection();
  }
  return run_tunnel(options_of(app, arguments, std::move(command)), out, err);
}

}  // namespace

int run_command_line(int argc, const char* const* argv, std::istream& in, std::ostream& out,
                     std::ostream& err) {
  CLI::App app{"A tunnel whose flows share one forecast: a bulk transfer does not spoil a call."};
  app.footer(kExamples);
  app.set_version_flag("--version", "cress-tunnel " CRESS_VERSION);
  return runtime::run_command_line(app, "cress-tunnel", out, err, [&] {
    return execute(app, {argv, static_cast<size_t>(argc)}, in, out, err);
  });
}

}  // namespace cress::tunnel
