#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>

#include "app/call/preference.hh"
#include "media/gst/gst_file_source.hh"
#include "media/source/video_source.hh"
#include "transport/base/time.hh"

namespace cress::headless {

struct HeadlessOptions {
  /// cress://…: join. Empty: listen.
  std::string link{};
  /// Where to listen: ADDRESS:PORT; empty: any address, any port.
  std::string listen{};
  /// HOST:PORT of a relay at which a listener waits, so that it can be called behind NATs; empty:
  /// none, or that of the kept link.
  std::string relay{};
  /// In a call through a relay the router is asked for a port.
  bool asks_router = true;
  /// The file that keeps a listener's link over restarts; empty: each call has a new link.
  std::filesystem::path link_file{};
  /// In a call of two: any end with the link may replace the other end once it is silent. If false,
  /// only that same end may, which must prove its identity.
  bool replaced_by_anyone = false;
  /// The file of what proves to the other end that this is the same end after a restart
  /// (live::kept_identity); empty: nothing.
  std::filesystem::path identity_file{};
  /// The name that the other end sees.
  std::string name = "headless";
  /// A file, or what LiveCamera and LiveMicrophone take ("test"); empty: none.
  std::string video_in{};
  std::string audio_in{};
  media::PictureSize size{640, 360};
  media::FrameRate rate{};
  app::Preference prefer = app::kUsualPreference;
  /// .y4m, .webm (with audio) or .ivf; .wav; lines of JSON, "-" for standard output.
  std::filesystem::path video_out{};
  std::filesystem::path audio_out{};
  std::filesystem::path stats{};
  /// A table with one line per displayed frame, as CSV; "-" for standard output.
  std::filesystem::path frames{};
  /// From the first connection on; empty: until one end hangs up.
  std::optional<Duration> duration{};
  /// How long to wait for the other end; empty: for ever for a listener, 30 s for a joiner.
  std::optional<Duration> wait{};
  /// One line on `err` per second.
  bool progress = false;
};

/// A call without a screen: files in, files out. The link of a listener is a line of its own on
/// `out`. SIGINT and SIGTERM hang up; all that was recorded is kept. In a room `audio_out` is the
/// mix of all others, and `video_out` shows the speaker, or, if it is a folder (it exists, or its
/// path ends in '/'), holds a file for each member, member-NUMBER.webm.
/// Returns 0 if the call took place, 1 if it did not or broke off (the reason is on `err`).
/// Errors: std::runtime_error for what cannot begin (a bad link, a missing file, a port in use).
/// Needs a media::GstRuntime. Once the link is read, only keys derived from it are kept.
int run_headless(HeadlessOptions options, std::ostream& out, std::ostream& err);

}  // namespace cress::headless
