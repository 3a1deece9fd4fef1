#include "traces/saturate/run.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "traces/emulate/path_emulator.hh"
#include "traces/links.hh"
#include "traces/saturate/saturate_end.hh"
#include "traces/saturate/saturate_test_tools.hh"
#include "transport/base/text_file.hh"
#include "transport/runtime/address_text.hh"
#include "transport/runtime/closed_port_test_tools.hh"
#include "transport/runtime/driver.hh"
#include "transport/runtime/loop_test_tools.hh"
#include "transport/runtime/udp_socket.hh"

namespace cress::traces {
namespace {

namespace fs = std::filesystem;

Address any_port() { return *runtime::parse_address("127.0.0.1:0"); }

/// A port that was free a moment ago.
Address free_port(const runtime::MonotonicClock& clock) {
  return runtime::UdpSocket{clock, {.bind = any_port()}}.local_address();
}

/// The other end, listening behind an emulated link, in a thread of its own.
class FarEnd {
 public:
  explicit FarEnd(bool has_feedback = true) {
    thread_.run([&] {
      const runtime::MonotonicClock& clock = thread_.clock();
      end_ = std::make_unique<SaturateEnd>(
          SaturateEnd::Parts{
              .clock = clock,
              .loop = thread_.loop(),
              .bind = any_port(),
              .feedback_bind = has_feedback ? std::optional{any_port()} : std::nullopt},
          SaturatorOptions{.token = key_of_token("t"), .entropy = entropy_of(1), .duration = 60s},
          [] {});
      socket_ = std::make_unique<runtime::UdpSocket>(clock,
                                                     runtime::UdpSocketOptions{.bind = any_port()});
      const auto link_of = [](Direction direction) {
        return sim::LinkOptions{
            .trace = std::make_shared<sim::DeliveryTrace>(embedded_trace("lte-slow", direction)),
            .queue = nullptr};
      };
      path_ = std::make_unique<PathEmulator>(
          clock.now(), PathEmulator::Options{.server = end_->link_address(),
                                             .forward = link_of(Direction::kUp),
                                             .reverse = link_of(Direction::kDown)});
      driver_ = std::make_unique<runtime::Driver>(
          runtime::Driver::Parts{clock, thread_.loop(), *socket_, *path_});
    });
  }
  ~FarEnd() {
    thread_.run([&] {
      driver_.reset();
      end_.reset();
    });
    thread_.stop();
  }
  FarEnd(const FarEnd&) = delete;
  FarEnd& operator=(const FarEnd&) = delete;

  std::string link() const { return runtime::format_address(socket_->local_address()); }
  std::string feedback() const { return runtime::format_address(*end_->feedback_address()); }

