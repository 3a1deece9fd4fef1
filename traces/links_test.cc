#include "traces/links.hh"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <set>
#include <stdexcept>

#include "traces/embedded_models.hh"
#include "traces/everyday_links.hh"

namespace cress::traces {
namespace {

class LinkFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path{::testing::TempDir()} / "cress-links" / test->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "traces" / "cellular");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path, const std::string& text) const {
    std::ofstream{folder_ / "traces" / path} << text;
  }
  std::string message_of(std::string_view name) const {
    try {
      resolve_link(name, folder_);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "no error";
  }
  std::filesystem::path folder_;
};

double mean_kbps(std::string_view name, Direction direction) {
  return statistics(embedded_trace(name, direction)).mean_rate.kilobits_per_second();
}

TEST(EmbeddedLinks, AreTheFiveThatTheGuideNames) {
  std::vector<std::string_view> names;
  for (const EmbeddedLink& link : embedded_links()) {
    names.push_back(link.name);
    EXPECT_FALSE(link.description.empty());
    EXPECT_EQ(link.description.find('\n'), std::string_view::npos);
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"lte-fast", "lte-slow", "3g", "outages", "wifi"}));
  EXPECT_EQ(embedded_models().size(), 10U);
}

TEST(EmbeddedLinks, HaveTheRatesTheirDescriptionsPromise) {
  struct Promise {
    std::string_view name;
    double low_kbps;
    double high_kbps;
  };
  for (const Promise& promise :
       {Promise{"lte-fast", 6000, 9000}, Promise{"lte-slow", 1000, 2000}, Promise{"3g", 700, 1400},
        Promise{"outages", 550, 850}, Promise{"wifi", 10'000, 20'000}}) {
    for (const Direction direction : {Direction::kDown, Direction::kUp}) {
      const double mean = mean_kbps(promise.name, direction);
      EXPECT_GE(mean, promise.low_kbps) << promise.name;
      EXPECT_LE(mean, promise.high_kbps) << promise.name;
    }
  }
}

TEST(EmbeddedLinks, LastTwoMinutesAndDifferInTheirDirections) {
  for (const EmbeddedLink& link : embedded_links()) {
    const sim::DeliveryTrace down = embedded_trace(link.name, Direction::kDown);
    const sim::DeliveryTrace up = embedded_trace(link.name, Direction::kUp);
    EXPECT_EQ(down.period(), kEmbeddedLength);
    EXPECT_EQ(up.period(), kEmbeddedLength);
    EXPECT_NE(down, up);
    EXPECT_EQ(down, embedded_trace(link.name, Direction::kDown));
  }
}

TEST(EmbeddedLinks, SilentOnesAreSilentAndFastOnesAreNot) {
  const TraceStatistics outages = statistics(embedded_trace("outages", Direction::kDown));
  EXPECT_GT(outages.outage_longest, 2s);
  EXPECT_GT(outages.outage_share, 0.1);
  EXPECT_GT(statistics(embedded_trace("3g", Direction::kDown)).outages, 3U);
  EXPECT_LT(statistics(embedded_trace("lte-fast", Direction::kDown)).outage_share, 0.03);
  // The fades: seconds with less than a tenth of the mean.
  const auto counts = opportunities_per_window(embedded_trace("wifi", Direction::kDown), 1s);
  EXPECT_LT(quantile(counts, 0.05) * 10, quantile(counts, 0.5));
}

// 50 ms is the specified limit; sanitizers and a busy machine get ten times that.
TEST(EmbeddedLinks, AreMadeWithinAnInstant) {
  const auto start = std::chrono::steady_clock::now();
  embedded_trace("wifi", Direction::kDown);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 500ms);
}

TEST(EmbeddedLinks, AnUnknownNameListsTheKnownOnes) {
  try {
    embedded_trace("5g", Direction::kUp);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "no embedded link is called \"5g\"; there are lte-fast, lte-slow, 3g, outages, "
                 "wifi");
  }
}

TEST_F(LinkFolder, ResolvesAnEmbeddedNameWithoutAnyData) {
  const NamedLink link = resolve_link("3g", "/nowhere");
  EXPECT_EQ(link.name, "3g");
  EXPECT_FALSE(link.description.empty());
  EXPECT_EQ(link.down, embedded_trace("3g", Direction::kDown));
  EXPECT_EQ(link.up, embedded_trace("3g", Direction::kUp));
}

TEST_F(LinkFolder, ResolvesARecordedPair) {
  write("cellular/Drive.down", "1\n2\n");
  write("cellular/Drive.up", "5\n");
  const NamedLink link = resolve_link("Drive", folder_);
  EXPECT_EQ(link.down.opportunities.size(), 2U);
  EXPECT_EQ(link.up.period(), 5ms);
  EXPECT_EQ(link.description, "recorded, both directions");
}

TEST_F(LinkFolder, OneDirectionServesBothAndTheDescriptionSaysSo) {
  write("tram.down", "1\n2\n");
  const NamedLink link = resolve_link("tram", folder_);
  EXPECT_EQ(link.up, link.down);
  EXPECT_NE(link.description.find("used for both directions"), std::string::npos);
  write("ferry.up", "7\n");
  EXPECT_EQ(resolve_link("ferry", folder_).down.period(), 7ms);
}

TEST_F(LinkFolder, CellularComesBeforeTheFolderAboveIt) {
  write("same.down", "1\n");
  write("cellular/same.down", "2\n");
  EXPECT_EQ(resolve_link("same", folder_).down.period(), 2ms);
}

TEST_F(LinkFolder, AnUnknownNameGetsNearMatchesAndTheListing) {
  write("cellular/ATT-LTE-driving.down", "1\n");
  EXPECT_EQ(
      message_of("att-lte-drivin"),
      "no link is called \"att-lte-drivin\"; did you mean ATT-LTE-driving? `cress-eval links` "
      "lists them all");
  EXPECT_EQ(message_of("lte-fsat"),
            "no link is called \"lte-fsat\"; did you mean lte-fast? `cress-eval links` "
            "lists them all");
  EXPECT_EQ(message_of("zzzzzzzzz"),
            "no link is called \"zzzzzzzzz\"; `cress-eval links` lists them all");
}

TEST_F(LinkFolder, NamesAreCaseSensitiveAndNoPaths) {
  write("cellular/Drive.down", "1\n");
  EXPECT_NE(message_of("drive"), "no error");
  EXPECT_NE(message_of("../traces/cellular/Drive"), "no error");
  EXPECT_NE(message_of(""), "no error");
}

TEST_F(LinkFolder, ABrokenRecordingNamesItsFileAndLine) {
  write("cellular/bad.down", "1\nx\n");
  EXPECT_NE(message_of("bad").find("bad.down:2: not a number"), std::string::npos);
}

TEST_F(LinkFolder, ListsEmbeddedLinksFirstThenRecordedOnesByName) {
  write("b.down", "1\n");
  write("cellular/a.down", "1\n");
  write("cellular/a.up", "1\n");
  write("notes.txt", "not a link\n");
  const auto links = list_links(folder_);
  ASSERT_EQ(links.size(), embedded_links().size() + everyday_links().size() + 2);
  EXPECT_TRUE(links[0].embedded);
  EXPECT_EQ(links[10], (LinkSummary{"a", "recorded, both directions", false}));
  EXPECT_EQ(links[11].name, "b");
  EXPECT_EQ(list_links("/nowhere").size(), embedded_links().size() + everyday_links().size());
}

}  // namespace
}  // namespace cress::traces
