#pragma once

namespace cress::eval {

/// The git commit that this program was built from, 40 hexadecimal digits, with "-modified" where
/// files of it were changed; "unknown" outside a checkout. Made by cmake/commit.cmake.
const char* commit();

}  // namespace cress::eval
