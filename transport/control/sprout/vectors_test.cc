// Goal: scheme `sprout` is the original, integer for integer.
// Method: replays the recorded scenarios of <data>/vectors/sprout-forecast, made with the original
// program's own classes, and compares every forecast row, sampled table entries and sampled
// posteriors.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "transport/control/sprout/forecaster.hh"

namespace cress::control {
namespace {

namespace fs = std::filesystem;

const fs::path kVectors = fs::path{CRESS_DATA} / "vectors" / "sprout-forecast";

std::vector<std::vector<double>> read_csv(const fs::path& path) {
  std::ifstream file{path};
  std::string line;
  std::getline(file, line);  // header
  std::vector<std::vector<double>> rows;
  while (std::getline(file, line)) {
    std::vector<double> row;
    std::istringstream cells{line};
    for (std::string cell; std::getline(cells, cell, ',');) {
      row.push_back(std::stod(cell));
    }
    rows.push_back(row);
  }
  return rows;
}

std::vector<fs::path> scenarios(bool ewma) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator{kVectors}) {
    const std::string name = entry.path().filename().string();
    const bool is_data =
        name.ends_with(".csv") && !name.ends_with(".posterior.csv") && name != "table-samples.csv";
    if (is_data && name.starts_with("ewma-") == ewma) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class SproutVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kVectors)) {
      GTEST_SKIP() << "no data: recorded forecasts at " << kVectors << " (set CRESS_DATA)";
    }
  }
};

/// Steps `estimator` through one scenario and counts rows that differ.
size_t mismatches(TickEstimator& estimator, const fs::path& path, size_t& compared) {
  size_t wrong = 0;
  for (const auto& row : read_csv(path)) {
    if (row[0] > 0) {
      row[2] != 0 ? estimator.skip_tick() : estimator.observe_tick(row[1]);
    }
    const ForecastCounts ours = estimator.forecast();
    const ForecastCounts theirs(row.begin() + 3, row.end());
    ++compared;
    if (ours != theirs && ++wrong <= 3) {
      ADD_FAILURE() << path.filename() << " tick " << row[0] << ": first counts " << ours[0] << " "
                    << ours[7] << " against " << theirs[0] << " " << theirs[7];
    }
  }
  return wrong;
}

TEST_F(SproutVectors, EveryForecastOfTheOriginalIsReproduced) {
  const BeliefDynamics dynamics{SproutModel{}};
  const ForecastTable table{dynamics};
  size_t compared = 0;
  size_t wrong = 0;
  for (const fs::path& path : scenarios(/*ewma=*/false)) {
    BayesianEstimator estimator{dynamics, table};
    if (path.filename().string().starts_with("startup-as-shipped")) {
      for (int i = 0; i < Forecaster::Options{}.prior_ticks; ++i) {
        estimator.skip_tick();
      }
    }
    wrong += mismatches(estimator, path, compared);
  }
  std::printf("compared %zu forecasts of 8 counts with the original's: %zu differ\n", compared,
              wrong);
  EXPECT_EQ(wrong, 0U);
  EXPECT_GE(compared, 20'000U);
}

TEST_F(SproutVectors, EveryForecastOfSproutEwmaIsReproduced) {
  size_t compared = 0;
  size_t wrong = 0;
  for (const fs::path& path : scenarios(/*ewma=*/true)) {
    EwmaEstimator estimator{{.initial = 0, .floor = 0}};
    wrong += mismatches(estimator, path, compared);
  }
  std::printf("compared %zu EWMA forecasts of 8 counts with the original's: %zu differ\n", compared,
              wrong);
  EXPECT_EQ(wrong, 0U);
  EXPECT_GE(compared, 20'000U);
}

TEST_F(SproutVectors, TableEntriesAgreeWithTheOriginals) {
  const BeliefDynamics dynamics{SproutModel{}};
  const ForecastTable table{dynamics};
  size_t compared = 0;
  for (const auto& row : read_csv(kVectors / "table-samples.csv")) {
    const int horizon = static_cast<int>(row[0]);
    const size_t bin = static_cast<size_t>(row[1]);
    const int count = static_cast<int>(row[3]);
    const double below = count == 0 ? 0.0 : table.cumulative(horizon, count - 1)[bin];
    const double probability = table.cumulative(horizon, count)[bin] - below;
    ASSERT_NEAR(probability, row[4], 1e-9)
        << "horizon " << horizon << " bin " << bin << " count " << count;
    ++compared;
  }
  std::printf("compared %zu table entries\n", compared);
  EXPECT_GT(compared, 100U);
}

TEST_F(SproutVectors, PosteriorsAgreeWithTheOriginals) {
  const BeliefDynamics dynamics{SproutModel{}};
  size_t compared = 0;
  for (const char* name :
       {"const1", "const10", "outage-50x10-100x0-50x10", "uniform-prior-unobserved"}) {
    const auto scenario = read_csv(kVectors / (std::string{name} + ".csv"));
    const auto posterior = read_csv(kVectors / (std::string{name} + ".posterior.csv"));
    RateBelief belief{dynamics};
    size_t next = 0;
    for (const auto& row : scenario) {
      if (row[0] > 0) {
        belief.evolve();
        if (row[2] == 0) {
          belief.observe(observed_packets(row[1]));
        }
      }
      for (; next < posterior.size() && posterior[next][0] == row[0]; ++next) {
        const double ours = belief.probabilities()[static_cast<size_t>(posterior[next][1])];
        ASSERT_NEAR(ours, posterior[next][3], 1e-9 + 1e-6 * posterior[next][3])
            << name << " tick " << row[0];
        ++compared;
      }
    }
  }
  std::printf("compared %zu posterior probabilities\n", compared);
  EXPECT_GT(compared, 1000U);
}

}  // namespace
}  // namespace cress::control
