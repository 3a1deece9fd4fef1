// A call in the simulator: ten seconds of a one-way video call over an embedded 3G link, in virtual
// time, scored as a viewer sees it. The same seed gives the same bytes on every machine.
#include <fmt/core.h>

#include <memory>

#include "eval/harness/outputs.hh"
#include "eval/harness/run.hh"
#include "media/source/synthetic_camera.hh"
#include "traces/links.hh"

using namespace cress;

int main() {
  const traces::NamedLink link = traces::resolve_link("3g", {});
  harness::RunSpec spec;
  spec.scheme = "cress";
  spec.link.name = link.name;
  spec.link.down = std::make_shared<const sim::DeliveryTrace>(link.down);  // runs may share it
  spec.link.up = std::make_shared<const sim::DeliveryTrace>(link.up);
  spec.duration = 10s;
  spec.skip = 2s;  // not scored: the start of the call
  spec.seed = 1;
  spec.forward_video = std::make_shared<media::SyntheticCamera>(
      media::SyntheticCameraOptions{.width = 320, .height = 180, .seed = spec.seed});

  const schemes::SchemeContext context;  // tables that all runs share
  const harness::RunOutput output = harness::run(spec, context);
  fmt::print("{}", harness::results_table(output.results));

  // output.frames has one row per captured frame, output.timeline one per 100 ms.
  const harness::VideoResult& video = *output.results.front().video;
  fmt::print(
      "{} of {} frames displayed; 95 % of the time the displayed frame was at most {:.0f} ms old\n",
      video.frames_displayed, video.frames_captured, video.frame_delay_p95_ms.value_or(0));
  return video.frames_displayed > 100 ? 0 : 1;
}
