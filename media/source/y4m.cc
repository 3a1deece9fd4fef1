#include "media/source/y4m.hh"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>

#include "transport/base/check.hh"
#include "transport/base/text.hh"

namespace cress::media {
namespace {

using Kind = Y4mError::Kind;

constexpr std::string_view kMagic = "YUV4MPEG2";
constexpr std::string_view kFrameMagic = "FRAME";
constexpr std::array<std::string_view, 4> kColours{"420", "420jpeg", "420mpeg2", "420paldv"};

// "30000:1001"; 0:0 means unknown, for which the format's tools take 25.
std::optional<FrameRate> to_frame_rate(std::string_view text) {
  constexpr int64_t kTermMax = 1'000'000'000;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<int64_t> numerator = parse_number<int64_t>(text.substr(0, colon));
  const std::optional<int64_t> denominator = parse_number<int64_t>(text.substr(colon + 1));
  if (!numerator || !denominator) {
    return std::nullopt;
  }
  if (*numerator == 0 && *denominator == 0) {
    return FrameRate{25, 1};
  }
  if (*numerator <= 0 || *denominator <= 0 || *numerator > kTermMax || *denominator > kTermMax) {
    return std::nullopt;
  }
  return FrameRate{*numerator, *denominator};
}

std::optional<Kind> apply_tag(char name, std::string_view value, Y4mHeader& header) {
  switch (name) {
    case 'W':
    case 'H': {
      const std::optional<int64_t> side = parse_number<int64_t>(value);
      if (!side) {
        return Kind::kBadHeader;
      }
      if (*side < 1 || *side > kPictureSideMax) {
        return Kind::kSizeOutOfRange;
      }
      (name == 'W' ? header.width : header.height) = static_cast<int>(*side);
      return std::nullopt;
    }
    case 'F': {
      const std::optional<FrameRate> rate = to_frame_rate(value);
      if (!rate) {
        return Kind::kBadHeader;
      }
      header.frame_rate = *rate;
      return std::nullopt;
    }
    case 'I':
      return value == "p" || value == "?" ? std::nullopt : std::optional{Kind::kInterlaced};
    case 'C':
      return std::ranges::find(kColours, value) != kColours.end()
                 ? std::nullopt
                 : std::optional{Kind::kUnsupportedColour};
    default:  // the pixels' aspect, comments, and what others may add
      return std::nullopt;
  }
}

std::string what_is_wrong(Kind kind) {
  switch (kind) {
    case Kind::kNotY4m:
      return "not a YUV4MPEG2 file";
    case Kind::kBadHeader:
      return "a header tag is malformed; write the file anew, for example with ffmpeg";
    case Kind::kMissingSize:
      return "the header gives no width or no height";
    case Kind::kSizeOutOfRange:
      return "the picture's sides must be 1.." + std::to_string(kPictureSideMax);
    case Kind::kUnsupportedColour:
      return "only 8 bit 4:2:0 is read; convert it, for example with ffmpeg -pix_fmt yuv420p";
    case Kind::kInterlaced:
      return "interlaced video is not read; deinterlace it first";
    case Kind::kBadFrameLine:
      return "something else stands where a picture should begin; the file is damaged";
    case Kind::kTruncated:
      return "the file ends inside this picture; copy it again or cut it before this picture";
    case Kind::kTooManyFrames:
      return "more pictures than the " + std::to_string(kY4mFramesMax) + " allowed; cut the file";
    case Kind::kUnreadable:
      return "the file cannot be read any further";
  }
  return "unknown error";
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw std::runtime_error(path.string() + ": " + what);
}

}  // namespace

DataSize Y4mHeader::frame_size() const {
  const int64_t chroma = static_cast<int64_t>((width + 1) / 2) * ((height + 1) / 2);
  return DataSize{static_cast<int64_t>(width) * height + 2 * chroma};
}

std::string describe(const Y4mError& error) {
  const bool in_frame = error.kind == Kind::kBadFrameLine || error.kind == Kind::kTruncated ||
                        error.kind == Kind::kUnreadable;
  return (in_frame ? "picture " + std::to_string(error.frame) + ", " : std::string{}) + "byte " +
         std::to_string(error.offset) + ": " + what_is_wrong(error.kind);
}

Result<Y4mHeader, Y4mError> parse_y4m_header(std::string_view line) {
  if (!line.starts_with(kMagic)) {
    return Y4mError{Kind::kNotY4m, 0, 0};
  }
  Y4mHeader header{.frame_rate = {25, 1}};  // the format's tools assume 25 by default
  size_t at = kMagic.size();
  if (at < line.size() && line[at] != ' ') {
    return Y4mError{Kind::kNotY4m, at, 0};
  }
  while (at < line.size()) {
    ++at;  // the space
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view tag = line.substr(at, end - at);
    if (!tag.empty()) {
      if (const std::optional<Kind> wrong = apply_tag(tag[0], tag.substr(1), header)) {
        return Y4mError{*wrong, at, 0};
      }
    }
    at = end;
  }
  if (header.width == 0 || header.height == 0) {
    return Y4mError{Kind::kMissingSize, 0, 0};
  }
  return header;
}

// Up to the next newline, which must come within kY4mLineMax.
std::optional<std::string> Y4mReader::read_line() {
  std::string line;
  for (;;) {
    const int next = stream_.get();
    if (next == std::istream::traits_type::eof()) {
      return std::nullopt;
    }
    if (next == '\n') {
      return line;
    }
    if (line.size() == kY4mLineMax) {
      return std::nullopt;
    }
    line.push_back(static_cast<char>(next));
  }
}

Result<Y4mHeader, Y4mError> Y4mReader::read_header() {
  check(!has_header_, "Y4mReader: the header was read already");
  const std::optional<std::string> line = read_line();
  if (!line) {
    return Y4mError{Kind::kNotY4m, 0, 0};
  }
  Result<Y4mHeader, Y4mError> header = parse_y4m_header(*line);
  if (header) {
    offset_ = line->size() + 1;
    header_ = *header;
    has_header_ = true;
  }
  return header;
}

// True: a picture's planes follow. False: the file ends here, as it should.
Result<bool, Y4mError> Y4mReader::read_frame_line() {
  check(has_header_, "Y4mReader: read the header first");
  if (stream_.peek() == std::istream::traits_type::eof()) {
    return stream_.bad() ? Result<bool, Y4mError>{error(Kind::kUnreadable)} : false;
  }
  if (frame_ == kY4mFramesMax) {
    return error(Kind::kTooManyFrames);
  }
  const std::optional<std::string> read = read_line();
  if (!read.has_value()) {
    return error(stream_.eof() ? Kind::kTruncated : Kind::kBadFrameLine);
  }
  const std::string& line = read.value();
  if (line != kFrameMagic && !line.starts_with(std::string(kFrameMagic) + ' ')) {
    return error(Kind::kBadFrameLine);
  }
  // A picture may have its own interlacing tag, after which its rows are in another order.
  if (const size_t tag = line.find(" I"); tag != std::string::npos && tag + 2 < line.size() &&
                                          line[tag + 2] != 'p' && line[tag + 2] != '?') {
    return error(Kind::kInterlaced);
  }
  offset_ += line.size() + 1;
  return true;
}

Result<std::optional<Picture>, Y4mError> Y4mReader::read_picture() {
  const Result<bool, Y4mError> more = read_frame_line();
  if (!more) {
    return more.error();
  }
  if (!*more) {
    return std::optional<Picture>{};
  }
  Picture picture = make_picture(header_.width, header_.height);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): iostreams read char
  stream_.read(reinterpret_cast<char*>(picture.data.data()),
               static_cast<std::streamsize>(picture.data.size()));
  if (static_cast<size_t>(stream_.gcount()) != picture.data.size()) {
    return error(stream_.bad() ? Kind::kUnreadable : Kind::kTruncated);
  }
  offset_ += picture.data.size();
  ++frame_;
  return std::optional<Picture>{std::move(picture)};
}

