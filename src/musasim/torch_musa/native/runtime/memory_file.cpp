#include "memory_file.h"

#include "device.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>

namespace musasim {
namespace {

constexpr char kMagic[8] = {'m', 'u', 's', 'a', 's', 'i', 'm', '1'};
constexpr int kReadWrite = PROT_READ | PROT_WRITE;

int map_file(const IpcHandle& handle) {
  const auto path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (file >= 0 && (fstat(file, &status) != 0 || status.st_ino != handle.inode)) {
    close(file);
    return -1;
  }
  return file;
}

} // namespace

void MemoryFile::open() {
#ifdef MFD_CLOEXEC
  descriptor_ = memfd_create(name_, MFD_CLOEXEC);
#else
  descriptor_ = -1;
#endif
}

void* MemoryFile::map(size_t bytes, uint64_t& offset) {
  if (descriptor_ == kUnopened) {
    open();
  }
  offset = end_;
  const bool shared = descriptor_ >= 0 && ftruncate(descriptor_, static_cast<off_t>(end_ + bytes)) == 0;
  // The host commits pages on first use, so a nominal 16 GiB device costs nothing until it is used.
  void* memory = shared
      ? mmap(nullptr, bytes, kReadWrite, MAP_SHARED | MAP_NORESERVE, descriptor_, static_cast<off_t>(offset))
      : mmap(nullptr, bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return nullptr;
  }
  end_ += bytes;
  return memory;
}

void MemoryFile::unmap(void* address, size_t bytes, uint64_t offset) {
#ifdef FALLOC_FL_PUNCH_HOLE
  if (descriptor_ >= 0 && !in_bad_fork()) {
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }
#endif
  munmap(address, bytes);
}

std::string MemoryFile::handle(uint64_t offset, size_t bytes) {
  TORCH_CHECK(descriptor_ >= 0, "musasim: this host does not support shared memory files (memfd_create)");
  return name_memory(descriptor_, offset, bytes);
}

std::string name_memory(int descriptor, uint64_t offset, size_t bytes) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) {
    raise_musa_error("invalid argument");
  }
  IpcHandle made{};
  std::memcpy(made.magic, kMagic, sizeof(kMagic));
  made.process = getpid();
  made.descriptor = descriptor;
  made.offset = offset;
  made.size = bytes;
  made.inode = status.st_ino;
  return std::string(reinterpret_cast<const char*>(&made), sizeof(made));
}

OpenedMemory::~OpenedMemory() {
  munmap(address, size);
}

std::shared_ptr<OpenedMemory> open_handle(const std::string& text) {
  // Each handle is opened once per process, as by a driver.
  static std::mutex mutex;
  static auto* opened = new std::map<std::string, std::weak_ptr<OpenedMemory>>();
  IpcHandle handle{};
  if (text.size() != sizeof(handle)) {
    raise_musa_error("invalid argument");
  }
  std::memcpy(&handle, text.data(), sizeof(handle));
  if (std::memcmp(handle.magic, kMagic, sizeof(kMagic)) != 0) {
    raise_musa_error("invalid argument");
  }
  const std::lock_guard<std::mutex> lock(mutex);
  if (auto known = (*opened)[text].lock()) {
    return known;
  }
  opened->erase(text);
  const int file = map_file(handle);
  if (file < 0) {
    raise_musa_error("invalid resource handle"); // the process that made it has ended
  }
  void* memory = mmap(nullptr, handle.size, kReadWrite, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(handle.offset));
  close(file);
  if (memory == MAP_FAILED) {
    raise_musa_error("invalid resource handle");
  }
  auto made = std::make_shared<OpenedMemory>(static_cast<char*>(memory), handle.size);
  (*opened)[text] = made;
  return made;
}

} // namespace musasim
