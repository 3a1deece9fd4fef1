#include "media/frame/ivf.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "transport/base/rng.hh"
#include "transport/base/text_file.hh"

namespace cress::media {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> noise(Rng& rng, size_t size) {
  std::vector<std::byte> data(size);
  for (std::byte& byte : data) {
    byte = static_cast<std::byte>(rng.below(256));
  }
  return data;
}

struct Read {
  std::optional<IvfHeader> header;
  std::vector<IvfFrame> frames;
  std::optional<IvfError> error;
};

Read read_all(const std::string& bytes) {
  std::istringstream stream{bytes};
  IvfReader reader{stream};
  Read read;
  const auto header = reader.read_header();
  if (!header) {
    read.error = header.error();
    return read;
  }
  read.header = *header;
  for (;;) {
    const auto frame = reader.read_frame();
    if (!frame) {
      read.error = frame.error();
      return read;
    }
    if (!frame->has_value()) {
      return read;
    }
    read.frames.push_back(**frame);
  }
}

/// Three frames with a gap in their times.
std::string written(const std::vector<IvfFrame>& frames, const IvfHeader& header) {
  const fs::path path = fs::path{testing::TempDir()} / "cress_ivf_test.ivf";
  IvfWriter writer{path, header};
  for (const IvfFrame& frame : frames) {
    writer.write(frame.time, frame.data);
  }
  writer.finish();
  std::string bytes = load_text(path, DataSize{1 << 24});
  fs::remove(path);
  return bytes;
}

std::string example() {
  Rng rng{1};
  return written({{0, noise(rng, 5000)}, {1, noise(rng, 1)}, {4, noise(rng, 300)}},
                 {.width = 640, .height = 360});
}

std::string with(std::string bytes, size_t at, const std::string& value) {
  return bytes.replace(at, value.size(), value);
}

IvfError::Kind error_of(const std::string& bytes) {
  const Read read = read_all(bytes);
  EXPECT_TRUE(read.error.has_value());
  EXPECT_FALSE(describe(read.error.value_or(IvfError{})).empty());
  return read.error.value_or(IvfError{.kind = IvfError::Kind::kUnreadable}).kind;
}

TEST(Ivf, WrittenDataIsReadBack) {
  Rng rng{7};
  const std::vector<IvfFrame> frames{
      {0, noise(rng, 70'000)}, {3, noise(rng, 1)}, {uint64_t{1} << 40U, noise(rng, 1234)}};
  const IvfHeader header{
      .width = 16'383, .height = 1, .timebase_numerator = 1001, .timebase_denominator = 30'000};
  const Read read = read_all(written(frames, header));
  EXPECT_FALSE(read.error);
  EXPECT_EQ(read.frames, frames);
  IvfHeader counted = header;
  counted.frame_count = 3;
  EXPECT_EQ(read.header, counted);
}

TEST(Ivf, ACopiedHeaderCountsTheFramesWrittenOnly) {
  const Read read = read_all(written({{0, {std::byte{1}}}}, {.width = 2, .frame_count = 9}));
  ASSERT_TRUE(read.header);
  EXPECT_EQ(read.header->frame_count, 1U);
}

TEST(Ivf, BytesAreThoseOfTheFormat) {
  const std::string bytes = written({{258, {std::byte{0xAB}}}}, {.width = 640, .height = 360});
  const std::string expected(
      "DKIF\0\0\x20\0VP80\x80\x02\x68\x01\x1E\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0"
      "\x01\0\0\0\x02\x01\0\0\0\0\0\0\xAB",
      45);
  EXPECT_EQ(bytes, expected);
}

TEST(Ivf, EveryCutOfAFileGivesWholeFramesAndAtMostOneError) {
  const std::string bytes = example();
  const std::array<size_t, 4> ends{32, 32 + 12 + 5000, 32 + 24 + 5001, 32 + 36 + 5301};
  ASSERT_EQ(bytes.size(), ends.back());
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const Read read = read_all(bytes.substr(0, size));
    const bool whole = std::ranges::find(ends, size) != ends.end();
    EXPECT_EQ(read.error.has_value(), !whole) << size;
    for (size_t i = 0; i < read.frames.size(); ++i) {
      EXPECT_LE(ends.at(i + 1), size);
    }
  }
}

TEST(Ivf, HostileHeadersAndFramesAreNamed) {
  const std::string good = example();
  EXPECT_EQ(error_of(""), IvfError::Kind::kNotIvf);
  EXPECT_EQ(error_of("DK"), IvfError::Kind::kNotIvf);
  EXPECT_EQ(error_of("RIFF" + good.substr(4)), IvfError::Kind::kNotIvf);
  EXPECT_EQ(error_of(with(good, 4, "\x01")), IvfError::Kind::kBadVersion);
  EXPECT_EQ(error_of(with(good, 6, std::string("\x1F\0", 2))), IvfError::Kind::kBadHeader);
  EXPECT_EQ(error_of(with(good, 16, std::string(4, '\0'))), IvfError::Kind::kBadHeader);
  EXPECT_EQ(error_of(with(good, 20, std::string(4, '\0'))), IvfError::Kind::kBadHeader);
  EXPECT_EQ(error_of(with(good, 32, std::string(4, '\0'))), IvfError::Kind::kEmptyFrame);
  EXPECT_EQ(error_of(with(good, 32, "\xFF\xFF\xFF\xFF")), IvfError::Kind::kFrameTooLong);
  EXPECT_EQ(error_of(with(good, 32, std::string("\x01\0\x10\0", 4))),
            IvfError::Kind::kFrameTooLong);
  EXPECT_EQ(error_of(with(good, 32, std::string("\0\0\x10\0", 4))), IvfError::Kind::kTruncated);
}

TEST(Ivf, ALongerHeaderIsSkipped) {
  const std::string good = example();
  const std::string longer =
      with(good.substr(0, 32), 6, std::string("\x28\0", 2)) + "12345678" + good.substr(32);
  EXPECT_EQ(read_all(longer).frames, read_all(good).frames);
}

TEST(Ivf, FailedWriteIsAnError) {
  EXPECT_THROW(IvfWriter("/proc/no/such.ivf", {}), std::runtime_error);
  if (!fs::exists("/dev/full")) {
    GTEST_SKIP() << "no /dev/full";
  }
  Rng rng{1};
  const auto fill = [&] {
    IvfWriter writer{"/dev/full", {}};
    writer.write(0, noise(rng, 100'000));
    writer.finish();
  };
  EXPECT_THROW(fill(), std::runtime_error);
}

TEST(Ivf, AnErrorSaysWhereItIs) {
  const std::string good = example();
  EXPECT_EQ(read_all(good.substr(0, 20)).error, (IvfError{IvfError::Kind::kTruncated, 20, 0}));
  EXPECT_EQ(read_all(good.substr(0, 32 + 5)).error, (IvfError{IvfError::Kind::kTruncated, 37, 0}));
  const size_t second = 32 + 12 + 5000;
  EXPECT_EQ(read_all(with(good, second, std::string(4, '\0'))).error,
            (IvfError{IvfError::Kind::kEmptyFrame, second + 12, 1}));
  EXPECT_NE(describe({IvfError::Kind::kTruncated, 31, 0}).find("its header at byte 31"),
            std::string::npos);
  EXPECT_NE(describe({IvfError::Kind::kTruncated, 32, 4}).find("frame 4 at byte 32"),
            std::string::npos);
}

TEST(Ivf, AWriterTakesTheLargestFrameAndNoneThatIsEmpty) {
  const size_t largest = static_cast<size_t>(kEncodedFrameMax.bytes());
  const std::vector<IvfFrame> frames{{0, std::vector<std::byte>(largest, std::byte{5})}};
  EXPECT_EQ(read_all(written(frames, {})).frames, frames);
  EXPECT_DEATH(written({{0, std::vector<std::byte>(largest + 1)}}, {}), "oversized");
  EXPECT_DEATH(written({{0, {}}}, {}), "empty");
  EXPECT_DEATH(written({}, {.timebase_numerator = 0}), "timebase");
  EXPECT_DEATH(written({}, {.timebase_denominator = 0}), "timebase");
}

}  // namespace
}  // namespace cress::media
