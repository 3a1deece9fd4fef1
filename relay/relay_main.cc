#include <chrono>
#include <iostream>

#include "relay/commands.hh"
#include "transport/process/own_secrets.hh"

int main(int argc, char** argv) {
  (void)cress::runtime::refuse_inspection();
  const auto wall_clock = [] {
    return static_cast<cress::relay::UnixSeconds>(
        std::chrono::duration_cast<std::chrono::seconds>(
            std::chrono::system_clock::now().time_since_epoch())
            .count());
  };
  return cress::relay::run_command_line(argc, argv, wall_clock, std::cin, std::cout, std::cerr);
}
