// What the driver's muMemCreate, muMemMap and others are made of (toolkit/libraries/musa/virtual_memory.cpp).
#include "../driver/device.h"
#include "../driver/memory.h"
#include "../driver/pages.h"
#include "../driver/reservation.h"
#include "../driver/virtual_memory.h"
#include "gate.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace musart {
namespace {

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
    auto made = make_memory(device, size, is_exportable != 0);
    if (made == nullptr) {
      return musaErrorMemoryAllocation;
    }
    *handle = all.keep(std::move(made));
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
    auto imported = handle == nullptr ? nullptr : import_memory(file);
    if (imported == nullptr) {
      return musaErrorInvalidValue;
    }
    *handle = all.keep(std::move(imported));
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
      permit(it->first, it->second, device, access);
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
