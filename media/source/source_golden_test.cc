#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <string_view>

#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"
#include "transport/base/golden_test_tools.hh"

namespace cress::media {
namespace {

std::string plane_line(const uint8_t* plane, size_t size) {
  uint64_t sum = 0;
  for (size_t i = 0; i < size; ++i) {
    sum += plane[i];
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): a digest is of char
  const std::string_view bytes{reinterpret_cast<const char*>(plane), size};
  return " " + std::to_string(sum / size) + " " + golden_digest(bytes);
}

void draw_golden(std::ostringstream& text, const SyntheticCameraOptions& options, uint64_t end,
                 uint64_t step) {
  SyntheticCamera camera{options};
  text << options.width << "x" << options.height << " " << camera.description() << "\n";
  for (uint64_t index = 0; index < end; index += step) {
    const PicturePtr picture = camera.picture(index);
    text << " " << index << plane_line(picture->y(), picture->luma_size())
         << plane_line(picture->u(), picture->chroma_size())
         << plane_line(picture->v(), picture->chroma_size()) << "\n";
  }
}

// Four seconds contain a blink and many positions of the mouth; sizes that are odd, flat and
// narrow, where drawn parts extend over the edges.
TEST(SyntheticCamera, PicturesAreTheRecordedOnes) {
  std::ostringstream text;
  draw_golden(text, {.width = 160, .height = 90, .seed = 1}, 120, 2);
  draw_golden(text, {.width = 97, .height = 61, .frame_rate = {25, 1}, .seed = 3}, 5000, 617);
  draw_golden(text, {.width = 640, .height = 360, .seed = 2}, 60, 19);
  draw_golden(text, {.width = 400, .height = 16, .seed = 4}, 60, 19);
  draw_golden(text, {.width = 16, .height = 400, .seed = 5}, 60, 19);
  expect_golden("camera", text.str());
}

// Loudness and sign changes, not the samples: their last bit depends on the machine's library.
TEST(SyntheticVoice, SpeaksAsRecorded) {
  std::ostringstream text;
  for (const SyntheticVoiceOptions& options :
       {SyntheticVoiceOptions{}, SyntheticVoiceOptions{.seed = 9, .loop = 5s}}) {
    SyntheticVoice voice{options};
    text << voice.description();
    for (uint64_t i = 0; i < 250; ++i) {
      const AudioFrame frame = voice.frame(i);
      double energy = 0;
      int changes = 0;
      for (size_t sample = 1; sample < frame.size(); ++sample) {
        energy += static_cast<double>(frame[sample]) * frame[sample];
        changes += (frame[sample] < 0) != (frame[sample - 1] < 0) ? 1 : 0;
      }
      text << (i % 25 == 0 ? "\n" : " ")
           << std::lround(std::sqrt(energy / static_cast<double>(frame.size()))) << "/" << changes;
    }
    text << "\n";
  }
  expect_golden("voice", text.str());
}

}  // namespace
}  // namespace cress::media
