#pragma once

#include <exception>

namespace cress::eval {

/// Keeps the first exception of several steps while the others are still executed, so that finished
/// work is not lost because another step failed. Threads: none inside; one owner.
class FirstError {
 public:
  template <class Act>
  void attempt(Act act) {
    try {
      act();
    } catch (...) {
      note(std::current_exception());
    }
  }
  void note(const FirstError& other) { note(other.error_); }
  explicit operator bool() const { return error_ != nullptr; }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  void note(const std::exception_ptr& error) { error_ = error_ ? error_ : error; }

  std::exception_ptr error_;
};

}  // namespace cress::eval
