#include <iostream>

#include "eval/commands.hh"

int main(int argc, char** argv) {
  return cress::eval::run_command_line(argc, argv, std::cout, std::cerr);
}
