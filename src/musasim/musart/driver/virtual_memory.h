// Memory of a device that a program maps itself, to addresses that it has reserved: what the driver's muMemCreate, muMemMap and
// others do. An allocation is a file, so that it can be at several addresses and in several processes.
#pragma once

#include "memory.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace musart {

constexpr size_t kGranularity = size_t{2} << 20;

struct Physical {
  int device;
  size_t size;
  int file;
  bool is_exportable;
  bool is_imported; // another process has it counted

  ~Physical();
};

using MemoryRef = std::shared_ptr<Physical>;

struct Mapping {
  size_t size;
  MemoryRef memory;
  Reservation* in;
  std::map<int, int> access; // by the device that has it

  int strongest() const;
};

struct MemoryHandle {
  MemoryRef memory;
  int count;
};

struct Space {
  std::mutex mutex;
  std::map<char*, Reservation*> reservations;
  std::map<unsigned long long, MemoryHandle> handles;
  std::map<char*, Mapping> mappings;
  unsigned long long last = 0;

  unsigned long long keep(MemoryRef memory); // under a new handle
  std::map<char*, Mapping>::iterator mapping_of(const void* address); // the one that the address lies in
  Reservation* reservation_of(const char* address, size_t size);
  bool is_free(const char* address, size_t size);
  bool covers(char* address, size_t size); // whether whole mappings cover the range
};

Space& space();

bool is_whole(const void* address, size_t size);
MemoryRef make_memory(int device, size_t size, bool is_exportable); // nullptr when the device is full
MemoryRef import_memory(int file); // nullptr if the file is no memory of a device
void permit(char* address, Mapping& mapping, int device, int access);

} // namespace musart
