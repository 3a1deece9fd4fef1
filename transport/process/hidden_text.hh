#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cress::runtime {

/// Fills with bytes from the system (getrandom), to be XORed with a secret. Throws
/// std::runtime_error where the system has none.
void fill_pad(std::span<std::byte> pad);
/// bytes[i] ^= pad[i % pad.size()]: masks, and with the same pad unmasks. `pad`: not empty.
void apply_pad(std::span<std::byte> bytes, std::span<const std::byte> pad);
/// Overwrites what `text` has in memory, its spare capacity included, and empties it.
void wipe_text(std::string& text);

/// A text in clear, for as long as it is needed; its memory is overwritten at the end. It cannot be
/// copied, so that it stays the only one.
class ClearText {
 public:
  explicit ClearText(std::string text) : text_(std::move(text)) {}
  ~ClearText() { wipe_text(text_); }
  ClearText(const ClearText&) = delete;
  ClearText& operator=(const ClearText&) = delete;

  std::string_view view() const { return text_; }
  const char* c_str() const { return text_.c_str(); }

 private:
  std::string text_;
};

/// A text that is held for long and must not be found by a search of the program's memory or core
/// file: a link. It is kept XORed with random bytes of the same length, which are held elsewhere.
/// That is no encryption: a reader of the memory that knows this class finds both parts. Copies
/// share one immutable value, which is overwritten with the last of them. Threads: as std::string.
class HiddenText {
 public:
  HiddenText() = default;
  /// Throws as fill_pad. The caller overwrites its own text.
  HiddenText(std::string_view text);  // NOLINT: a link in clear becomes a hidden one wherever
  HiddenText(const std::string& text) : HiddenText(std::string_view{text}) {}  // NOLINT
  HiddenText(const char* text) : HiddenText(std::string_view{text}) {}         // NOLINT

  bool empty() const { return size() == 0; }
  size_t size() const;
  void clear() { parts_.reset(); }
  /// The text in clear. To be dropped at once after use.
  ClearText reveal() const;
  /// Without a copy in clear.
  friend bool operator==(const HiddenText& a, const HiddenText& b);

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace cress::runtime
