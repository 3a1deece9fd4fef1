#pragma once

#include <utility>
#include <variant>

#include "transport/base/check.hh"

namespace cress {

/// Success without a value.
struct Unit {
  friend constexpr bool operator==(Unit, Unit) = default;
};

/// A value or one named error, for data from peers and files. Stand-in for C++23 std::expected.
/// Reading the side that is not set is our bug, hence a check failure.
template <class T, class E>
class [[nodiscard]] Result {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): `return value;` and `return error;` are the point
  constexpr Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}

  constexpr bool has_value() const { return state_.index() == 0; }
  constexpr explicit operator bool() const { return has_value(); }

  constexpr const T& value() const& {
    check(has_value(), "Result: value() of an error");
    return std::get<0>(state_);
  }
  constexpr T&& value() && {
    check(has_value(), "Result: value() of an error");
    return std::get<0>(std::move(state_));
  }
  constexpr const T& operator*() const& { return value(); }
  constexpr const T* operator->() const { return &value(); }
  constexpr const E& error() const {
    check(!has_value(), "Result: error() of a value");
    return std::get<1>(state_);
  }

  friend constexpr bool operator==(const Result&, const Result&) = default;

 private:
  std::variant<T, E> state_;
};

}  // namespace cress
