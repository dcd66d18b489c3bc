#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace musasim {

// Names a piece of memory of some process, in the size of the driver's own handle. Pieces are never named twice.
struct IpcHandle {
  char magic[8];
  int64_t process;
  int64_t descriptor;
  uint64_t offset;
  uint64_t size;
  uint64_t inode; // descriptors are used again; the file tells them apart
  char unused[16];
};
static_assert(sizeof(IpcHandle) == 64, "as large as cudaIpcMemHandle_t");

// The handle of a piece of an open file.
std::string name_memory(int descriptor, uint64_t offset, size_t bytes);

// Memory that other processes can map: pieces of a file that has no name and no size limit. Where the host has no such
// files, the pieces are private memory, and have no handle.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : name_(name) {}
  void* map(size_t bytes, uint64_t& offset); // nullptr when there is no memory
  void unmap(void* address, size_t bytes, uint64_t offset);
  std::string handle(uint64_t offset, size_t bytes);

 private:
  void open();

  const char* name_;
  int descriptor_ = kUnopened;
  uint64_t end_ = 0; // offsets are not used again, so a handle never means other memory than it was made for
  static constexpr int kUnopened = -2;
};

// The memory that a handle names, mapped into this process for as long as somebody holds it.
struct OpenedMemory {
  char* address;
  size_t size;
  OpenedMemory(char* address_, size_t size_) : address(address_), size(size_) {}
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;
};
std::shared_ptr<OpenedMemory> open_handle(const std::string& handle);

} // namespace musasim
