#pragma once

#include <CLI/CLI.hpp>
#include <exception>
#include <ostream>
#include <string>

#include "transport/base/text.hh"

namespace cress::runtime {

/// How every program of ours begins and ends: `execute` parses by `app`, does what was asked and
/// gives the exit code. --help and --version are printed; what is wrong is one line on `err`,
/// "PROGRAM: what", and gives 2.
template <class Execute>
int run_command_line(CLI::App& app, const std::string& program, std::ostream& out,
                     std::ostream& err, const Execute& execute) {
  try {
    return execute();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error, out, err);  // --help, --version
    }
    err << program << ": " << one_line(error.what()) << "; see " << program << " --help\n";
  } catch (const std::exception& error) {
    err << program << ": " << one_line(error.what()) << "\n";
  }
  return 2;
}

}  // namespace cress::runtime
