#include <unistd.h>

#include <iostream>

#include "traces/commands.hh"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments{argv + 1, argv + argc};
  const bool terminal = isatty(STDERR_FILENO) != 0;
  return cress::traces::run_cress_trace(arguments, {std::cout, std::cerr, terminal});
}
