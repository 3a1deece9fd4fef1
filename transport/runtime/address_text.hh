#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transport/base/address.hh"
#include "transport/base/result.hh"

namespace cress::runtime {

/// Why a text is not IP:PORT.
enum class AddressError {
  kEmpty,
  kNoPort,           ///< nothing after the IP address
  kBadPort,          ///< not a whole number 0..65535
  kBadIp,            ///< neither an IPv4 nor an IPv6 address; perhaps a host name, see resolve()
  kUnclosedBracket,  ///< "[" without its "]"
  kNeedsBrackets,    ///< an IPv6 address whose port is ambiguous
  kBadScope,         ///< the text after "%" is neither an interface of this machine nor a number
};
/// The error in a few words.
const char* describe(AddressError error);

/// Reads "192.0.2.7:4433", "[2001:db8::7]:4433" or, link-local, "[fe80::1%eth0]:4433" (an interface
/// name of this machine, or a number), without asking the network. Total: any text gives an address
/// or one error.
Result<Address, AddressError> parse_address(std::string_view text);
/// The inverse: parse_address(format_address(a)) == a, the scope written as a number.
std::string format_address(const Address& address);
/// Without port and brackets, as in a link: "192.0.2.7", "2001:db8::7".
std::string host_of(const Address& address);

/// All addresses that "IP:PORT" or "HOST:PORT" may mean, in the order in which to try them (RFC
/// 6724), without duplicates, at least one. Blocks for as long as the name server takes: for
/// `main`, not for the event loop. Throws std::runtime_error: what was wrong, and what to type.
std::vector<Address> resolve(std::string_view text);

}  // namespace cress::runtime
