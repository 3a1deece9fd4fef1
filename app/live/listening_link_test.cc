#include "app/live/listening_link.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace cress::live {
namespace {

namespace fs = std::filesystem;

class ListeningLinkTest : public ::testing::Test {
 protected:
  ListeningLinkTest() { fs::remove_all(file_); }
  ~ListeningLinkTest() override { fs::remove_all(file_); }

  void hold(const std::string& text, fs::perms mode = fs::perms{0600}) const {
    std::ofstream{file_} << text;
    fs::permissions(file_, mode);
  }
  /// The words with which the file is refused.
  std::string refusal(uint16_t port = 0) const {
    try {
      const ListeningLink link{{.port = port}, file_};
      return "not refused";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  }

  const fs::path file_ = fs::path{testing::TempDir()} / "cress-listening.link";
};

TEST_F(ListeningLinkTest, WithoutAFileEachLinkIsNew) {
  ListeningLink first{{}, {}};
  ListeningLink second{{}, {}};
  EXPECT_NE(first.secret(), second.secret());
  EXPECT_EQ(first.opened("host", 7), (secure::Link{"host", 7, first.secret()}));
}

TEST_F(ListeningLinkTest, SaysAtOnceWhichMachinesCanUseIt) {
  const auto warning_of = [](const std::string& host, const std::string& relay = "") {
    ListeningLink link{{}, {}, relay};
    link.opened(host, 4433);
    return link.warning();
  };
  EXPECT_EQ(warning_of("127.0.0.1"),
            "Only this machine can reach the address in this link: others can call you through a "
            "relay.");
  EXPECT_EQ(warning_of("8.8.8.8"),
            "Without a relay this link works only if others can reach this machine directly.");
  EXPECT_EQ(warning_of("8.8.8.8", "relay.example:4747"), "");
  EXPECT_EQ(warning_of("8.8.8.8", "192.168.1.2:4747"),
            "Only its own network can reach the address in this link.");
}

TEST_F(ListeningLinkTest, IsTheSameAfterARestartAndReadByItsOwnerAlone) {
  ListeningLink first{{}, file_};
  EXPECT_FALSE(fs::exists(file_)) << "nothing is promised before the port is had";
  const secure::Link link = first.opened("192.0.2.7", 4433);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms{0600});
  ListeningLink again{{}, file_};
  EXPECT_EQ(again.secret(), first.secret());
  EXPECT_EQ(again.bind().port, 4433);
  EXPECT_EQ(again.opened("192.0.2.99", 4433), link) << "also when the machine's address changed";
}

TEST_F(ListeningLinkTest, AtARelayItLeadsThereWhateverTheOwnPort) {
  ListeningLink first{{.port = 9}, file_, "relay.example:4747"};
  EXPECT_EQ(first.relay(), "relay.example:4747");
  const secure::Link link = first.opened("192.0.2.7", 4433);
  EXPECT_EQ(link, (secure::Link{"relay.example", 4747, first.secret(), "", true}));
  for (const char* relay : {"", "relay.example:4747"}) {
    ListeningLink again{{.port = 10}, file_, relay};
    EXPECT_EQ(again.relay(), "relay.example:4747");
    EXPECT_EQ(again.bind().port, 10);
    EXPECT_EQ(again.opened("192.0.2.99", 1), link);
  }
}

TEST_F(ListeningLinkTest, AKeptLinkIsForOneRelayOrForNone) {
  const auto refusal_at = [this](const char* relay) -> std::string {
    try {
      const ListeningLink link{{}, file_, relay};
      return "not refused";
    } catch (const std::runtime_error& error) {
      return error.what();
    }
  };
  hold("cress://relay.example:4747/@call#AAAAAAAAAAAAAAAAAAAAAA\n");
  EXPECT_NE(refusal_at("other.example:4747").find("is for relay relay.example:4747"),
            std::string::npos);
  hold("cress://home.example:4433/#AAAAAAAAAAAAAAAAAAAAAA\n");
  EXPECT_NE(refusal_at("other.example:4747").find("is for no relay"), std::string::npos);
  fs::remove(file_);
  EXPECT_NE(refusal_at("other.example").find("not HOST:PORT"), std::string::npos);
}

TEST_F(ListeningLinkTest, KeepsAManuallyEditedHost) {
  hold("  cress://home.example:4433/#AAAAAAAAAAAAAAAAAAAAAA\r\n");
  ListeningLink link{{.port = 4433}, file_};
  EXPECT_EQ(link.opened("10.0.0.2", 4433).host, "home.example");
}

TEST_F(ListeningLinkTest, IsReadWithStandardInputClosedToo) {
  hold("cress://home.example:4433/#AAAAAAAAAAAAAAAAAAAAAA\n");
  const int kept = ::dup(STDIN_FILENO);
  ::close(STDIN_FILENO);  // so that the file's descriptor is 0
  const ListeningLink link{{}, file_};
  EXPECT_EQ(link.bind().port, 4433);
  if (kept >= 0) {
    ::dup2(kept, STDIN_FILENO);
    ::close(kept);
  }
}

TEST_F(ListeningLinkTest, UselessFileIsRejectedWithAdvice) {
  hold("cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA\n", fs::perms{0640});
  EXPECT_NE(refusal().find("chmod 600"), std::string::npos) << refusal();
  hold("cress://h:1/\n");
  EXPECT_NE(refusal().find("remove the file"), std::string::npos) << refusal();
  hold("");
  EXPECT_NE(refusal().find("remove the file"), std::string::npos) << refusal();
  hold(std::string(100'000, 'x'));
  EXPECT_NE(refusal().find("too long for a link"), std::string::npos) << refusal();
  hold("cress://h:4433/#AAAAAAAAAAAAAAAAAAAAAA\n");
  EXPECT_NE(refusal(5000).find("port 4433, not 5000"), std::string::npos) << refusal(5000);
  fs::remove(file_);
  fs::create_directory(file_);
  fs::permissions(file_, fs::perms{0700});
  EXPECT_NE(refusal().find("not a file"), std::string::npos) << refusal();
}

TEST_F(ListeningLinkTest, WhiteSpaceAroundTheLinkIsLeftOut) {
  for (const std::string space : {"", " ", "\t", "\r", "\n", " \t\r\n \n"}) {
    hold(space + "cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA" + space);
    EXPECT_EQ(refusal(), "not refused");
  }
}

TEST_F(ListeningLinkTest, FileReadableByOthersIsRejected) {
  for (const unsigned mode : {0610U, 0620U, 0640U, 0601U, 0602U, 0604U}) {
    hold("cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA\n", fs::perms{mode});
    EXPECT_NE(refusal().find("chmod 600"), std::string::npos) << std::oct << mode;
  }
  hold("cress://h:1/#AAAAAAAAAAAAAAAAAAAAAA\n", fs::perms{0700});
  EXPECT_EQ(refusal(), "not refused");
}

TEST_F(ListeningLinkTest, OnceWrittenItsHostStaysTheSame) {
  ListeningLink kept{{}, file_};
  const secure::Link link = kept.opened("first", 4433);
  EXPECT_EQ(kept.opened("second", 5000), link);
  ListeningLink fresh{{}, {}};
  EXPECT_EQ(fresh.opened("first", 4433).host, "first");
  EXPECT_EQ(fresh.opened("second", 5000).host, "second") << "nothing is kept of it";
}

TEST_F(ListeningLinkTest, FileOfACrashedListenerIsReplaced) {
  const fs::path unfinished = file_.string() + ".new";
  std::ofstream{unfinished} << "half a li";
  ListeningLink link{{}, file_};
  (void)link.opened("h", 4433);
  EXPECT_FALSE(fs::exists(unfinished));
  EXPECT_EQ((ListeningLink{{}, file_}.secret()), link.secret());
}

TEST_F(ListeningLinkTest, IncompleteFileIsRemoved) {
  ListeningLink link{{}, file_};
  fs::create_directory(file_);  // which nothing can be renamed to
  try {
    (void)link.opened("h", 4433);
    FAIL() << "a folder was replaced";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string{error.what()}, file_.string() + ": cannot be written: Is a directory");
  }
  EXPECT_FALSE(fs::exists(file_.string() + ".new"));
}

TEST_F(ListeningLinkTest, UnwritableFileIsReportedAndLeavesNothing) {
  ListeningLink link{{}, "/no/such/folder/a.link"};
  EXPECT_THROW((void)link.opened("h", 1), std::runtime_error);
}

}  // namespace
}  // namespace cress::live
