#pragma once

namespace cress::media {

/// GStreamer, started. `main` makes one before anything of this folder is used and keeps it to the
/// end; a second one is harmless. GStreamer reads its registry and environment here, and nowhere
/// else. Errors: std::runtime_error with GStreamer's reason.
class GstRuntime {
 public:
  GstRuntime();
  // Nothing is undone at the end: GStreamer cannot be started twice in one process.
};

}  // namespace cress::media
