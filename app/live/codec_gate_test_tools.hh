#pragma once

#include <dlfcn.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace cress::live {

// For tests only.

/// Every picture of this program passes one of these on its way into libvpx's encoder, every frame
/// the other on its way into libvpx's decoder: by which threads that was is kept, and a test may
/// hold them all back. Threads: any.
class CodecGate {
 public:
  static CodecGate& of_encoders() {
    static CodecGate gate;
    return gate;
  }
  static CodecGate& of_decoders() {
    static CodecGate gate;
    return gate;
  }

  /// Those that have passed since the last call.
  std::set<std::thread::id> take_threads() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(threads_, {});
  }
  /// Until open() a codec that gets a picture or a frame stands still.
  void close() { set_open(false); }
  void open() { set_open(true); }
  int held() const {
    const std::scoped_lock lock{mutex_};
    return held_;
  }

  void pass() {
    std::unique_lock lock{mutex_};
    threads_.insert(std::this_thread::get_id());
    ++held_;
    opened_.wait(lock, [this] { return is_open_; });
    --held_;
  }

 private:
  void set_open(bool is_open) {
    {
      const std::scoped_lock lock{mutex_};
      is_open_ = is_open;
    }
    opened_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable opened_;
  std::set<std::thread::id> threads_;
  bool is_open_ = true;
  int held_ = 0;
};

}  // namespace cress::live

/// In the place of libvpx's functions, which they call.
extern "C" inline __attribute__((used, visibility("default"))) int vpx_codec_decode(
    void* context, const uint8_t* bytes, unsigned size, void* user, long deadline) {
  using Decode = int (*)(void*, const uint8_t*, unsigned, void*, long);
  static const auto kDecode = reinterpret_cast<Decode>(dlsym(RTLD_NEXT, "vpx_codec_decode"));
  cress::live::CodecGate::of_decoders().pass();
  return kDecode(context, bytes, size, user, deadline);
}
extern "C" inline __attribute__((used, visibility("default"))) int vpx_codec_encode(
    void* context, const void* image, int64_t at, unsigned long duration, long flags,
    unsigned long deadline) {
  using Encode = int (*)(void*, const void*, int64_t, unsigned long, long, unsigned long);
  static const auto kEncode = reinterpret_cast<Encode>(dlsym(RTLD_NEXT, "vpx_codec_encode"));
  cress::live::CodecGate::of_encoders().pass();
  return kEncode(context, image, at, duration, flags, deadline);
}
