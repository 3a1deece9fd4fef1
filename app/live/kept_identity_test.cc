#include "app/live/kept_identity.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace cress::live {
namespace {

namespace fs = std::filesystem;

class KeptIdentity : public testing::Test {
 protected:
  KeptIdentity() { fs::remove_all(folder_); }
  ~KeptIdentity() override { fs::remove_all(folder_); }
  std::string error() const {
    try {
      (void)kept_identity(file_);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }
  void write(const std::string& text) const {
    std::ofstream{file_} << text;
    fs::permissions(file_, fs::perms::owner_read | fs::perms::owner_write);
  }
  const fs::path folder_ =
      fs::temp_directory_path() / ("cress-identity-" + std::to_string(::getpid()));
  const fs::path file_ = folder_ / "settings" / "identity";
};

TEST_F(KeptIdentity, IsDrawnOnceAndReadByNobodyElse) {
  const auto secret = kept_identity(file_);
  EXPECT_EQ(secret.size(), 32U);
  EXPECT_NE(secret, std::vector<std::byte>(32));
  EXPECT_EQ(kept_identity(file_), secret);
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(file_);
  EXPECT_NE(kept_identity(file_), secret);
}

TEST_F(KeptIdentity, AFileThatOthersMayReadIsRefused) {
  (void)kept_identity(file_);
  fs::permissions(file_, fs::perms::others_read, fs::perm_options::add);
  EXPECT_NE(error().find("chmod 600"), std::string::npos);
}

TEST_F(KeptIdentity, AFileOfSomethingElseIsRefusedAndKept) {
  (void)kept_identity(file_);
  const std::string digits(64, '7');
  for (const std::string& text : {std::string{}, digits.substr(1), digits.substr(1) + "G",
                                  digits.substr(1) + "A", digits + "7", std::string(9000, '7')}) {
    write(text);
    EXPECT_NE(error().find(file_.string() + ": "), std::string::npos) << text.substr(0, 70);
  }
  write(digits + "\n");
  EXPECT_EQ(kept_identity(file_), std::vector<std::byte>(32, std::byte{0x77}));
}

}  // namespace
}  // namespace cress::live
