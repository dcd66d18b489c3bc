#pragma once

#include <c10/musa/MUSAMacros.h>
#include "torch_musa/csrc/core/MUSAStream.h"

#include <c10/core/Allocator.h>

#include <cstddef>

namespace c10::musa::MUSACachingAllocator {

// PyTorch's allocator for the current device's memory, and the functions besides `allocate` that extensions use.
class MUSAAllocator : public c10::Allocator {
 public:
  virtual void* raw_alloc(size_t bytes) = 0;
  virtual void* raw_alloc_with_stream(size_t bytes, musaStream_t stream) = 0;
  virtual void raw_delete(void* address) = 0;
  virtual bool initialized() = 0;
  virtual void emptyCache() = 0;
  virtual void recordStream(const DataPtr& memory, MUSAStream stream) = 0;
  virtual void setMemoryFraction(double fraction, DeviceIndex device) = 0;
};

C10_MUSA_API MUSAAllocator* get();

inline void* raw_alloc(size_t bytes) {
  return get()->raw_alloc(bytes);
}
inline void* raw_alloc_with_stream(size_t bytes, musaStream_t stream) {
  return get()->raw_alloc_with_stream(bytes, stream);
}
inline void raw_delete(void* address) {
  get()->raw_delete(address);
}
inline void emptyCache() {
  get()->emptyCache();
}
inline void recordStream(const DataPtr& memory, MUSAStream stream) {
  get()->recordStream(memory, stream);
}
inline void setMemoryFraction(double fraction, DeviceIndex device) {
  get()->setMemoryFraction(fraction, device);
}

} // namespace c10::musa::MUSACachingAllocator
