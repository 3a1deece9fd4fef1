#pragma once

#include <exception>

namespace cress::eval {

/// Keeps the first exception of several steps, so that the others are still done: what was finished
/// is not lost because something else failed. Threads: none inside; one owner.
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
