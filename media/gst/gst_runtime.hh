#pragma once

namespace cress::media {

/// Initializes GStreamer. `main` creates one before anything of this folder is used and keeps it to
/// the end; a second one is harmless. GStreamer reads its registry and environment here, and
/// nowhere else. Errors: std::runtime_error with GStreamer's reason.
class GstRuntime {
 public:
  GstRuntime();
  // No deinitialization at the end: GStreamer cannot be initialized twice in one process.
};

}  // namespace cress::media
