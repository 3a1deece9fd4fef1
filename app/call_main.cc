#include <iostream>

#include "app/commands.hh"
#include "transport/process/own_secrets.hh"

int main(int argc, char** argv) {
  cress::runtime::refuse_core_dumps();
  const cress::runtime::OwnArguments own{argc, argv};
  return cress::app::run_command_line(own.count(), own.values(), std::cin, std::cout, std::cerr);
}
