#include "eval/report/report.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "transport/base/rng.hh"

namespace cress::report {
namespace {

namespace fs = std::filesystem;

constexpr double kRunSeconds = 120.0;

/// A folder of this test's own, removed at its end.
class Folder {
 public:
  Folder() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) /
            ("cress-report-" + std::string(test->name()) + "-" + std::to_string(::getpid()));
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }

 private:
  fs::path path_;
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A scheme in the generator's model: how much of the link it takes, how long it queues.
struct Behaviour {
  std::string name;
  double share = 0.6;      ///< of the capacity, when it follows
  double lag_s = 0.1;      ///< how late it notices a change
  double queue_ms = 30.0;  ///< what it keeps queued normally
  bool budgets = true;
};

/// Writes what a run of these schemes over a varying link with two outages could have left.
class SyntheticRun {
 public:
  SyntheticRun(uint64_t seed, bool video) : rng_(seed), video_(video) {
    timeline_ << "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
                 "forecast_kbps\n";
    frames_ << "scheme,link,direction,frame,capture_s,display_s,delay_ms,size_bytes,budget_bytes,"
               "quantizer,key,ssim_db,psnr_db\n";
  }

  void add_link(const std::string& link, const std::string& direction, double mean_kbps,
                const std::vector<Behaviour>& schemes) {
    const std::vector<double> capacity = wandering_link(mean_kbps);
    for (const Behaviour& scheme : schemes) {
      add_scheme(link, direction, scheme, capacity);
    }
  }

  void write(const Folder& folder) const {
    folder.write("results.json", "[" + results_ + "]\n");
    folder.write("timeline.csv", timeline_.str());
    if (video_) {
      folder.write("frames.csv", frames_.str());
    }
  }

 private:
  static constexpr size_t kBins = static_cast<size_t>(kRunSeconds * 10);

  std::vector<double> wandering_link(double mean_kbps) {
    std::vector<double> capacity(kBins);
    double log_rate = 0.0;
    for (size_t i = 0; i < kBins; ++i) {
      log_rate += 0.12 * rng_.normal() - 0.01 * log_rate;
      const bool outage = (i > 400 && i < 418) || (i > 880 && i < 921);
      capacity[i] = outage ? 0.0 : std::round(mean_kbps * std::exp(log_rate) / 120.0) * 120.0;
    }
    return capacity;
  }

  void add_scheme(const std::string& link, const std::string& direction, const Behaviour& scheme,
                  const std::vector<double>& capacity) {
    const auto lag = static_cast<size_t>(scheme.lag_s * 10.0);
    double queued_kbit = 0.0;
    double sum_rate = 0.0;
    double sum_capacity = 0.0;
    std::vector<double> delays(kBins);
    for (size_t i = 0; i < kBins; ++i) {
      const double believed = scheme.share * capacity[i < lag ? 0 : i - lag];
      queued_kbit += believed * 0.1;
      const double sent = std::min(queued_kbit, capacity[i] * 0.1);
      queued_kbit -= sent;
      const double drained_in_ms = 1000.0 * queued_kbit / std::max(capacity[i], 60.0);
      delays[i] = std::min(25.0 + scheme.queue_ms * rng_.uniform(0.6, 1.4) + drained_in_ms,
                           (i > 0 ? delays[i - 1] : 25.0) + 100.0);
      timeline_ << scheme.name << ',' << link << ',' << direction << ',' << i / 10 << '.' << i % 10
                << ',' << capacity[i] << ',' << sent * 10.0 << ',' << delays[i] << ','
                << (scheme.budgets ? std::to_string(believed * 12.5) : "") << ','
                << (scheme.budgets ? std::to_string(believed) : "") << '\n';
      sum_rate += sent * 10.0;
      sum_capacity += capacity[i];
    }
    add_result(link, direction, scheme, sum_rate / kBins, sum_capacity / kBins, delays);
    if (video_) {
      add_frames(link, direction, scheme, capacity, delays);
    }
  }

