#include "virtual_memory.h"

#include "device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace musart {
namespace {

constexpr int kReadable = 1;
constexpr const char* kName = "musart-memory-";

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

} // namespace

Physical::~Physical() {
  close(file);
  if (!is_imported) {
    give_memory_back(device, size);
  }
}

int Mapping::strongest() const {
  int strongest = 0;
  for (const auto& [device, of_device] : access) {
    strongest |= of_device;
  }
  return strongest;
}

unsigned long long Space::keep(MemoryRef memory) {
  handles[++last] = MemoryHandle{std::move(memory), 1};
  return last;
}

std::map<char*, Mapping>::iterator Space::mapping_of(const void* address) {
  auto* place = static_cast<char*>(const_cast<void*>(address));
  auto found = mappings.upper_bound(place);
  if (found == mappings.begin()) {
    return mappings.end();
  }
  --found;
  return place < found->first + found->second.size ? found : mappings.end();
}

Reservation* Space::reservation_of(const char* address, size_t size) {
  const auto after = reservations.upper_bound(const_cast<char*>(address));
  auto* found = after == reservations.begin() ? nullptr : std::prev(after)->second;
  return found != nullptr && address + size <= found->base + found->size ? found : nullptr;
}

bool Space::is_free(const char* address, size_t size) {
  const auto next = mappings.lower_bound(const_cast<char*>(address));
  return mapping_of(address) == mappings.end() && (next == mappings.end() || next->first >= address + size);
}

bool Space::covers(char* address, size_t size) {
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

Space& space() {
  static auto* all = new Space();
  return *all;
}

bool is_whole(const void* address, size_t size) {
  return size != 0 && size % kGranularity == 0 && reinterpret_cast<uintptr_t>(address) % kGranularity == 0;
}

MemoryRef make_memory(int device, size_t size, bool is_exportable) {
  if (!take_memory(device, size)) {
    return nullptr;
  }
  const int file = make_file(device, size);
  if (file < 0) {
    give_memory_back(device, size);
    return nullptr;
  }
  return MemoryRef(new Physical{device, size, file, is_exportable, false});
}

MemoryRef import_memory(int file) {
  struct stat status {};
  const int device = device_of_file(file);
  if (!is_device(device) || fstat(file, &status) != 0) {
    return nullptr;
  }
  const int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
  return MemoryRef(new Physical{device, static_cast<size_t>(status.st_size), own, true, true});
}

void permit(char* address, Mapping& mapping, int device, int access_of_device) {
  const int before = mapping.strongest();
  mapping.access[device] = access_of_device;
  const int access = mapping.strongest();
  const int protection = access == 0 ? PROT_NONE : access == kReadable ? PROT_READ : PROT_READ | PROT_WRITE;
  mprotect(address, mapping.size, protection);
  if (before == 0 && access != 0) {
    add_piece(*mapping.in, address, mapping.size, mapping.memory->device);
  } else if (before != 0 && access == 0) {
    remove_piece(address, mapping.size);
  }
}

} // namespace musart
