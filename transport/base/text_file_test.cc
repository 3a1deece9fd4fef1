#include "transport/base/text_file.hh"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace cress {
namespace {

namespace fs = std::filesystem;

/// A folder of this test's own, removed when the test ends.
class TextFile : public testing::Test {
 protected:
  TextFile() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path{testing::TempDir()} / "cress-text-files" / test->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TextFile() override { fs::remove_all(folder_); }

  /// What the exception says; empty without one.
  template <class Action>
  static std::string error_of(Action action) {
    try {
      action();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return {};
  }

  fs::path folder_;
};

TEST_F(TextFile, SavedTextLoadsAgain) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 18U, (size_t{3} << 18U) + 17}) {
    std::string text(size, 'a');
    text.append("\n\0z", 3);
    save_text(text, folder_ / "file");
    EXPECT_EQ(load_text(folder_ / "file", DataSize{1 << 20}), text) << size;
  }
  EXPECT_FALSE(fs::exists(folder_ / "file.part"));
}

TEST_F(TextFile, ShorterTextReplacesALongerOne) {
  save_text("a longer text", folder_ / "file");
  save_text("short", folder_ / "file");
  EXPECT_EQ(load_text(folder_ / "file", DataSize{100}), "short");
}

TEST_F(TextFile, OldPartIsNotContinued) {
  std::ofstream{folder_ / "file.part"} << "left by a crash, long ago";
  save_text("new", folder_ / "file");
  EXPECT_EQ(load_text(folder_ / "file", DataSize{100}), "new");
}

TEST_F(TextFile, LimitIsTheLargestSizeThatLoads) {
  save_text("12345", folder_ / "file");
  EXPECT_EQ(load_text(folder_ / "file", DataSize{5}), "12345");
  EXPECT_EQ(error_of([&] { (void)load_text(folder_ / "file", DataSize{4}); }),
            (folder_ / "file").string() + ": larger than 4 bytes; cut it into shorter files");
}

TEST_F(TextFile, EndlessInputEndsWithAnError) {
  EXPECT_EQ(error_of([] { (void)load_text("/dev/zero", DataSize{1'000'000}); }),
            "/dev/zero: larger than 1000000 bytes; cut it into shorter files");
}

TEST_F(TextFile, ErrorsNameThePathAndTheReason) {
  const std::string none = (folder_ / "none").string();
  EXPECT_EQ(error_of([&] { (void)load_text(none, DataSize{9}); }),
            none + ": cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { (void)load_text(folder_, DataSize{9}); }),
            folder_.string() + ": cannot be read: Is a directory");
  EXPECT_EQ(error_of([&] { save_text("x", folder_ / "no" / "file"); }),
            (folder_ / "no" / "file").string() + ": cannot be written: No such file or directory");
  EXPECT_FALSE(fs::exists(folder_ / "no"));
}

TEST_F(TextFile, FailedSaveKeepsTheOldText) {
  save_text("old", folder_ / "file");
  fs::create_directory(folder_ / "file.part");
  EXPECT_EQ(error_of([&] { save_text("new", folder_ / "file"); }),
            (folder_ / "file").string() + ": cannot be written: Is a directory");
  EXPECT_EQ(load_text(folder_ / "file", DataSize{100}), "old");
}

TEST_F(TextFile, PartThatCannotBeWrittenIsRemoved) {
  // The part is a link to a full device: it can be opened, and writing fails.
  if (!fs::is_character_file("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  fs::create_symlink("/dev/full", folder_ / "file.part");
  EXPECT_EQ(error_of([&] { save_text("new", folder_ / "file"); }),
            (folder_ / "file").string() + ": cannot be written whole: No space left on device");
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder_ / "file.part")));
  EXPECT_FALSE(fs::exists(folder_ / "file"));
}

TEST_F(TextFile, DeviceIsWrittenDirectly) {
  if (!fs::is_character_file("/dev/full")) {
    GTEST_SKIP() << "no /dev/full here";
  }
  EXPECT_EQ(error_of([] { save_text("x", "/dev/full"); }),
            "/dev/full: cannot be written whole: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_EQ(error_of([] { save_text("x", "/dev/null"); }), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(TextFile, PipeIsWrittenDirectly) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string heard;
  std::thread reader{[&] { heard = load_text(pipe, DataSize{100}); }};
  save_text("through", pipe);
  reader.join();
  EXPECT_EQ(heard, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(TextFile, LinkStaysAndItsTargetIsReplaced) {
  save_text("old", folder_ / "target");
  fs::create_symlink(folder_ / "target", folder_ / "link");
  save_text("new", folder_ / "link");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(load_text(folder_ / "target", DataSize{100}), "new");
}

TEST_F(TextFile, FilesAreReadAndWrittenWithStandardInputClosed) {
  const int kept = ::dup(STDIN_FILENO);  // the next file opened becomes descriptor 0
  ::close(STDIN_FILENO);
  const std::string saving = error_of([&] { save_text("text", folder_ / "file"); });
  std::string loaded;
  const std::string loading =
      error_of([&] { loaded = load_text(folder_ / "file", DataSize{100}); });
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
  EXPECT_EQ(saving, "");
  EXPECT_EQ(loading, "");
  EXPECT_EQ(loaded, "text");
}

TEST_F(TextFile, FailedRenameIsReportedAndLeavesNoPart) {
  const fs::path itself = folder_ / "missing" / "..";  // a folder, if by a name that does not exist
  const std::string error = error_of([&] { save_text("x", itself); });
  EXPECT_TRUE(error.starts_with(itself.string() + ": cannot be put in place: ")) << error;
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(TextFile, OneFileIsKnownByAllItsNames) {
  const fs::path file = folder_ / "file";
  save_text("x", file);
  save_text("x", folder_ / "other");
  fs::create_symlink(file, folder_ / "link");
  fs::create_hard_link(file, folder_ / "hard");
  fs::create_directory(folder_ / "below");
  for (const fs::path& name :
       {file, folder_ / "link", folder_ / "hard", folder_ / "below" / ".." / "file"}) {
    EXPECT_TRUE(is_same_file(file, name)) << name;
    EXPECT_FALSE(is_same_file(folder_ / "other", name)) << name;
  }
  EXPECT_TRUE(is_same_file(folder_ / "new", folder_ / "below" / ".." / "new"));
  EXPECT_FALSE(is_same_file(folder_ / "new", file));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null")) << "nothing is lost there";
}

TEST_F(TextFile, WhatIsPrintedNowIsWrittenOrRefused) {
  std::ofstream good{folder_ / "out"};
  print_now(good, "a link");
  EXPECT_EQ(load_text(folder_ / "out", DataSize{100}), "a link");
  std::ofstream full{"/dev/full"};
  EXPECT_EQ(error_of([&] { print_now(full, "a link"); }), "standard output cannot be written");
}

}  // namespace
}  // namespace cress
