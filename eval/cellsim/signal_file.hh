#pragma once

#include <csignal>
#include <optional>

#include "transport/runtime/file_descriptor.hh"

namespace cress::cellsim {

/// While it lives, SIGINT, SIGTERM and SIGHUP end nothing here but can be read, with who sent them.
/// Threads: one thread's; the process has no other.
class SignalFile {
 public:
  struct Signal {
    int number = 0;
    /// The terminal sent it (Ctrl-C): every process in the foreground has it already.
    bool is_terminals = false;
  };

  SignalFile();
  ~SignalFile();
  SignalFile(const SignalFile&) = delete;
  SignalFile& operator=(const SignalFile&) = delete;

  std::optional<Signal> poll_signal();
  int handle() const { return fd_.get(); }

 private:
  sigset_t before_{};
  runtime::FileDescriptor fd_;
};

}  // namespace cress::cellsim
