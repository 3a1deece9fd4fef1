// A call in the simulator and one over loopback, by a program outside of Cress.
#include <cress/call.hh>
#include <cress/simulator.hh>
#include <cstdio>

using namespace cress;

int main() {
  // Two ends and the links between them, in virtual time.
  live::SecureCallOptions listener;
  listener.connection.secret.assign(16, std::byte{7});
  live::SecureCallOptions joiner = listener;
  joiner.connection.role = secure::Role::kJoiner;
  joiner.call.video = app::VideoSenderOptions{.width = 320, .height = 180};
  live::SecureCall lea{kTimeZero, listener};
  live::SecureCall jo{kTimeZero, joiner};
  sim::Link forward{{.propagation = 20ms, .loss = 0.01}};
  sim::Link reverse{{.propagation = 20ms}};
  sim::World world{{lea, jo, forward, reverse}};
  media::SyntheticCamera camera{{.width = 320, .height = 180}};
  int simulated = 0;
  for (uint64_t i = 0; i < 150; ++i, world.run_for(33ms)) {
    jo.capture(world.now(), camera.picture(i));
    simulated += lea.poll_shown() ? 1 : 0;
  }

  // Two ends with devices and sockets, in real time.
  const media::GstRuntime gstreamer;
  const runtime::MonotonicClock clock;
  runtime::EventLoop loop{clock};
  live::LiveCallOptions options{.secret = listener.connection.secret,
                                .bind = *runtime::parse_address("127.0.0.1:0")};
  options.devices.camera = media::LiveCameraOptions{.id = media::kTestDevice, .size = {320, 180}};
  const live::LiveCall first{clock, loop, options, {}};
  options.role = secure::Role::kJoiner;
  options.listener = first.local_address();
  int displayed = 0;
  live::LiveOutputs outputs;
  outputs.shown = [&](const app::ShownFrame&) { ++displayed; };
  const live::LiveCall second{clock, loop, options, outputs};
  runtime::EventLoop::Timer end{loop, [&] { loop.stop(); }};
  end.arm(clock.now() + 3s);
  loop.run();

  std::printf("%d frames displayed in the simulator, %d over loopback\n", simulated, displayed);
  return simulated >= 100 && displayed >= 15 ? 0 : 1;
}
