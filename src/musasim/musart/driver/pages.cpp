#include "pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace musart {

void close_off(char* address, size_t bytes) {
  mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool copy_touched_pages(const char* from, size_t bytes, int file, size_t at) {
  static const char zeros[kPage] = {};
  for (size_t offset = 0; offset < bytes; offset += kPage) {
    if (std::memcmp(from + offset, zeros, kPage) != 0 &&
        pwrite(file, from + offset, kPage, static_cast<off_t>(at + offset)) != static_cast<ssize_t>(kPage)) {
      return false;
    }
  }
  return true;
}

} // namespace musart
