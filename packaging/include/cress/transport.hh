#pragma once

/// Sockets and event loop, and secured sessions between them: what cress::transport offers to other
/// programs. Headers that are not named in <cress/*.hh> may change at any time.
#include "transport/base/address.hh"
#include "transport/base/machine.hh"
#include "transport/base/result.hh"
#include "transport/base/time.hh"
#include "transport/base/units.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/clock.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/event_loop.hh"
#include "transport/runtime/own_address.hh"
#include "transport/runtime/udp_socket.hh"
#include "transport/secure/connection.hh"
#include "transport/secure/link/link.hh"
#include "transport/secure/listener.hh"
