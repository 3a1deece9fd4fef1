#pragma once

#include <csignal>
#include <optional>

#include "transport/runtime/file_descriptor.hh"

namespace cress::cellsim {

/// While this object exists, SIGINT, SIGTERM and SIGHUP do not end the process but can be read,
/// with their sender. Threads: one; the process has no other.
class SignalFile {
 public:
  struct Signal {
    int number = 0;
    /// Sent by the terminal (Ctrl-C): every process in the foreground has already received it.
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
