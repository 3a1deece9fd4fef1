#include <benchmark/benchmark.h>
#include <gst/app/gstappsrc.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "media/devices/camera.hh"
#include "media/devices/device_test_tools.hh"
#include "media/devices/microphone.hh"
#include "media/devices/speaker.hh"
#include "media/gst/gst_handles.hh"
#include "media/gst/gst_picture.hh"
#include "media/gst/gst_runtime.hh"
#include "media/source/audio_synthetic_voice.hh"
#include "media/source/synthetic_camera.hh"

namespace cress::media {
namespace {

// The processor time of the whole process, as a share of a core.
Duration processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto sum = [](timeval t) {
    return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
  };
  return sum(usage.ru_utime) + sum(usage.ru_stime);
}

// Five seconds of a camera, in real time: the share of a core that it takes (source included), and
// how old a picture is when the call receives it.
void run_camera(benchmark::State& state, const std::string& id) {
  const GstRuntime runtime;
  const DeviceClock clock = steady_clock();
  for ([[maybe_unused]] auto _ : state) {
    LiveCamera camera{{.id = id, .size = {1280, 720}, .rate = {30, 1}}, clock};
    const auto next = [&] {
      return wait_for(camera.ready_fd(), [&] {
        while (camera.poll_event()) {
        }
        return camera.poll_picture();
      });
    };
    next();
    const Duration used = processor_time();
    const TimePoint begin = clock();
    std::vector<Duration> ages;
    for (int i = 0; i < 150; ++i) {
      const auto picture = next();
      if (!picture) {
        state.SkipWithError("no picture");
        return;
      }
      ages.push_back(clock() - picture->captured);
    }
    std::ranges::sort(ages);
    const double seconds = to_seconds(clock() - begin);
    state.counters["core_percent"] = 100 * to_seconds(processor_time() - used) / seconds;
    state.counters["pictures_per_s"] = 150 / seconds;
    state.counters["age_ms_p50"] = to_milliseconds(ages[75]);
    state.counters["age_ms_p95"] = to_milliseconds(ages[142]);
  }
}

void camera_test_picture(benchmark::State& state) { run_camera(state, "test"); }
BENCHMARK(camera_test_picture)->Iterations(1)->Unit(benchmark::kMillisecond);

// A picture that costs its source nothing, in our own format and size: hand-over without
// conversion.
void camera_hand_over(benchmark::State& state) {
  run_camera(state,
             "gst:videotestsrc is-live=true pattern=black ! video/x-raw,format=I420,width=1280,"
             "height=720,framerate=1/1,colorimetry=bt601 ! imagefreeze is-live=true "
             "! video/x-raw,framerate=30/1");
}
BENCHMARK(camera_hand_over)->Iterations(1)->Unit(benchmark::kMillisecond);

// The usual output of webcams at this size: a photograph in JPEG, decoded 30 times per second.
void camera_jpeg(benchmark::State& state) {
  const GstRuntime runtime;
  const std::string path = std::filesystem::temp_directory_path() / "cress_bench.jpg";
  {
    const GstPipelinePtr writer =
        parse_pipeline("appsrc name=in format=time ! jpegenc ! filesink location=" + path);
    const GstVideoInfo info = video_info(1280, 720, {30, 1});
    const GstOwned<GstElement> in = element_of(writer.get(), "in");
    const GstOwned<GstCaps> caps{gst_video_info_to_caps(&info)};
    gst_app_src_set_caps(GST_APP_SRC(in.get()), caps.get());
    gst_element_set_state(writer.get(), GST_STATE_PLAYING);
    SyntheticCamera camera{{.width = 1280, .height = 720}};
    gst_app_src_push_buffer(GST_APP_SRC(in.get()), to_buffer(*camera.picture(0), info).release());
    gst_app_src_end_of_stream(GST_APP_SRC(in.get()));
    const GstOwned<GstBus> bus{gst_element_get_bus(writer.get())};
    const GstOwned<GstMessage> end{
        gst_bus_timed_pop_filtered(bus.get(), 10 * GST_SECOND, GST_MESSAGE_EOS)};
  }
  run_camera(state, "gst:multifilesrc loop=true caps=image/jpeg,framerate=30/1 location=" + path +
                        " ! jpegdec ! identity sync=true");
  std::filesystem::remove(path);
}
BENCHMARK(camera_jpeg)->Iterations(1)->Unit(benchmark::kMillisecond);

// A raw webcam.
void camera_yuy2(benchmark::State& state) {
  run_camera(state,
             "gst:videotestsrc is-live=true num-buffers=1 ! video/x-raw,format=YUY2,width=1280,"
             "height=720,framerate=30/1 ! imagefreeze is-live=true ! video/x-raw,framerate=30/1");
}
BENCHMARK(camera_yuy2)->Iterations(1)->Unit(benchmark::kMillisecond);

// Five seconds of a speaker that a busy thread serves at once: from passing a frame to hearing it.
void speaker_delay(benchmark::State& state) {
  const GstRuntime runtime;
  const DeviceClock clock = steady_clock();
  for ([[maybe_unused]] auto _ : state) {
    LiveSpeaker speaker{{.id = "none"}, clock};
    std::vector<Duration> delays;
    for (int i = 0; i < 250; ++i) {
      wait_for(speaker.ready_fd(), [&] {
        while (speaker.poll_event()) {
        }
        if (!speaker.wants_frame()) {
          return false;
        }
        delays.push_back(speaker.delay());
        return speaker.play({});
      });
    }
    std::ranges::sort(delays);
    state.counters["delay_ms_p50"] = to_milliseconds(delays[delays.size() / 2]);
    state.counters["delay_ms_max"] = to_milliseconds(delays.back());
    state.counters["underruns"] = static_cast<double>(speaker.stats().underruns);
  }
}
BENCHMARK(speaker_delay)->Iterations(1)->Unit(benchmark::kMillisecond);

// Five seconds of speaker and microphone with all of WebRTC's voice processing.
void voice_processing(benchmark::State& state) {
  const GstRuntime runtime;
  const DeviceClock clock = steady_clock();
  SyntheticVoice voice;
  for ([[maybe_unused]] auto _ : state) {
    LiveSpeaker speaker{{.id = "none"}, clock};
    LiveMicrophone microphone{{.id = "test", .echo_probe = speaker.echo_probe()}, clock};
    const Duration used = processor_time();
    const TimePoint begin = clock();
    std::vector<Duration> ages;
    for (uint64_t i = 0; i < 250; ++i) {
      wait_for(speaker.ready_fd(), [&] {
        while (speaker.poll_event()) {
        }
        return speaker.wants_frame() && speaker.play(voice.frame(i));
      });
      while (const auto frame = microphone.poll_frame()) {
        ages.push_back(clock() - frame->ended);
      }
    }
    std::ranges::sort(ages);
    state.counters["core_percent"] =
        100 * to_seconds(processor_time() - used) / to_seconds(clock() - begin);
    state.counters["frames"] = static_cast<double>(ages.size());
  }
}
BENCHMARK(voice_processing)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cress::media
