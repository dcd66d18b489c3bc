// MUSASIM_PROTECT=1: the host can touch memory of a device only while the device works, so that a program which reads an address of the
// device on the host ends as it does on a GPU.
#pragma once

#include <cstddef>
#include <optional>

#pragma GCC visibility push(default)
namespace musart {

extern const bool protects_memory;

// Work of a device, from construction to destruction. Memory is open to every thread while any thread works.
class DeviceWork {
 public:
  DeviceWork() {
    if (__builtin_expect(protects_memory, 0)) {
      begin();
    }
  }
  ~DeviceWork() {
    if (__builtin_expect(protects_memory, 0)) {
      end();
    }
  }
  DeviceWork(const DeviceWork&) = delete;
  DeviceWork& operator=(const DeviceWork&) = delete;

  static void begin();
  static void end();
};

// What a framework has made of the driver's memory, for the report of a fault. Called by a signal handler: it waits for nothing.
struct TensorMemory {
  const char* base;
  size_t bytes;
};
extern std::optional<TensorMemory> (*tensor_memory_at)(const void* address);

} // namespace musart
#pragma GCC visibility pop

namespace musart {

// The memory of the devices, by whoever keeps it (memory.cpp).
struct MemoryPlace {
  const char* base;
  size_t bytes;
  int device;
  bool of_framework;
};
struct MemoryTable {
  void (*permit_host)(int access); // PROT_NONE, or PROT_READ | PROT_WRITE
  std::optional<MemoryPlace> (*find)(const char* address); // waits for nothing, and may find nothing for that
};
extern MemoryTable memory_table;

} // namespace musart
