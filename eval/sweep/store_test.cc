#include "eval/sweep/store.hh"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "eval/sweep/digest.hh"
#include "eval/sweep/progress_line.hh"
#include "eval/sweep/shard.hh"

namespace cress::sweep {
namespace {

namespace fs = std::filesystem;

fs::path fresh_folder() {
  const fs::path folder =
      fs::path{testing::TempDir()} /
      (std::string{"cress-store-"} + testing::UnitTest::GetInstance()->current_test_info()->name());
  fs::remove_all(folder);
  return folder;
}

const RunDefinition kRun{"cress-eval 1", R"({"scheme":"cress","seed":3})"};
const Json kResults = Json::array({{{"scheme", "cress"}, {"delay95_ms", 12.5}}});

TEST(Digest, IsTheFnvOfItsDefinition) {
  // FNV-1a, 128 bits, of eight zero bytes (a length of 0): worked out with whole numbers in Python.
  EXPECT_EQ(Digest{}.add("").hex(), "9d30c1f78465995be47dda5e4e4e77ed");
}

TEST(Digest, PiecesAndTheirBordersCount) {
  std::set<std::string> names;
  names.insert(Digest{}.add("ab").add("c").hex());
  names.insert(Digest{}.add("a").add("bc").hex());
  names.insert(Digest{}.add("abc").hex());
  names.insert(Digest{}.add("abc").add("").hex());
  EXPECT_EQ(names.size(), 4U);
  EXPECT_EQ(Digest{}.add("abc").hex(), Digest{}.add("abc").hex());
}

TEST(BuildId, IsHexadecimalAndStays) {
  const std::string id = build_id();
  EXPECT_EQ(id, build_id());
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_GE(id.size(), 16U) << "the linker wrote no build id";
}

TEST(RunStore, ReturnsStoredRunsOnly) {
  const RunStore store{fresh_folder()};
  EXPECT_FALSE(store.find(kRun).has_value());
  store.put(kRun, kResults);
  EXPECT_EQ(store.find(kRun), kResults);
  EXPECT_FALSE(store.find({"cress-eval 2", kRun.what}).has_value());
  EXPECT_FALSE(store.find({kRun.program, R"({"scheme":"cress","seed":4})"}).has_value());
  EXPECT_EQ(store.other_program("cress-eval 2"), "cress-eval 1");
  EXPECT_EQ(store.other_program("cress-eval 1"), "");
}

TEST(RunStore, ABrokenOrForeignFileCountsAsNotFinished) {
  const RunStore store{fresh_folder()};
  store.put(kRun, kResults);
  const fs::path file = store.folder() / "runs" / (kRun.key() + ".json");
  ASSERT_TRUE(fs::is_regular_file(file));
  for (const char* content :
       {"", "{", "[]", "{\"program\": 1}",
        R"({"program":"cress-eval 1","definition":{"scheme":"cress","seed":3}})",
        R"({"program":"cress-eval 1","definition":{"seed":4},"results":[]})"}) {
    std::ofstream{file} << content;
    EXPECT_FALSE(store.find(kRun).has_value()) << content;
  }
  store.put(kRun, kResults);
  EXPECT_EQ(store.find(kRun), kResults);
}

TEST(RunStore, RemovesOnlyFilesOfKilledProcesses) {
  const fs::path folder = fresh_folder();
  { const RunStore store{folder}; }
  const pid_t dead = fork();
  if (dead == 0) {
    save_whole("half", folder / "runs" / "a.json");
    _exit(0);
  }
  int status = 0;
  waitpid(dead, &status, 0);
  ASSERT_EQ(status, 0);
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const auto name = [&](pid_t pid) {
    std::string text = std::string{"b.json."} + host;
    std::replace(text.begin() + 7, text.end(), '-', '_');
    return folder / "runs" / text.append("-").append(std::to_string(pid)).append(".tmp");
  };
  const fs::path others = folder / "runs" / "c.json.elsewhere-1.tmp";
  for (const fs::path& file : {name(dead), name(getpid()), others}) {
    std::ofstream{file} << "x";
  }
  const RunStore store{folder};
  EXPECT_FALSE(fs::exists(name(dead)));
  EXPECT_TRUE(fs::exists(name(getpid())));
  EXPECT_TRUE(fs::exists(others));
  EXPECT_TRUE(fs::exists(folder / "runs" / "a.json"));
}

TEST(Shard, DealsEveryRunToExactlyOne) {
  for (size_t run = 0; run < 100; ++run) {
    int holders = 0;
    for (const char* text : {"1/3", "2/3", "3/3"}) {
      holders += Shard::parse(text).holds(run) ? 1 : 0;
    }
    EXPECT_EQ(holders, 1);
  }
  for (const char* text : {"", "3", "0/3", "4/3", "a/b", "1/", "/1", "1/2/3", "-1/2", "1/0"}) {
    EXPECT_THROW(Shard::parse(text), std::invalid_argument) << text;
  }
}

TEST(ShellWord, IsOneWordWhateverIsInIt) {
  EXPECT_EQ(shell_word("plan.toml"), "plan.toml");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(ProgressLine, IsRedrawnOnATerminalAndALineEveryTenSecondsElsewhere) {
  ProgressLine terminal{{.runs = 10, .done_before = 4, .is_terminal = true}};
  EXPECT_FALSE(terminal.poll(1s, 4, 0.5).has_value());
  // One of six in 10 s: five more take 50.
  EXPECT_EQ(terminal.poll(10s, 5, 0).value_or(""),
            "\r\033[K[###############...............] 5 of 10 runs done, 50 s left");
  EXPECT_FALSE(terminal.poll(10100ms, 5, 0).has_value());
  EXPECT_TRUE(terminal.poll(10300ms, 5, 0).has_value());
  ProgressLine log{{.runs = 10, .done_before = 0, .is_terminal = false}};
  EXPECT_FALSE(log.poll(9s, 1, 0).has_value());
  EXPECT_EQ(log.poll(10s, 1, 1).value_or(""), "1 of 10 runs done, 40 s left\n");
  EXPECT_FALSE(log.poll(19s, 1, 1).has_value());
  EXPECT_EQ(log.clear(), "");
  EXPECT_EQ(time_in_words(40min), "40 min");
  EXPECT_EQ(time_in_words(150min), "2.5 h");
}

}  // namespace
}  // namespace cress::sweep
