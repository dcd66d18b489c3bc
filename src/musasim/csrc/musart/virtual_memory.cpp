// Memory of a device that a program maps itself, to addresses that it has reserved: what the driver's muMemCreate, muMemMap and
// others do. An allocation is a file, so that it can be at several addresses and in several processes.
#include "api.h"
#include "pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace musart {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;
constexpr int kReadable = 1;
constexpr const char* kName = "musart-memory-";

struct Physical {
  int device;
  size_t size;
  int file;
  bool is_exportable;
  bool is_imported; // another process has it counted

  ~Physical() {
    close(file);
    if (!is_imported) {
      give_memory_back(device, size);
    }
  }
};

using MemoryRef = std::shared_ptr<Physical>;

struct Mapping {
  size_t size;
  MemoryRef memory;
  Reservation* in;
  std::map<int, int> access; // by the device that has it

  int strongest() const {
    int found = 0;
    for (const auto& [device, each] : access) {
      found |= each;
    }
    return found;
  }
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

  unsigned long long keep(MemoryRef memory) {
    handles[++last] = MemoryHandle{std::move(memory), 1};
    return last;
  }
  // The mapping that the address lies in.
  std::map<char*, Mapping>::iterator mapping_of(const void* address) {
    auto* place = static_cast<char*>(const_cast<void*>(address));
    auto found = mappings.upper_bound(place);
    if (found == mappings.begin()) {
      return mappings.end();
    }
    --found;
    return place < found->first + found->second.size ? found : mappings.end();
  }
  Reservation* reservation_of(const char* address, size_t size) {
    const auto after = reservations.upper_bound(const_cast<char*>(address));
    auto* found = after == reservations.begin() ? nullptr : std::prev(after)->second;
    return found != nullptr && address + size <= found->base + found->size ? found : nullptr;
  }
  bool is_free(const char* address, size_t size) {
    const auto next = mappings.lower_bound(const_cast<char*>(address));
    return mapping_of(address) == mappings.end() && (next == mappings.end() || next->first >= address + size);
  }
  // Whether whole mappings cover the range.
  bool covers(char* address, size_t size) {
    char* const end = address + size;
    while (address < end) {
      const auto found = mappings.find(address);
      if (found == mappings.end()) {
        return false;
      }
      address += found->second.size;
    }
    return address == end;
  }
};

Space& space() {
  static auto* all = new Space();
  return *all;
}

bool is_whole(const void* address, size_t size) {
  return size != 0 && size % kGranularity == 0 && reinterpret_cast<uintptr_t>(address) % kGranularity == 0;
}

// Other processes tell by the name that the file is memory of a device, and of which.
int make_file(int device, size_t size) {
  const int file = memfd_create((kName + std::to_string(device)).c_str(), MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(size)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

int device_of_file(int file) {
  char link[64], target[128] = {};
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const std::string start = std::string("/memfd:") + kName;
  const auto length = readlink(link, target, sizeof(target) - 1);
  const bool is_memory = length > 0 && std::string(target).rfind(start, 0) == 0;
  return is_memory ? std::atoi(target + start.size()) : -1;
}

void protect(char* address, Mapping& mapping, int before) {
  const int access = mapping.strongest();
  const int protection = access == 0 ? PROT_NONE : access == kReadable ? PROT_READ : PROT_READ | PROT_WRITE;
  mprotect(address, mapping.size, protection);
  if (before == 0 && access != 0) {
    add_piece(*mapping.in, address, mapping.size, mapping.memory->device);
  } else if (before != 0 && access == 0) {
    remove_piece(address, mapping.size);
  }
}

// Runs `action` with the lock, after the checks of every call.
template <typename Action>
musaError_t with_space(Action action) {
  if (const auto error = enter()) {
    return remember(error);
  }
  auto& all = space();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return remember(action(all));
}

} // namespace
} // namespace musart

using namespace musart;

musaError_t musasim_reserve(void** base, size_t size, size_t alignment) {
  return with_space([&](Space& all) {
    const bool is_power = (alignment & (alignment - 1)) == 0;
    if (base == nullptr || size == 0 || size % kGranularity != 0 || !is_power) {
      return musaErrorInvalidValue;
    }
    auto* made = reserve(-1, size, std::max(alignment, kGranularity));
    if (made == nullptr) {
      return musaErrorMemoryAllocation;
    }
    all.reservations[made->base] = made;
    *base = made->base;
    return musaSuccess;
  });
}

musaError_t musasim_cancel_reservation(void* base, size_t size) {
  return with_space([&](Space& all) {
    const auto found = all.reservations.find(static_cast<char*>(base));
    if (found == all.reservations.end() || found->second->size != size || !all.is_free(found->first, size)) {
      return musaErrorInvalidValue;
    }
    cancel(found->second);
    all.reservations.erase(found);
    return musaSuccess;
  });
}

