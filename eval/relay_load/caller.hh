#pragma once

#include "relay/members/load_member.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::relay_load {

/// A member with a socket of its own.
struct Caller {
  Caller(const runtime::MonotonicClock& clock, runtime::EventLoop& loop, int in,
         const Address& from, relay::LoadMemberOptions options)
      : room(in),
        socket(clock, {.bind = from, .receive_buffer = DataSize{1 << 20}, .takes_merged = true}),
        machine(clock.now(), std::move(options)),
        driver({clock, loop, socket, machine}) {}

  int room;
  runtime::UdpSocket socket;
  relay::LoadMember machine;
  runtime::Driver driver;
};

}  // namespace cress::relay_load
