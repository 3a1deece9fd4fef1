#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace cress::eval {

/// The result of a command.
struct Ran {
  int exit_code = -1;  ///< -1: a signal ended it
  std::string output;  ///< standard output and error
  long lines() const { return std::count(output.begin(), output.end(), '\n'); }
};

/// Runs `command` as a user at a shell would.
inline Ran shell(const std::string& command) {
  Ran ran;
  FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    ran.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

inline Ran cress_eval(const std::string& arguments) {
  return shell(std::string{CRESS_BIN} + "/cress-eval " + arguments);
}

/// Empty if there is no such file.
inline std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace cress::eval
