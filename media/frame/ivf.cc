#include "media/frame/ivf.hh"

#include <algorithm>
#include <stdexcept>

#include "transport/base/check.hh"

namespace cress::media {
namespace {

constexpr std::array<char, 4> kMagic{'D', 'K', 'I', 'F'};
constexpr size_t kHeaderMax = 1 << 16;

uint64_t little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8U | std::to_integer<uint64_t>(bytes[i - 1]);
  }
  return value;
}

void put(std::span<std::byte> bytes, uint64_t value) {
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xFFU);
    value >>= 8U;
  }
}

std::array<std::byte, kIvfHeaderSize> header_bytes(const IvfHeader& header) {
  std::array<std::byte, kIvfHeaderSize> bytes{};
  const std::span<std::byte> all{bytes};
  const auto letters = [&](size_t at, const std::array<char, 4>& text) {
    std::ranges::transform(text, all.subspan(at).begin(),
                           [](char c) { return static_cast<std::byte>(c); });
  };
  letters(0, kMagic);
  put(all.subspan(4, 2), 0);  // version
  put(all.subspan(6, 2), kIvfHeaderSize);
  letters(8, header.codec);
  put(all.subspan(12, 2), narrow<uint16_t>(header.width));
  put(all.subspan(14, 2), narrow<uint16_t>(header.height));
  put(all.subspan(16, 4), header.timebase_denominator);
  put(all.subspan(20, 4), header.timebase_numerator);
  put(all.subspan(24, 4), header.frame_count);
  return bytes;
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw std::runtime_error(path.string() + ": " + what);
}

void write_bytes(std::ofstream& file, std::span<const std::byte> bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): iostreams write char
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

std::string describe(const IvfError& error) {
  const std::string at = " at byte " + std::to_string(error.offset);
  const std::string frame = "frame " + std::to_string(error.frame);
  switch (error.kind) {
    case IvfError::Kind::kNotIvf:
      return "not an IVF file: it does not begin with DKIF";
    case IvfError::Kind::kBadVersion:
      return "an IVF version other than 0";
    case IvfError::Kind::kBadHeader:
      return "an IVF header with an impossible length or timebase";
    case IvfError::Kind::kTruncated:
      return "the file ends inside " + (error.offset < kIvfHeaderSize ? "its header" : frame) + at +
             "; was it copied whole?";
    case IvfError::Kind::kEmptyFrame:
      return frame + at + " is empty";
    case IvfError::Kind::kFrameTooLong:
      return frame + at + " claims more than " + std::to_string(kEncodedFrameMax.bytes()) +
             " bytes";
    case IvfError::Kind::kUnreadable:
      return "cannot be read" + at;
  }
  return "an unknown error";
}

size_t IvfReader::read(std::span<std::byte> bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): iostreams read char
  stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const auto got = static_cast<size_t>(stream_.gcount());
  offset_ += got;
  return got;
}

IvfError IvfReader::cut() const {
  return error(stream_.bad() ? IvfError::Kind::kUnreadable : IvfError::Kind::kTruncated);
}

Result<IvfHeader, IvfError> IvfReader::read_header() {
  check(!has_header_ && offset_ == 0, "IvfReader: header read twice");
  std::array<std::byte, kIvfHeaderSize> bytes{};
  const std::span<const std::byte> all{bytes};
  const size_t got = read(bytes);
  for (size_t i = 0; i < std::min(got, kMagic.size()); ++i) {
    if (std::to_integer<char>(bytes[i]) != kMagic[i]) {
      return IvfError{.kind = IvfError::Kind::kNotIvf};
    }
  }
  if (got < kMagic.size() && !stream_.bad()) {
    return IvfError{.kind = IvfError::Kind::kNotIvf};
  }
  if (got < bytes.size()) {
    return cut();
  }
  if (little_endian(all.subspan(4, 2)) != 0) {
    return IvfError{.kind = IvfError::Kind::kBadVersion};
  }
  IvfHeader header;
  std::ranges::transform(all.subspan(8, 4), header.codec.begin(),
                         [](std::byte b) { return std::to_integer<char>(b); });
  header.width = narrow<int>(little_endian(all.subspan(12, 2)));
  header.height = narrow<int>(little_endian(all.subspan(14, 2)));
  header.timebase_denominator = static_cast<uint32_t>(little_endian(all.subspan(16, 4)));
  header.timebase_numerator = static_cast<uint32_t>(little_endian(all.subspan(20, 4)));
  header.frame_count = static_cast<uint32_t>(little_endian(all.subspan(24, 4)));
  const size_t length = little_endian(all.subspan(6, 2));
  if (length < kIvfHeaderSize || length > kHeaderMax || header.timebase_numerator == 0 ||
      header.timebase_denominator == 0) {
    return IvfError{.kind = IvfError::Kind::kBadHeader};
  }
  std::vector<std::byte> rest(length - kIvfHeaderSize);
  if (read(rest) < rest.size()) {
    return cut();
  }
  has_header_ = true;
  return header;
}

Result<std::optional<IvfFrame>, IvfError> IvfReader::read_frame() {
  check(has_header_, "IvfReader: frame before header");
  std::array<std::byte, kIvfFrameHeaderSize> bytes{};
  const std::span<const std::byte> all{bytes};
  const size_t got = read(bytes);
  if (got == 0 && !stream_.bad()) {
    return std::optional<IvfFrame>{};
  }
  if (got < bytes.size()) {
    return cut();
  }
  const uint64_t size = little_endian(all.first(4));
  if (size == 0) {
    return error(IvfError::Kind::kEmptyFrame);
  }
  if (size > static_cast<uint64_t>(kEncodedFrameMax.bytes())) {
    return error(IvfError::Kind::kFrameTooLong);
  }
  IvfFrame frame;
  frame.time = little_endian(all.subspan(4, 8));
  frame.data.resize(size);
  if (read(frame.data) < size) {
    return cut();
  }
  ++frame_;
  return std::optional{std::move(frame)};
}

IvfWriter::IvfWriter(const std::filesystem::path& path, const IvfHeader& header)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc), header_(header) {
  check(header.timebase_numerator > 0 && header.timebase_denominator > 0,
        "IvfWriter: timebase with a zero");
  if (!file_) {
    fail(path_, "cannot be opened for writing");
  }
  header_.frame_count = 0;
  write_bytes(file_, header_bytes(header_));
}

void IvfWriter::write(uint64_t time, std::span<const std::byte> data) {
  check(!data.empty() && DataSize{static_cast<int64_t>(data.size())} <= kEncodedFrameMax,
        "IvfWriter: empty or oversized frame");
  std::array<std::byte, kIvfFrameHeaderSize> bytes{};
  const std::span<std::byte> all{bytes};
  put(all.first(4), data.size());
  put(all.subspan(4, 8), time);
  write_bytes(file_, bytes);
  write_bytes(file_, data);
  ++header_.frame_count;
  if (!file_) {
    fail(path_, "cannot be written; is the disk full?");
  }
}

void IvfWriter::finish() {
  file_.seekp(0);
  write_bytes(file_, header_bytes(header_));
  file_.close();
  if (!file_) {
    fail(path_, "cannot be written whole; is the disk full?");
  }
}

}  // namespace cress::media
