#pragma once

#include <string>

namespace cress::live {

/// The address of this machine that others most likely reach, without a port: IPv4 before IPv6, no
/// loopback nor link-local one unless there is nothing else. "127.0.0.1" on a machine without a
/// network.
std::string own_address();

}  // namespace cress::live
