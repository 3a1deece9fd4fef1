#pragma once

#include <iosfwd>

#include "app/headless/headless.hh"

namespace cress::headless {

/// run_headless for a link that names a room. The audio of all others is mixed; the video is that
/// of the current speaker, or, if `video_out` is a folder (it exists, or its path ends in '/'), one
/// file per member, member-NUMBER.webm.
int run_headless_room(const HeadlessOptions& options, std::ostream& out, std::ostream& err);

}  // namespace cress::headless