Result<std::optional<uint64_t>, Y4mError> Y4mReader::skip_picture(uint64_t stream_size) {
  const Result<bool, Y4mError> more = read_frame_line();
  if (!more) {
    return more.error();
  }
  if (!*more) {
    return std::optional<uint64_t>{};
  }
  const uint64_t planes = offset_;
  const auto size = static_cast<uint64_t>(header_.frame_size().bytes());
  if (size > stream_size || planes > stream_size - size) {
    return error(Kind::kTruncated);
  }
  stream_.seekg(static_cast<std::streamoff>(planes + size));
  if (!stream_) {
    return error(Kind::kUnreadable);
  }
  offset_ = planes + size;
  ++frame_;
  return std::optional<uint64_t>{planes};
}

Y4mSource::Y4mSource(const std::filesystem::path& path, Y4mSourceOptions options) : path_(path) {
  std::error_code trouble;
  const uint64_t size = std::filesystem::file_size(path, trouble);
  if (trouble) {
    fail(path, "cannot be opened: " + trouble.message());
  }
  file_.open(path, std::ios::binary);
  if (!file_) {
    fail(path, "cannot be opened for reading");
  }
  Y4mReader reader{file_};
  const Result<Y4mHeader, Y4mError> header = reader.read_header();
  if (!header) {
    fail(path, describe(header.error()));
  }
  header_ = *header;
  for (;;) {
    const Result<std::optional<uint64_t>, Y4mError> planes = reader.skip_picture(size);
    if (!planes) {
      fail(path, describe(planes.error()));
    }
    const std::optional<uint64_t>& offset = *planes;
    if (!offset.has_value()) {
      break;
    }
    offsets_.push_back(offset.value());
  }
  if (offsets_.empty()) {
    fail(path, "holds no picture, only a header; record it again");
  }
  kept_max_ = static_cast<size_t>(
      std::max<int64_t>(1, options.memory_max.bytes() / header_.frame_size().bytes()));
}

