// Goal: a call of 1280x720 at 30 frames per second leaves most of the computer to its user. Method:
// two of the real program over the loopback interface, with test video and audio in both
// directions; each one's processor time by the kernel's accounting, all threads except the one that
// draws the pictures.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "transport/runtime/clock_lateness_test_tools.hh"

namespace cress::app {
namespace {

/// A program's processor time so far, by thread.
struct Taken {
  double all_s = 0;
  double drawing_s = 0;  ///< of it, the thread that draws what a camera would have delivered

  double call_s() const { return all_s - drawing_s; }
};

Taken taken_by(const std::string& process) {
  Taken taken;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + process + "/task")) {
    std::ifstream file{thread.path() / "stat"};
    const std::string stat{std::istreambuf_iterator<char>{file}, {}};
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos) {
      continue;  // it has ended meanwhile
    }
    // proc(5): after the name in brackets the state is the third field; 14 and 15 are its ticks.
    std::istringstream fields{stat.substr(name_end + 1)};
    std::string field;
    for (int i = 3; i < 14; ++i) {
      fields >> field;
    }
    double user = 0;
    double system = 0;
    fields >> user >> system;
    const double seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    taken.all_s += seconds;
    taken.drawing_s += stat.find("(videotestsrc") != std::string::npos ? seconds : 0;
  }
  return taken;
}

std::string line_of(FILE* pipe) {
  std::array<char, 4096> text{};
  std::string line = fgets(text.data(), text.size(), pipe) == nullptr ? "" : text.data();
  while (line.ends_with('\n')) {
    line.pop_back();
  }
  return line;
}

struct End {
  FILE* output = nullptr;
  std::string process;
};

/// One end; the shell that becomes it prints its process number first.
End start(const std::string& arguments) {
  End end;
  end.output = popen(("echo $$; exec " CRESS_BIN "/cress-call --headless --size 1280x720 "
                      "--video-in test --audio-in test " +
                      arguments)
                         .c_str(),
                     "r");
  end.process = end.output == nullptr ? "" : line_of(end.output);
  return end;
}

struct Moment {
  double t_s = 0;
  double shown = 0;
  double coded = 0;
  Taken joiner;
  Taken listener;
};

TEST(CallMeasured, EachEndOfAnHdCallTakesLessThanSixTenthsOfACore) {
  runtime::ClockLateness lateness;
  const End listener = start("--listen 127.0.0.1:0");
  const std::string link = line_of(listener.output);
  ASSERT_TRUE(link.starts_with("cress://")) << link;
  const End joiner = start("--stats - --duration 17s '" + link + "'");
  std::vector<Moment> moments;  // once a second, from when the call has settled to its end
  for (std::string line = line_of(joiner.output); !line.empty(); line = line_of(joiner.output)) {
    const auto told = nlohmann::json::parse(line);
    if (told.value("connected", false) && told.at("t_s").get<double>() > 2) {
      moments.push_back({told.at("t_s"), told.at("frames_shown"), told.at("frames_coded"),
                         taken_by(joiner.process), taken_by(listener.process)});
    }
  }
  EXPECT_EQ(pclose(joiner.output), 0);
  EXPECT_EQ(pclose(listener.output), 0);
  ASSERT_GE(moments.size(), 10U);
  const Moment& from = moments.front();
  const Moment& to = moments.back();
  const double length = to.t_s - from.t_s;
  const double joiners = (to.joiner.call_s() - from.joiner.call_s()) / length;
  const double listeners = (to.listener.call_s() - from.listener.call_s()) / length;
  const double shown = (to.shown - from.shown) / length;
  const double coded = (to.coded - from.coded) / length;
  std::cout << "of a core: joiner " << joiners << ", listener " << listeners
            << ", and drawing the test pictures "
            << (to.joiner.drawing_s - from.joiner.drawing_s) / length << "; shown " << shown
            << ", coded " << coded << " pictures a second\n";
  EXPECT_GT(joiners, 0.1) << "it was not counted";
  EXPECT_GT(listeners, 0.1) << "it was not counted";
  if (lateness.p99() > runtime::ClockLateness::kMax) {
    GTEST_SKIP() << "this machine is too busy: its timers are late";
  }
  EXPECT_GE(std::min(shown, coded), 29) << "not the call that was asked for";
  EXPECT_LE(joiners, 0.6);
  EXPECT_LE(listeners, 0.6);
}

}  // namespace
}  // namespace cress::app
