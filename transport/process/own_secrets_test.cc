#include "transport/process/own_secrets.hh"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace cress::runtime {
namespace {

std::string path_of(const std::string& name) { return ::testing::TempDir() + name; }

std::string write(const std::string& name, const std::string& text, mode_t mode) {
  const std::string path = path_of(name);
  ::unlink(path.c_str());
  std::ofstream{path} << text;
  EXPECT_EQ(::chmod(path.c_str(), mode), 0);
  return path;
}

TEST(OwnArguments, LinksAreOverwrittenWhereOthersSeeThem) {
  std::string program = "cress-call";
  std::string link = "cress://192.0.2.7:4433/#AAAAAAAAAAAAAAAAAAAAAA";
  std::string option = "--link=cress://h:1/#AAAA";
  const std::string before = link;
  std::array<char*, 4> argv{program.data(), link.data(), option.data(), nullptr};
  OwnArguments own{3, argv.data()};
  ASSERT_EQ(own.count(), 3);
  EXPECT_STREQ(own.values()[0], "cress-call");
  EXPECT_EQ(own.values()[1], before);
  EXPECT_STREQ(own.values()[2], "--link=cress://h:1/#AAAA");
  EXPECT_EQ(own.values()[3], nullptr);
  EXPECT_EQ(program, "cress-call");
  EXPECT_EQ(link, std::string(before.size(), 'x'));
  EXPECT_EQ(option, std::string(option.size(), 'x'));
  own.forget();
  EXPECT_EQ(own.values()[1], std::string(before.size(), 'x'));
}

TEST(OwnSecrets, NoCoreFileAndNoReaderOfMemory) {
  EXPECT_EXIT(
      {
        rlimit core{};
        getrlimit(RLIMIT_CORE, &core);
        core.rlim_cur = core.rlim_max;  // many systems begin with none
        setrlimit(RLIMIT_CORE, &core);
        const bool is_closed = refuse_inspection();
        getrlimit(RLIMIT_CORE, &core);
        const bool is_readable = prctl(PR_GET_DUMPABLE) != 0;
        std::exit(core.rlim_cur == 0 && is_readable != is_closed ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(OwnSecrets, FilesThatOthersMayReadOrChangeAreRejected) {
  EXPECT_EQ(read_secret(write("mine", " cress://h:1/#A\n", 0600), 64), "cress://h:1/#A");
  EXPECT_EQ(read_secret(write("mine", "cress://h:1/#A", 0400), 64), "cress://h:1/#A");
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610}) {
    EXPECT_THROW((void)read_secret(write("mine", "x", mode), 64), std::runtime_error) << mode;
  }
  EXPECT_THROW((void)read_secret(path_of("none"), 64), std::runtime_error);
  EXPECT_THROW((void)read_secret("/dev/null", 64), std::runtime_error);
}

TEST(OwnSecrets, AnothersFileIsRejected) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  const std::string path = write("theirs", "x", 0600);
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_THROW((void)read_secret(path, 64), std::runtime_error);
  EXPECT_EXIT(
      {
        const bool is_them = ::seteuid(12345) == 0;
        // At once: a sanitizer's search for leaks at the end needs the rights that were just given
        // up.
        std::_Exit(is_them && read_secret(path, 64) == "x" ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "")
      << "its owner reads it";
}

TEST(OwnSecrets, APipeIsRejectedWithoutWaitingForAWriter) {
  const std::string path = path_of("pipe");
  ::unlink(path.c_str());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  auto refusal = std::async(std::launch::async, [&]() -> std::string {
    try {
      return read_secret(path, 64);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  });
  if (refusal.wait_for(std::chrono::seconds{10}) != std::future_status::ready) {
    ADD_FAILURE() << "it waits";
    std::ofstream{path};
  }
  EXPECT_EQ(refusal.get(), path + ": not a file");
  ::unlink(path.c_str());
}

TEST(OwnSecrets, LongTextsAreNotRead) {
  EXPECT_EQ(read_secret(write("mine", std::string(64, 'x'), 0600), 64).size(), 64U);
  EXPECT_THROW((void)read_secret(write("mine", std::string(65, 'x'), 0600), 64),
               std::runtime_error);
  std::istringstream fits{std::string(64, 'x') + "\nmore"};
  EXPECT_EQ(read_secret(fits, 64).size(), 64U);
  std::istringstream is_long{std::string(65, 'x')};
  EXPECT_THROW((void)read_secret(is_long, 64), std::runtime_error);
  std::istringstream empty{"\ncress://h:1/#A"};
  EXPECT_THROW((void)read_secret(empty, 64), std::runtime_error);
}

std::string text_of(const std::string& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(OwnSecrets, AWrittenSecretIsALineForItsOwnerAlone) {
  const std::string path = write("kept", "the one before", 0644);
  write("kept.new", "left by a crash", 0644);
  const mode_t mask = ::umask(0);
  write_secret(path, "cress://h:1/#A");
  ::umask(mask);
  EXPECT_EQ(text_of(path), "cress://h:1/#A\n");
  EXPECT_EQ(read_secret(path, 64), "cress://h:1/#A");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_NE(::access((path + ".new").c_str(), F_OK), 0);
}

TEST(OwnSecrets, ASecretThatCannotBeWrittenLeavesNothing) {
  const std::string folder = path_of("taken");
  ::mkdir(folder.c_str(), 0700);
  EXPECT_EQ(error_of([&] { write_secret(folder, "x"); }),
            folder + ": cannot be written: Is a directory");
  EXPECT_NE(::access((folder + ".new").c_str(), F_OK), 0);
  ::rmdir(folder.c_str());
  EXPECT_EQ(error_of([&] { write_secret(path_of("no/such"), "x"); }),
            path_of("no/such") + ": cannot be written: No such file or directory");
}

TEST(OwnSecrets, ARefusalSaysWhatIsWrong) {
  const auto refusal = [](const std::string& path) {
    return error_of([&] { (void)read_secret(path, 4); });
  };
  EXPECT_EQ(refusal(path_of("none")),
            path_of("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: not a file");
  EXPECT_EQ(refusal(write("mine", "x", 0604)),
            path_of("mine") + ": others may read or change it; chmod 600 it");
  EXPECT_EQ(refusal(write("mine", "12345", 0600)), path_of("mine") + ": too long for a link");
  std::istringstream line{"  a b \n"};
  EXPECT_EQ(read_secret(line, 64), "a b");
  std::istringstream blank{" \n"};
  EXPECT_EQ(error_of([&] { (void)read_secret(blank, 4); }), "standard input: no link");
  std::istringstream is_long{"12345"};
  EXPECT_EQ(error_of([&] { (void)read_secret(is_long, 4); }),
            "standard input: too long for a link");
  std::istringstream endless{std::string(1000, 'x')};
  EXPECT_THROW((void)read_secret(endless, 4), std::runtime_error);
  EXPECT_EQ(endless.tellg(), 5) << "no more is read than shows that it is too long";
}

}  // namespace
}  // namespace cress::runtime
