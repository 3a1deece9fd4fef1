#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "transport/base/address.hh"
#include "transport/runtime/clock.hh"

/// The two ends of the kernel's TCP connections that are other traffic (CrossFlows), as the work of
/// processes of their own. Threads: one.
namespace cress::cellsim {

/// Takes one connection after the other at `address` and counts what arrives. Returns only where
/// the address cannot be had.
void receive_tcp(const Address& address, std::atomic<uint64_t>& arrived);

struct TcpSource {
  Address to;
  std::string congestion_control;  ///< empty: the kernel's default
  TimePoint start{};
  TimePoint end{};  ///< what is not sent by then is thrown away
};
/// A connection that always has data to send; if it fails, another one after 10 ms. This and
/// send_web throw std::runtime_error if the kernel does not allow the congestion control.
void send_tcp(const TcpSource& source, const runtime::MonotonicClock& clock);
/// Objects and silences by WebUser's numbers (eval/schemes/web_flow.hh), a connection for each.
void send_web(const TcpSource& source, uint64_t seed, const runtime::MonotonicClock& clock);

}  // namespace cress::cellsim