 private:
  runtime::LoopThread thread_;
  std::unique_ptr<SaturateEnd> end_;
  std::unique_ptr<runtime::UdpSocket> socket_;
  std::unique_ptr<PathEmulator> path_;
  std::unique_ptr<runtime::Driver> driver_;
};

class SaturateRun : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path{::testing::TempDir()} / "cress-saturate-run" / test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  SaturateRunOptions connecting(const std::string& to) const {
    SaturateRunOptions options;
    options.connect = to;
    options.token = "t";
    options.duration = 1s;
    options.out = (folder_ / "near").string();
    return options;
  }
  /// What it throws; "" if nothing.
  std::string error_of(const SaturateRunOptions& options, bool progress = false) {
    try {
      run_saturate(options, {.out = out_, .messages = messages_, .progress = progress});
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  bool is_there(const char* name) const { return fs::exists(folder_ / name); }
  bool is_said(const std::string& words) const {
    return messages_.str().find(words) != std::string::npos;
  }

  fs::path folder_;
  std::ostringstream out_;
  std::ostringstream messages_;
};

TEST_F(SaturateRun, OverOnePathItAdvisesASecondAndWritesThreeFiles) {
  const FarEnd far;
  EXPECT_EQ(error_of(connecting(far.link())), "");
  EXPECT_TRUE(is_said("note: feedback of both directions waited in their queues"));
  EXPECT_FALSE(is_said("this machine itself lost"));
  EXPECT_FALSE(is_said("listening on")) << "it connects";
  EXPECT_FALSE(is_said("\r")) << "no progress was asked for";
  EXPECT_TRUE(is_there("near.up") && is_there("near.down") && is_there("near.json"));
  EXPECT_TRUE(out_.str().starts_with("up    " + (folder_ / "near.up").string() + ": "))
      << out_.str();
  EXPECT_NE(out_.str().find("\ndown  " + (folder_ / "near.down").string() + ": "),
            std::string::npos);
}

TEST_F(SaturateRun, OverASecondPathItAdvisesNothingAndPrintsItsJson) {
  const FarEnd far;
  SaturateRunOptions options = connecting(far.link());
  options.feedback = far.feedback();
  options.json = true;
  EXPECT_EQ(error_of(options, true), "");
  EXPECT_FALSE(is_said("note: "));
  EXPECT_EQ(out_.str(), load_text(folder_ / "near.json", DataSize{1'000'000}));
  EXPECT_NE(out_.str().find("\"packet_bytes\": 1500"), std::string::npos);
  EXPECT_TRUE(is_said("\r\033[Kfilling the queues, up "));
  EXPECT_TRUE(is_said(" of 1 s, up ")) << messages_.str();
  EXPECT_TRUE(is_said(" Mbit/s at "));
  EXPECT_TRUE(messages_.str().ends_with("\r\033[K")) << "the progress is wiped";
}

TEST_F(SaturateRun, OneDirectionHasFilesOfItsOwnName) {
  const FarEnd far;
  SaturateRunOptions options = connecting(far.link());
  options.up = false;
  EXPECT_EQ(error_of(options), "");
  EXPECT_FALSE(is_said("note: feedback")) << "there is no load in its way";
  EXPECT_TRUE(is_there("near.down") && is_there("near.down.json"));
  EXPECT_FALSE(is_there("near.json") || is_there("near.up"));
}

TEST_F(SaturateRun, AFileThatCannotBeWrittenCostsNoOther) {
  fs::create_directories(folder_ / "near.up" / "not empty");
  const FarEnd far;
  EXPECT_NE(error_of(connecting(far.link())).find("near.up"), std::string::npos);
  EXPECT_TRUE(is_there("near.down") && is_there("near.json"));
  EXPECT_NE(out_.str().find("down  "), std::string::npos) << "the summary is printed all the same";
}

TEST_F(SaturateRun, WithoutAFolderForItsFilesItDoesNotBegin) {
  SaturateRunOptions options = connecting("127.0.0.1:9");
  options.out = (folder_ / "no" / "such").string();
  EXPECT_EQ(error_of(options), options.out + ": " + (folder_ / "no").string() +
                                   " is no folder; make it first, or choose another --out");
}

TEST_F(SaturateRun, TheSilentPathIsNamedWithAdvice) {
  const runtime::MonotonicClock clock;
  const runtime::ClosedPort port{clock, any_port()};
  const std::string closed = runtime::format_address(port.address());
  EXPECT_TRUE(error_of(connecting(closed))
                  .starts_with("nobody answered at " + closed + "; is `cress-trace saturate "));
  const FarEnd far{false};
  SaturateRunOptions options = connecting(far.link());
  options.feedback = closed;
  EXPECT_TRUE(error_of(options).starts_with("nobody answered at " + closed +
                                            "; the other end needs --feedback-listen"));
}

TEST_F(SaturateRun, TheListeningEndSaysHowToReachItAndMeasuresToo) {
  runtime::LoopThread near;
  SaturateRunOptions options;
  options.listen = free_port(near.clock());
  options.feedback_listen = free_port(near.clock());
  options.token = "t";
  options.json = true;
  std::string error = "still running";
  std::thread listener{[&] { error = error_of(options, true); }};
  std::unique_ptr<SaturateEnd> end;
  near.run([&] {
    end = std::make_unique<SaturateEnd>(SaturateEnd::Parts{.clock = near.clock(),
                                                           .loop = near.loop(),
                                                           .bind = any_port(),
                                                           .feedback_bind = any_port()},
                                        SaturatorOptions{.connects = true,
                                                         .token = key_of_token("t"),
                                                         .entropy = entropy_of(2),
                                                         .peer = *options.listen,
                                                         .feedback_peer = *options.feedback_listen,
                                                         .up = false,
                                                         .duration = 1s},
                                        [] {});
  });
  listener.join();
  near.run([&] { end.reset(); });
  EXPECT_EQ(error, "");
  const std::string link = std::to_string(options.listen->port);
  const std::string feedback = std::to_string(options.feedback_listen->port);
  EXPECT_TRUE(messages_.str().starts_with(
      "listening on 127.0.0.1:" + link + ", for feedback on 127.0.0.1:" + feedback +
      "; at the other end:\n  cress-trace saturate --connect "
      "HOST:" +
      link + " --feedback HOST:" + feedback + " --token t --out PREFIX\n"))
      << messages_.str();
  EXPECT_TRUE(is_said("measuring, ") && is_said(" s, down ")) << messages_.str();
  EXPECT_NE(out_.str().find("\"direction\": \"down\""), std::string::npos);
}

bool is_interrupt_handled() {
  struct sigaction now {};
  ::sigaction(SIGINT, nullptr, &now);
  return now.sa_handler != SIG_IGN;
}

TEST_F(SaturateRun, AnInterruptedWaitIsSaidAndItsTokenWasRandom) {
  const auto before = std::signal(SIGINT, SIG_DFL);
  std::string last_token;
  for (int i = 0; i < 2; ++i) {
    SaturateRunOptions options;
    options.listen = any_port();
    std::string error;
    messages_.str("");
    std::signal(SIGINT, SIG_IGN);
    std::thread listener{[&] { error = error_of(options); }};
    while (!is_interrupt_handled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    ::kill(::getpid(), SIGINT);
    listener.join();
    EXPECT_EQ(error, "stopped before anything was measured");
    EXPECT_FALSE(is_said("for feedback"));
    const std::string text = messages_.str();
    const size_t at = text.find(" --token ") + 9;
    const std::string token = text.substr(at, text.find(' ', at) - at);
    EXPECT_EQ(token.size(), 24U);
    EXPECT_NE(token, last_token);
    last_token = token;
  }
  std::signal(SIGINT, before);
}

}  // namespace
}  // namespace cress::traces
