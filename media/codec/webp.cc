#include "media/codec/webp.hh"

#include <cstdint>
#include <string_view>

#include "media/codec/vp8_encoder.hh"

namespace cress::media {
namespace {

void put_name(std::vector<std::byte>& bytes, std::string_view name) {
  for (const char c : name) {
    bytes.push_back(static_cast<std::byte>(c));
  }
}

void put_little_endian(std::vector<std::byte>& bytes, size_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    bytes.push_back(static_cast<std::byte>(value >> shift));
  }
}

}  // namespace

std::vector<std::byte> webp_file(const Picture& picture, int quantizer) {
  Vp8Encoder encoder{{.width = picture.width, .height = picture.height}};
  const CodedPicture coded = encoder.encode(picture, {.quantizer = quantizer, .key_frame = true});
  const size_t size = coded.data.size();
  const size_t padding = size % 2;  // chunks are of even length, which their size does not say
  std::vector<std::byte> file;
  put_name(file, "RIFF");
  put_little_endian(file, 4 + 8 + size + padding);
  put_name(file, "WEBPVP8 ");
  put_little_endian(file, size);
  file.insert(file.end(), coded.data.begin(), coded.data.end());
  file.resize(file.size() + padding);
  return file;
}

}  // namespace cress::media
