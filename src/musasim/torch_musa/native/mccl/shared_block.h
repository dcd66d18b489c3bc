#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace musasim::mccl {

// Memory of a device that this process has mapped: its own, or that of another rank. Signals lie behind what the program asked for.
class SharedBlock {
 public:
  static std::shared_ptr<SharedBlock> make(int device, size_t bytes);
  // Another rank's, by the descriptor that its process has open.
  static std::shared_ptr<SharedBlock> open(int64_t process, int descriptor, size_t bytes, int device);
  ~SharedBlock();

  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  char* address() const {
    return address_;
  }
  size_t bytes() const {
    return bytes_;
  }
  size_t mapped() const {
    return mapped_;
  }
  uint32_t* signals() const;
  // A descriptor of it for other processes, which the caller closes.
  int descriptor() const;

 private:
  SharedBlock(unsigned long long handle, size_t bytes, int device);

  const unsigned long long handle_;
  const size_t bytes_;
  const size_t mapped_;
  char* address_ = nullptr;
};

} // namespace musasim::mccl