  void add_frames(const std::string& link, const std::string& direction, const Behaviour& scheme,
                  const std::vector<double>& capacity, const std::vector<double>& delays) {
    for (int frame = 0; frame < static_cast<int>(kRunSeconds * 30); ++frame) {
      const double capture_s = frame / 30.0;
      const auto bin = static_cast<size_t>(capture_s * 10.0);
      const double budget = scheme.share * capacity[bin] * 1000.0 / 8.0 / 30.0;
      const double size = budget * std::exp(rng_.normal() * (scheme.budgets ? 0.06 : 0.35) - 0.08);
      frames_ << scheme.name << ',' << link << ',' << direction << ',' << frame << ',' << capture_s
              << ',';
      if (budget < 100.0) {  // skipped
        frames_ << ",,," << (scheme.budgets ? "0" : "") << ",,,,\n";
        continue;
      }
      const double delay_ms = delays[bin] + 35.0;
      const double ssim_db = 7.0 + 3.2 * std::log10(size) * rng_.uniform(0.95, 1.05) - 4.0;
      frames_ << capture_s + delay_ms / 1000.0 << ',' << delay_ms << ',' << std::round(size) << ','
              << (scheme.budgets ? std::to_string(std::round(budget)) : "") << ','
              << 20 + static_cast<int>(40000.0 / size) << ',' << (frame % 300 == 0 ? 1 : 0) << ','
              << ssim_db << ',' << ssim_db * 2.3 << '\n';
    }
  }

  void add_result(const std::string& link, const std::string& direction, const Behaviour& scheme,
                  double rate_kbps, double capacity_kbps, std::vector<double> delays) {
    std::sort(delays.begin(), delays.end());
    const double delay95 = delays[delays.size() * 95 / 100];
    std::ostringstream out;
    out << (results_.empty() ? "" : ",") << R"({"scheme":")" << scheme.name << R"(","link":")"
        << link << R"(","direction":")" << direction << R"(","seed":1,"window_s":[10,)"
        << kRunSeconds << R"(],"capacity_kbps":)" << capacity_kbps << R"(,"throughput_kbps":)"
        << rate_kbps << R"(,"goodput_kbps":)" << rate_kbps * 0.96 << R"(,"utilization":)"
        << rate_kbps / capacity_kbps << R"(,"delay95_ms":)" << delay95
        << R"(,"omniscient95_ms":42.5,"self_inflicted_ms":)" << delay95 - 42.5;
    if (video_) {
      out << R"(,"bitrate_kbps":)" << rate_kbps << R"(,"frame_delay_p50_ms":)"
          << delays[delays.size() / 2] + 50 << R"(,"frame_delay_p95_ms":)" << delay95 + 70
          << R"(,"frame_delay_p99_ms":)" << delays[delays.size() * 99 / 100] + 80
          << R"(,"ssim_db":)" << 9 + 2.0 * std::log10(rate_kbps) << R"(,"psnr_db":)"
          << (scheme.budgets ? "34.6" : "null")
          << R"(,"frames_captured":3300,"frames_displayed":3120,"freezes":)"
          << (scheme.lag_s > 1 ? 9 : 2) << R"(,"frozen_s":)" << (scheme.lag_s > 1 ? 11.62 : 5.9)
          << R"(,"key_frames":1,"redundancy_share":0.031)";
    }
    out << "}";
    results_ += out.str();
  }

  Rng rng_;
  bool video_;
  std::string results_;
  std::ostringstream timeline_;
  std::ostringstream frames_;
};

std::vector<Behaviour> two_schemes() {
  return {{.name = "skype-like", .share = 0.92, .lag_s = 2.5, .queue_ms = 120.0, .budgets = false},
          {.name = "cress", .share = 0.82, .lag_s = 0.1, .queue_ms = 35.0}};
}

SyntheticRun video_call() {
  SyntheticRun run(1, true);
  run.add_link("city-lte", "forward", 2600, two_schemes());
  run.add_link("city-lte", "reverse", 1400, two_schemes());
  return run;
}

