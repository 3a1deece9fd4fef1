#pragma once

#include <iosfwd>

#include "app/headless/headless.hh"

namespace cress::headless {

/// run_headless for a link that names a room. The sound of all others is one; the pictures are
/// those of who speaks, or, when `video_out` is a folder (it exists, or its path ends in '/'), a
/// file for each member, member-NUMBER.webm.
int run_headless_room(const HeadlessOptions& options, std::ostream& out, std::ostream& err);

}  // namespace cress::headless
