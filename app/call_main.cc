#include <iostream>

#include "app/commands.hh"

int main(int argc, char** argv) {
  return cress::app::run_command_line(argc, argv, std::cout, std::cerr);
}
