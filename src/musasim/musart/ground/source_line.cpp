#include "source_line.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstring>

namespace musart {
namespace {

// The first line of addr2line's that is not the toolkit's own: functions of its headers are expanded where a program calls them.
void read_line(FILE* pipe, char* line, int size) {
  char next[4096];
  while (std::fgets(next, sizeof next, pipe) != nullptr) {
    if (line[0] == '\0' || std::strstr(line, "/include/musasim/") != nullptr) std::snprintf(line, size, "%s", next);
  }
}

const void* library_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

bool is_libc(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr && std::strstr(info.dli_fname, "/libc.so") != nullptr;
}

} // namespace

// "file:line", by the program addr2line that compilers bring along, or the library and the offset in it.
std::string line_of(const void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) {
    return "an unknown place";
  }
  const auto offset = static_cast<const char*>(caller) - static_cast<const char*>(info.dli_fbase) - 1;
  char command[4200];
  std::snprintf(command, sizeof command, "addr2line -i -e '%s' 0x%zx 2>/dev/null", info.dli_fname, static_cast<size_t>(offset));
  char line[4096] = "";
  if (FILE* pipe = std::strchr(info.dli_fname, '\'') == nullptr ? popen(command, "r") : nullptr) {
    read_line(pipe, line, sizeof line);
    pclose(pipe);
  }
  if (char* more = std::strstr(line, " (discriminator ")) *more = '\0';
  line[std::strcspn(line, "\n")] = '\0';
  if (line[0] == '\0' || line[0] == '?') {
    std::snprintf(line, sizeof line, "%s+0x%zx", info.dli_fname, static_cast<size_t>(offset));
  }
  return line;
}

const void* caller_outside() {
  void* frames[32];
  const int count = backtrace(frames, 32);
  const void* own = library_of(reinterpret_cast<const void*>(&library_of));
  for (int at = 0; at < count; ++at) {
    const void* library = library_of(frames[at]);
    if (library != nullptr && library != own && !is_libc(frames[at])) return frames[at];
  }
  return nullptr;
}

} // namespace musart
