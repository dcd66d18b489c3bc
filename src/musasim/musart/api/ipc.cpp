// Device memory for another process of the same user. The pages of an exported allocation are a file, which the other process
// opens through /proc. The exporter has to be alive, and must not write while it exports, as with CUDA.
#include "../driver/device.h"
#include "../driver/memory.h"
#include "gate.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace musart {
namespace {

constexpr uint32_t kMagic = 0x4d555341;

struct Handle {
  uint32_t magic;
  int32_t process;
  int32_t file;
  int32_t device;
  uint64_t inode; // descriptors are reused, but the file tells them apart
  uint64_t size;
};
static_assert(sizeof(Handle) <= MUSA_IPC_HANDLE_SIZE);

struct Opened {
  char* base;
  int count; // opening a handle again gives the same address
};

std::mutex g_opened_mutex;

std::map<std::pair<int32_t, uint64_t>, Opened>& opened() {
  static auto* all = new std::map<std::pair<int32_t, uint64_t>, Opened>();
  return *all;
}

int open_file(const Handle& handle) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", handle.process, handle.file);
  const int file = open(path, O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (file >= 0 && (fstat(file, &status) != 0 || status.st_ino != handle.inode)) {
    close(file);
    return -1;
  }
  return file;
}

musaError_t map_file(const Handle& handle, char** base) {
  const int file = open_file(handle);
  if (file < 0) {
    return musaErrorInvalidResourceHandle;
  }
  void* mapped = mmap(nullptr, handle.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (mapped == MAP_FAILED) {
    return musaErrorMapBufferObjectFailed;
  }
  *base = static_cast<char*>(mapped);
  add_import({*base, handle.size, is_device(handle.device) ? handle.device : 0, Owner::Imported, -1});
  return musaSuccess;
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musaIpcGetMemHandle(musaIpcMemHandle_t* handle, void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  const auto found = find_allocation(pointer);
  if (handle == nullptr || !found) {
    return remember(musaErrorInvalidValue);
  }
  const int file = share(*found);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) {
    return remember(musaErrorInvalidValue);
  }
  const Handle made{kMagic, getpid(), file, found->device, status.st_ino, found->size};
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &made, sizeof(made));
  return musaSuccess;
}

musaError_t musaIpcOpenMemHandle(void** pointer, musaIpcMemHandle_t handle, unsigned int flags) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  if (pointer == nullptr || flags != musaIpcMemLazyEnablePeerAccess) {
    return remember(musaErrorInvalidValue);
  }
  Handle given{};
  std::memcpy(&given, &handle, sizeof(given));
  if (given.magic != kMagic) {
    return remember(musaErrorInvalidResourceHandle);
  }
  if (given.process == getpid()) {
    return remember(musaErrorDeviceUninitialized); // CUDA also refuses a handle in the process that made it
  }
  const std::lock_guard<std::mutex> lock(g_opened_mutex);
  auto [at, is_new] = opened().try_emplace({given.process, given.inode}, Opened{nullptr, 0});
  if (is_new) {
    if (const auto error = map_file(given, &at->second.base)) {
      opened().erase(at);
      return remember(error);
    }
  }
  ++at->second.count;
  *pointer = at->second.base;
  return musaSuccess;
}

musaError_t musaIpcCloseMemHandle(void* pointer) {
  if (const auto error = enter_unsafe()) {
    return remember(error);
  }
  const std::lock_guard<std::mutex> lock(g_opened_mutex);
  auto& all = opened();
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it->second.base != pointer) {
      continue;
    }
    size_t size = 0;
    if (--it->second.count == 0 && remove_import(it->second.base, &size)) {
      munmap(it->second.base, size);
      all.erase(it);
    }
    return musaSuccess;
  }
  return remember(musaErrorInvalidValue);
}

// Clocks of streams belong to one process.
musaError_t musaIpcGetEventHandle(musaIpcEventHandle_t*, musaEvent_t) {
  return remember(musaErrorNotSupported);
}

musaError_t musaIpcOpenEventHandle(musaEvent_t*, musaIpcEventHandle_t) {
  return remember(musaErrorNotSupported);
}
