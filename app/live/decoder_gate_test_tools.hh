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

/// Every frame of this program passes here on its way into libvpx's decoder: by which threads that
/// was is kept, and a test may hold all frames back. Threads: any.
class DecoderGate {
 public:
  static DecoderGate& of_this_program() {
    static DecoderGate gate;
    return gate;
  }

  /// Those in which a frame was decoded since the last call.
  std::set<std::thread::id> take_threads() {
    const std::scoped_lock lock{mutex_};
    return std::exchange(threads_, {});
  }
  /// Until open() a decoder that gets a frame stands still.
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

/// In the place of libvpx's function, which it calls.
extern "C" inline __attribute__((used, visibility("default"))) int vpx_codec_decode(
    void* context, const uint8_t* bytes, unsigned size, void* user, long deadline) {
  using Decode = int (*)(void*, const uint8_t*, unsigned, void*, long);
  static const auto kDecode = reinterpret_cast<Decode>(dlsym(RTLD_NEXT, "vpx_codec_decode"));
  cress::live::DecoderGate::of_this_program().pass();
  return kDecode(context, bytes, size, user, deadline);
}
