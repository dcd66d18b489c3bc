#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace musasim {

// Names a piece of memory of a process, in as many bytes as the driver's own handle. Names are never reused.
struct IpcHandle {
  char magic[8];
  int64_t process;
  int64_t descriptor;
  uint64_t offset;
  uint64_t size;
  uint64_t inode; // descriptors are reused, but the file tells them apart
  char unused[16];
};
static_assert(sizeof(IpcHandle) == 64, "as large as cudaIpcMemHandle_t");

// The handle of a piece of an open file.
std::string name_memory(int descriptor, uint64_t offset, size_t bytes);

// Memory that other processes can map: pieces of a file without a name or size limit. On a host without such files, the
// pieces are private memory and have no handle.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name) : name_(name) {}
  void* map(size_t bytes, uint64_t& offset); // nullptr if there is no memory
  void unmap(void* address, size_t bytes, uint64_t offset);
  std::string handle(uint64_t offset, size_t bytes);

 private:
  void open();

  const char* name_;
  int descriptor_ = kUnopened;
  uint64_t end_ = 0; // offsets are never reused, so a handle never means other memory than it was made for
  static constexpr int kUnopened = -2;
};

// The memory that a handle names, mapped into this process as long as this object is referenced.
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
