#include "app/headless/headless_inputs.hh"

#include <filesystem>
#include <stdexcept>
#include <string_view>

#include "media/gst/gst_audio_source.hh"
#include "media/gst/gst_file_source.hh"

namespace cress::headless {
namespace {

/// A path as a device id, other values unchanged.
std::string device_id(const std::string& text) {
  return std::filesystem::exists(text) ? "file:" + text : text;
}

void require_input(const std::string& option, const std::string& text) {
  const bool is_id = text == media::kTestDevice || text == media::kDefaultDevice ||
                     text == media::kScreenDevice || text.find(':') != std::string::npos;
  if (!text.empty() && !is_id && !std::filesystem::exists(text)) {
    throw std::runtime_error(option + " " + text +
                             ": no such file (or \"test\" for a test source)");
  }
}

template <class Require>
void require_decodable(const std::string& option, const std::string& text, Require require) {
  constexpr std::string_view kFile = "file:";
  const std::string path = text.starts_with(kFile) ? text.substr(kFile.size()) : text;
  if (path.empty() || !std::filesystem::exists(path)) {
    return;  // a device, or an error of its own
  }
  try {
    require(path);
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(option + " " + error.what());
  }
}

}  // namespace

secure::Link parsed_link(const std::string& text) {
  const auto link = secure::parse_link(text);
  if (!link) {
    // Without the text, which may hold a secret: errors go to logs.
    throw std::runtime_error(std::string{secure::describe(link.error())});
  }
  return *link;
}

app::PersonState person_of(const HeadlessOptions& options) {
  return {.name = options.name,
          .muted = options.audio_in.empty(),
          .camera_off = options.video_in.empty()};
}

live::LiveDevicesOptions device_options(const HeadlessOptions& options) {
  require_input("--video-in", options.video_in);
  require_input("--audio-in", options.audio_in);
  live::LiveDevicesOptions devices;
  if (!options.video_in.empty()) {
    devices.camera = media::LiveCameraOptions{
        .id = device_id(options.video_in), .size = options.size, .rate = options.rate};
  }
  if (!options.audio_in.empty()) {
    // A file is not a room: there is no echo or level to process.
    devices.microphone = media::LiveMicrophoneOptions{
        .id = device_id(options.audio_in),
        .processing = {
            .echo_cancellation = false, .noise_suppression = false, .gain_control = false}};
  }
  if (!options.audio_out.empty()) {
    devices.speaker.id = "file:" + options.audio_out.string();
  }
  return devices;
}

void require_decodable_inputs(const HeadlessOptions& options) {
  require_decodable("--video-in", options.video_in, media::require_video);
  require_decodable("--audio-in", options.audio_in, media::require_audio);
}

}  // namespace cress::headless
