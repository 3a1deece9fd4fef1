#pragma once

#include <string>

#include "app/call/control_message.hh"
#include "app/headless/headless.hh"
#include "app/live/live_devices.hh"
#include "transport/secure/link/link.hh"

namespace cress::headless {

// Conversions of the options, shared by calls and rooms without a screen. All throw
// std::runtime_error with the reason.

/// Files and test sources in the place of camera, microphone and loudspeaker.
live::LiveDevicesOptions device_options(const HeadlessOptions& options);
/// A file that GStreamer cannot decode is refused here, before the call. Needs a media::GstRuntime.
void require_decodable_inputs(const HeadlessOptions& options);
app::PersonState person_of(const HeadlessOptions& options);
secure::Link parsed_link(const std::string& text);

}  // namespace cress::headless