SyntheticRun flows() {
  SyntheticRun run(2, false);
  std::vector<Behaviour> schemes = two_schemes();
  schemes.push_back({.name = "sprout", .share = 0.6, .lag_s = 0.1, .queue_ms = 25.0});
  schemes.push_back({.name = "sprout-ewma", .share = 0.95, .lag_s = 0.3, .queue_ms = 70.0});
  schemes.push_back(
      {.name = "gcc", .share = 0.75, .lag_s = 0.8, .queue_ms = 60.0, .budgets = false});
  schemes.push_back({.name = "cubic", .share = 1.0, .lag_s = 6, .queue_ms = 900, .budgets = false});
  schemes.push_back(
      {.name = "vegas", .share = 0.88, .lag_s = 1.2, .queue_ms = 50, .budgets = false});
  schemes.push_back(
      {.name = "ledbat", .share = 0.9, .lag_s = 1.5, .queue_ms = 100, .budgets = false});
  run.add_link("tram-umts", "forward", 900, schemes);
  return run;
}

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string page_of(const Folder& folder) {
  write_report(folder.path(), folder.path() / "report.html");
  return read(folder.path() / "report.html");
}

std::string message_of(const Folder& folder) {
  try {
    write_report(folder.path(), folder.path() / "report.html");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Report, LoadsNothingFromAnywhere) {
  const Folder folder;
  video_call().write(folder);
  const std::string page = page_of(folder);
  for (const char* attribute : {"src=", "href=", "action=", "poster=", "srcset="}) {
    for (const char* start : {"http", "\"http", "'http", "//", "\"//", "'//"}) {
      EXPECT_EQ(page.find(std::string(attribute) + start), std::string::npos) << attribute << start;
    }
  }
  for (const char* part :
       {"<link", "<img", "<iframe", "@import", "url(", "import(", "<script src"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
  EXPECT_NE(page.find("default-src 'none'"), std::string::npos);
}

TEST(Report, ClosesWhatItOpens) {
  const Folder folder;
  video_call().write(folder);
  const std::string page = page_of(folder);
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  EXPECT_EQ(count(page, "<script"), 3U);
  EXPECT_EQ(count(page, "</script>"), 3U);
  EXPECT_EQ(count(page, "<style>"), count(page, "</style>"));
  EXPECT_EQ(page.find("{{"), std::string::npos);
}

TEST(Report, IsTheSameForTheSameRun) {
  const Folder folder;
  video_call().write(folder);
  EXPECT_EQ(page_of(folder), page_of(folder));
}

TEST(Report, LeavesNoPartialFileBehind) {
  const Folder folder;
  video_call().write(folder);
  page_of(folder);
  EXPECT_FALSE(fs::exists(folder.path() / "report.html.part"));
  EXPECT_THROW(write_report(folder.path(), folder.path() / "no-such-folder" / "report.html"),
               std::runtime_error);
}

TEST(Report, ThinsLongSeries) {
  const Folder folder;
  folder.write("results.json",
               R"([{"scheme":"a","link":"l","direction":"forward","window_s":[10,5000]}])");
  std::ostringstream timeline;
  timeline << "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
              "forecast_kbps\n";
  for (int i = 0; i < 50'000; ++i) {
    timeline << "a,l,forward," << i / 10.0 << ",1000,500," << (i == 33'333 ? 98765 : 50) << ",,\n";
  }
  folder.write("timeline.csv", timeline.str());
  const std::string page = page_of(folder);
  EXPECT_LT(page.size(), 500'000U);
  EXPECT_NE(page.find("98760.0"), std::string::npos);  // the peak, to four digits
}

TEST(Report, ErrorsNameTheFileAndTheLine) {
  const Folder folder;
  EXPECT_NE(message_of(folder).find("results.json: No such file"), std::string::npos);
  video_call().write(folder);
  folder.write("timeline.csv", read(folder.path() / "timeline.csv") + "cress,city-lte\n");
  EXPECT_NE(message_of(folder).find("timeline.csv:4802: the header has 9 fields"),
            std::string::npos)
      << message_of(folder);
  video_call().write(folder);
  fs::remove(folder.path() / "frames.csv");
  EXPECT_NE(message_of(folder).find("frames.csv: No such file"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder.path() / "report.html"));
}

TEST(Report, NothingInAFileBecomesMarkup) {
  const Folder folder;
  const std::string evil = "</script><script>document.title='owned'</script><!--<script>";
  folder.write("results.json",
               R"([{"scheme":")" + evil + R"(","link":"<b>l</b>","direction":"forward",
      "window_s":[0,1],"delay95_ms":5,"note":"<img src=x onerror=alert(1)>"}])");
  folder.write("timeline.csv",
               "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
               "forecast_kbps\n" +
                   evil + ",<b>l</b>,forward,0,1,1,1,,\n");
  const std::string page = page_of(folder);
  EXPECT_EQ(count(page, "</script>"), 3U);
  EXPECT_EQ(count(page, "<script"), 3U);
  EXPECT_EQ(page.find("<b>l"), std::string::npos);
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_NE(page.find("\\u003c/script>"), std::string::npos);
}

TEST(Report, SurvivesTextThatIsNotUtf8) {
  const Folder folder;
  folder.write("results.json",
               R"([{"scheme":"a","link":"l","direction":"forward","window_s":[0,1]}])");
  folder.write("timeline.csv",
               "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
               "forecast_kbps\na\xff,l,forward,0,1,1,1,,\n");
  EXPECT_NE(page_of(folder).find("a\xef\xbf\xbd"), std::string::npos);
}

TEST(Report, NamesMoviesOnlyFromItsOwnFolder) {
  const Folder folder;
  video_call().write(folder);
  const std::string without = page_of(folder);
  EXPECT_NE(without.find(R"("film":null,"movies":[])"), std::string::npos);
  for (const char* name : {"film.webm", "cress-forward.webm", "cress-reverse.y4m", "other.webm"}) {
    folder.write(name, "a movie");
  }
  EXPECT_NE(page_of(folder).find(
                R"("film":"film.webm","movies":["cress-forward.webm","cress-reverse.y4m"])"),
            std::string::npos);
}

// ---- In a browser, if there is one --------------------------------------------------------------

fs::path browser() {
  for (const char* path :
       {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"}) {
    if (fs::exists(path)) {
      return path;
    }
  }
  return {};
}

struct Seen {
  std::string page;  ///< as the scripts left it
  std::string log;   ///< the browser's output, including the console
};

/// Opens the folder's report in a window so tall that every chart is drawn.
Seen open_in_browser(const Folder& folder) {
  const fs::path dom = folder.path() / "dom.html";
  const fs::path log = folder.path() / "browser.log";
  const std::string command =
      "timeout 120 " + browser().string() +
      " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --window-size=1280,9000"
      " --enable-logging=stderr --v=0 --virtual-time-budget=5000 --user-data-dir='" +
      (folder.path() / "profile").string() + "' --dump-dom 'file://" +
      (folder.path() / "report.html").string() + "' >'" + dom.string() + "' 2>'" + log.string() +
      "'";
  const int status = std::system(command.c_str());  // NOLINT(concurrency-mt-unsafe,cert-env33-c)
  EXPECT_EQ(status, 0) << read(log);
  return {.page = read(dom), .log = read(log)};
}

/// Lines of the log that come from the page.
std::vector<std::string> console_lines(const std::string& log) {
  std::vector<std::string> lines;
  std::istringstream stream(log);
  for (std::string line; std::getline(stream, line);) {
    if (line.find(":CONSOLE") != std::string::npos) {
      lines.push_back(line);
    }
  }
  return lines;
}

/// Canvases that Chart.js has drawn: it gives each a size.
size_t drawn_canvases(const std::string& page) {
  size_t drawn = 0;
  for (size_t at = page.find("<canvas "); at != std::string::npos;
       at = page.find("<canvas ", at + 1)) {
    const std::string tag = page.substr(at, page.find('>', at) - at);
    const size_t width = tag.find("width: ");
    drawn += width != std::string::npos && tag.compare(width, 10, "width: 0px") != 0 ? 1 : 0;
  }
  return drawn;
}

class ReportInBrowser : public testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) {
      GTEST_SKIP() << "no Chromium here to open the page with";
    }
  }
};

TEST_F(ReportInBrowser, DrawsAVideoCallWithoutAComplaint) {
  const Folder folder;
  video_call().write(folder);
  page_of(folder);
  const Seen seen = open_in_browser(folder);
  EXPECT_EQ(console_lines(seen.log), std::vector<std::string>{});
  EXPECT_NE(seen.page.find("Cress's picture is"), std::string::npos);
  // Two scatters and four lines per direction, and a size chart per scheme; Chart.js gives each
  // canvas that it has drawn a size.
  EXPECT_EQ(drawn_canvases(seen.page), 16U);
  EXPECT_NE(seen.page.find("redundancy_share"), std::string::npos);  // a key it does not know
  EXPECT_NE(seen.page.find("<td>\u2013</td>"), std::string::npos);   // PSNR was null
}

TEST_F(ReportInBrowser, PlaysTheFilmInItsFolder) {
  const Folder folder;
  video_call().write(folder);
  folder.write("film.webm", "no movie, but there");
  folder.write("cress-forward.webm", "nor this");
  page_of(folder);
  const Seen seen = open_in_browser(folder);
  // Its policy would report here a file that it does not allow.
  EXPECT_EQ(console_lines(seen.log), std::vector<std::string>{});
  EXPECT_NE(seen.page.find(R"(<video controls="" preload="metadata" src="./film.webm#t=1">)"),
            std::string::npos);
  EXPECT_NE(seen.page.find(R"(<a href="./cress-forward.webm">)"), std::string::npos);
}

TEST_F(ReportInBrowser, DrawsFlowsWithoutAComplaint) {
  const Folder folder;
  flows().write(folder);
  page_of(folder);
  const Seen seen = open_in_browser(folder);
  EXPECT_EQ(console_lines(seen.log), std::vector<std::string>{});
  EXPECT_EQ(drawn_canvases(seen.page), 3U);
}

TEST_F(ReportInBrowser, AnEvilSchemeIsOnlyAName) {
  const Folder folder;
  const std::string evil = "</script><script>document.title='owned'</script>";
  folder.write("results.json", R"([{"scheme":")" + evil +
                                   R"(","link":"l","direction":"forward","window_s":[0,1]}])");
  folder.write("timeline.csv",
               "scheme,link,direction,time_s,capacity_kbps,throughput_kbps,delay_ms,window_bytes,"
               "forecast_kbps\n" +
                   evil + ",l,forward,0,1,1,1,,\n");
  page_of(folder);
  const Seen seen = open_in_browser(folder);
  EXPECT_EQ(console_lines(seen.log), std::vector<std::string>{});
  EXPECT_EQ(seen.page.find("<title>owned"), std::string::npos);
  EXPECT_NE(seen.page.find("&lt;/script&gt;"), std::string::npos);
}

/// Not a test: leaves two runs and their pages in ./report-samples, for development of the page.
TEST(ReportSamples, DISABLED_LeavesPagesToLookAt) {
  const Folder folder;
  for (const bool video : {true, false}) {
    (video ? video_call() : flows()).write(folder);
    page_of(folder);
    fs::create_directories("report-samples");
    fs::copy_file(folder.path() / "report.html",
                  fs::path("report-samples") / (video ? "call.html" : "flows.html"),
                  fs::copy_options::overwrite_existing);
    fs::remove(folder.path() / "frames.csv");
  }
}

}  // namespace
}  // namespace cress::report
