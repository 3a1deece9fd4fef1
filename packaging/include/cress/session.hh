#pragma once

/// Messages over a link whose rate is forecast: what cress::session offers to other programs.
#include "cress/transport.hh"
#include "transport/control/control.hh"
#include "transport/control/cress/cress_control.hh"
#include "transport/session/endpoint.hh"
