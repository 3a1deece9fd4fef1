#pragma once

#include <sys/mman.h>

#include <new>
#include <stdexcept>

namespace cress::relay_load {

/// A T shared by this process and those it forks from now on. The last of them may destroy it.
/// Throws std::runtime_error if there is no memory.
template <class T>
class SharedMemory {
 public:
  SharedMemory() {
    void* const memory =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("no memory to share with another process");
    }
    value_ = new (memory) T;
  }
  ~SharedMemory() { munmap(value_, sizeof(T)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

}  // namespace cress::relay_load