PicturePtr Y4mSource::picture(uint64_t index) {
  const uint64_t frame = index % offsets_.size();
  if (const auto found = kept_.find(frame); found != kept_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second.place);
    return found->second.picture;
  }
  PicturePtr picture = load(frame);
  if (recent_.size() == kept_max_) {
    kept_.erase(recent_.back());
    recent_.pop_back();
  }
  recent_.push_front(frame);
  kept_.emplace(frame, Kept{picture, recent_.begin()});
  return picture;
}

PicturePtr Y4mSource::load(uint64_t frame) {
  auto picture = std::make_shared<Picture>(make_picture(header_.width, header_.height));
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(offsets_[frame]));
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): iostreams read char
  file_.read(reinterpret_cast<char*>(picture->data.data()),
             static_cast<std::streamsize>(picture->data.size()));
  if (!file_) {
    fail(path_, describe({Kind::kUnreadable, offsets_[frame], frame}) +
                    "; it has changed since it was opened");
  }
  return picture;
}

Y4mWriter::Y4mWriter(const std::filesystem::path& path, const Y4mHeader& header)
    : path_(path), file_(path, std::ios::binary | std::ios::trunc), header_(header) {
  check(header.width > 0 && header.height > 0, "Y4mWriter: empty picture");
  if (!file_) {
    fail(path, "cannot be opened for writing");
  }
  file_ << kMagic << " W" << header.width << " H" << header.height << " F"
        << header.frame_rate.numerator << ':' << header.frame_rate.denominator
        << " Ip A1:1 C420jpeg\n";
}

void Y4mWriter::write(const Picture& picture) {
  check(picture.width == header_.width && picture.height == header_.height,
        "Y4mWriter: picture of another size");
  file_ << kFrameMagic << '\n';
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): iostreams write char
  file_.write(reinterpret_cast<const char*>(picture.data.data()),
              static_cast<std::streamsize>(picture.data.size()));
  if (!file_) {
    fail(path_, "cannot be written; is the disk full?");
  }
}

void Y4mWriter::finish() {
  file_.close();
  if (!file_) {
    fail(path_, "cannot be written whole; is the disk full?");
  }
}

}  // namespace cress::media
