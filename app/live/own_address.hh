#pragma once

#include <string>

namespace cress::live {

/// The address by which others most likely reach this machine, without a port: IPv4 before IPv6, no
/// loopback or link-local one unless there is nothing else. "127.0.0.1" on a machine without a
/// network.
std::string own_address();

}  // namespace cress::live
