#pragma once

/// Calls of two and rooms, with their devices or without I/O: what cress::call offers to other
/// programs.
#include "app/call/call.hh"
#include "app/live/live_call.hh"
#include "app/live/secure_call.hh"
#include "app/room/live_room.hh"
#include "app/room/secure_room.hh"
#include "cress/media.hh"
#include "cress/session.hh"
