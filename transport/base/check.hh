#pragma once

#include <limits>
#include <type_traits>
#include <utility>

namespace cress {

/// Prints "file:line: check failed: what" and aborts.
[[noreturn]] void check_failed(const char* what, const char* file, int line);

/// For our own bugs only, on in every build. Never for data from a peer or a file: those return a
/// Result.
constexpr void check(bool condition, const char* what, const char* file = __builtin_FILE(),
                     int line = __builtin_LINE()) {
  if (!condition) [[unlikely]] {
    check_failed(what, file, line);
  }
}

/// A conversion that fails a check if the value is outside of To's range. Between integers the
/// value is kept; from floating point to an integer the fraction is cut off.
template <class To, class From>
constexpr To narrow(From from, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  static_assert(std::is_arithmetic_v<To> && std::is_arithmetic_v<From>);
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    check(std::in_range<To>(from), "narrow: value out of range", file, line);
    return static_cast<To>(from);
  } else {
    check(from >= static_cast<From>(std::numeric_limits<To>::lowest()) &&
              from <= static_cast<From>(std::numeric_limits<To>::max()),
          "narrow: value out of range", file, line);
    return static_cast<To>(from);
  }
}

}  // namespace cress
