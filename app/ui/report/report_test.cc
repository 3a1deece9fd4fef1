#include "app/ui/report/report.hh"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "transport/base/text_file.hh"

namespace cress::ui {
namespace {

namespace fs = std::filesystem;

Report some_report(int samples = 3) {
  Report report{.made_at = "2026-11-25 10:04:05",
                .room = "kitchen",
                .people = 4,
                .path = "Through the relay",
                .status = "Anna's <link> is \"slow\" & old."};
  report.began = kTimeZero + 1h;
  report.health.sent = DataRate::kilobits_per_second(900);
  for (int i = 0; i < samples; ++i) {
    report.samples.push_back({.at = report.began + 1s + i * 200ms,
                              .forecast = DataRate::kilobits_per_second(1000 + i),
                              .sent = DataRate::kilobits_per_second(800),
                              .window = DataSize{5000},
                              .one_way_delay = 40ms,
                              .frame_delay = 120ms,
                              .loss = 0.25});
  }
  return report;
}

class ReportTest : public ::testing::Test {
 protected:
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }
  std::string refusal() const {
    try {
      write_report(some_report(), folder_ / "in");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "written";
  }
  ReportTest() { fs::create_directories(folder_); }
  const fs::path folder_ =
      fs::temp_directory_path() / ("cress-report-" + std::to_string(::getpid()));
};

TEST(Report, EachSampleIsALineOfTheTable) {
  const std::string csv = report_csv(some_report());
  EXPECT_TRUE(csv.starts_with(
      "at_s,forecast_kbps,sent_kbps,window_bytes,one_way_delay_ms,frame_delay_ms,loss\n"
      "1.000,1000,800,5000,40,120,0.25\n"
      "1.200,1001,800,5000,40,120,0.25\n"))
      << csv;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4);
}

TEST(Report, TheSummaryHasTheLastValues) {
  const auto json = nlohmann::json::parse(report_json(some_report()));
  EXPECT_EQ(json["what"], "room");
  EXPECT_EQ(json["room"], "kitchen");
  EXPECT_EQ(json["people"], 4);
  EXPECT_EQ(json["samples"], 3);
  EXPECT_EQ(json["now"]["sent_kbps"], 900.0);
  EXPECT_NEAR(json["length_s"].get<double>(), 1.4, 1e-9);
}

TEST(Report, ThePageLoadsNothingAndShowsNoForeignMarkup) {
  const std::string page = report_html(some_report());
  EXPECT_NE(page.find("Anna's &lt;link&gt; is &quot;slow&quot; &amp; old."), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("<polyline"), std::string::npos);
}

TEST(Report, ThePageUsesThePanelsWords) {
  const std::string page = report_html(some_report());
  for (const char* words :
       {">Forecast</b>", ">Limit</b>", ">Worse direction</b>", "from 0 to 25 %"}) {
    EXPECT_NE(page.find(words), std::string::npos) << words;
  }
}

TEST(Report, AnHourAndNothingAtAllAreDrawnToo) {
  EXPECT_EQ(report_html(some_report(0)).find("<polyline"), std::string::npos);
  const std::string hour = report_html(some_report(kReportSamplesMax));
  EXPECT_LT(hour.size(), 500'000U) << "no more points than can be seen";
}

TEST_F(ReportTest, EachHasAFolderOfItsOwn) {
  const fs::path one = write_report(some_report(), folder_ / "in");
  const fs::path two = write_report(some_report(), folder_ / "in");
  EXPECT_EQ(one, folder_ / "in" / "2026-11-25_10-04-05");
  EXPECT_EQ(two, folder_ / "in" / "2026-11-25_10-04-05-2");
  for (const char* file : {"link.csv", "summary.json", "report.html"}) {
    EXPECT_TRUE(fs::is_regular_file(one / file)) << file;
  }
  EXPECT_EQ(load_text(one / "link.csv", DataSize{10'000}), report_csv(some_report()));
}

TEST_F(ReportTest, AFolderThatCannotBeMadeIsNamed) {
  save_text("a file", folder_ / "in");
  EXPECT_TRUE(refusal().starts_with((folder_ / "in").string() + ": ")) << refusal();
}

TEST_F(ReportTest, ADiskThatTakesNoMoreIsNamed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 100;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string words = refusal();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_NE(words.find("link.csv: "), std::string::npos) << words;
}

}  // namespace
}  // namespace cress::ui
