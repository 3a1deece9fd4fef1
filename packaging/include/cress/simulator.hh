#pragma once

/// Links, NATs and hosts in virtual time: what cress::simulator offers to other programs.
#include "cress/transport.hh"
#include "transport/sim/link.hh"
#include "transport/sim/trace.hh"
#include "transport/sim/world.hh"
