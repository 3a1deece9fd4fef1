#include <iostream>

#include "relay/tunnel/commands.hh"

int main(int argc, char** argv) {
  return cress::tunnel::run_command_line(argc, argv, std::cout, std::cerr);
}