musaError_t musasim_memory_create(unsigned long long* handle, size_t size, int device, int is_exportable) {
  return with_space([&](Space& all) {
    if (handle == nullptr || size == 0 || size % kGranularity != 0) {
      return musaErrorInvalidValue;
    }
    if (!is_device(device)) {
      return musaErrorInvalidDevice;
    }
    if (!take_memory(device, size)) {
      return musaErrorMemoryAllocation;
    }
    const int file = make_file(device, size);
    if (file < 0) {
      give_memory_back(device, size);
      return musaErrorMemoryAllocation;
    }
    *handle = all.keep(MemoryRef(new Physical{device, size, file, is_exportable != 0, false}));
    return musaSuccess;
  });
}

musaError_t musasim_memory_release(unsigned long long handle) {
  return with_space([&](Space& all) {
    const auto found = all.handles.find(handle);
    if (found == all.handles.end()) {
      return musaErrorInvalidValue;
    }
    if (--found->second.count == 0) {
      all.handles.erase(found); // mappings go on having the memory
    }
    return musaSuccess;
  });
}

musaError_t musasim_memory_retain(unsigned long long* handle, const void* address) {
  return with_space([&](Space& all) {
    const auto mapping = all.mapping_of(address);
    if (handle == nullptr || mapping == all.mappings.end()) {
      return musaErrorInvalidValue;
    }
    for (auto& [known, each] : all.handles) {
      if (each.memory == mapping->second.memory) {
        ++each.count;
        *handle = known;
        return musaSuccess;
      }
    }
    *handle = all.keep(mapping->second.memory);
    return musaSuccess;
  });
}

musaError_t musasim_memory_describe(unsigned long long handle, int* device, int* is_exportable) {
  return with_space([&](Space& all) {
    const auto found = all.handles.find(handle);
    if (found == all.handles.end()) {
      return musaErrorInvalidValue;
    }
    *device = found->second.memory->device;
    *is_exportable = found->second.memory->is_exportable ? 1 : 0;
    return musaSuccess;
  });
}

musaError_t musasim_memory_export(unsigned long long handle, int* file) {
  return with_space([&](Space& all) {
    const auto found = all.handles.find(handle);
    if (file == nullptr || found == all.handles.end() || !found->second.memory->is_exportable) {
      return musaErrorInvalidValue;
    }
    *file = fcntl(found->second.memory->file, F_DUPFD_CLOEXEC, 0);
    return *file >= 0 ? musaSuccess : musaErrorUnknown;
  });
}

musaError_t musasim_memory_import(unsigned long long* handle, int file) {
  return with_space([&](Space& all) {
    struct stat status {};
    const int device = device_of_file(file);
    if (handle == nullptr || !is_device(device) || fstat(file, &status) != 0) {
      return musaErrorInvalidValue;
    }
    const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
    *handle = all.keep(MemoryRef(new Physical{device, static_cast<size_t>(status.st_size), own, true, true}));
    return musaSuccess;
  });
}

musaError_t musasim_memory_map(void* address, size_t size, unsigned long long handle) {
  return with_space([&](Space& all) {
    auto* place = static_cast<char*>(address);
    const auto found = all.handles.find(handle);
    auto* in = is_whole(address, size) ? all.reservation_of(place, size) : nullptr;
    if (in == nullptr || found == all.handles.end() || size > found->second.memory->size || !all.is_free(place, size)) {
      return musaErrorInvalidValue;
    }
    const auto& memory = found->second.memory;
    if (mmap(address, size, PROT_NONE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, memory->file, 0) == MAP_FAILED) {
      return musaErrorUnknown;
    }
    all.mappings[place] = Mapping{size, memory, in, {}};
    return musaSuccess;
  });
}

musaError_t musasim_memory_unmap(void* address, size_t size) {
  return with_space([&](Space& all) {
    auto* place = static_cast<char*>(address);
    if (size == 0 || !all.covers(place, size)) {
      return musaErrorInvalidValue;
    }
    for (auto it = all.mappings.find(place); it != all.mappings.end() && it->first < place + size;) {
      if (it->second.strongest() != 0) {
        remove_piece(it->first, it->second.size);
      }
      it = all.mappings.erase(it);
    }
    close_off(place, size);
    return musaSuccess;
  });
}

musaError_t musasim_memory_permit(void* address, size_t size, int device, int access) {
  return with_space([&](Space& all) {
    auto* place = static_cast<char*>(address);
    const bool is_known = access == 0 || access == 1 || access == 3;
    if (size == 0 || !is_known || !all.covers(place, size)) {
      return musaErrorInvalidValue;
    }
    if (!is_device(device)) {
      return musaErrorInvalidDevice;
    }
    for (auto it = all.mappings.find(place); it != all.mappings.end() && it->first < place + size; ++it) {
      const int before = it->second.strongest();
      it->second.access[device] = access;
      protect(it->first, it->second, before);
    }
    return musaSuccess;
  });
}

musaError_t musasim_memory_access(const void* address, int device, int* access) {
  return with_space([&](Space& all) {
    const auto found = all.mapping_of(address);
    if (access == nullptr || found == all.mappings.end()) {
      return musaErrorInvalidValue;
    }
    const auto& given = found->second.access;
    *access = given.count(device) != 0 ? given.at(device) : 0;
    return musaSuccess;
  });
}
