#include "leaks.h"

#include "../driver/memory.h"
#include "../ground/environment.h"
#include "../ground/source_line.h"

#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>

namespace musart {
namespace {

struct Owners {
  std::mutex mutex;
  std::map<const void*, const void*> callers; // by the address of the memory
  pid_t process = 0;
};
Owners& owners() {
  static auto* one = new Owners();
  return *one;
}

bool leaks_are_wanted() {
  static const bool wanted = read_flag("MUSASIM_LEAKCHECK");
  return wanted;
}

void tell_leak(const Allocation& leaked, const void* caller) {
  std::fprintf(stderr, "musasim: leak: %zu bytes on device %d were not freed\n    at %s\n", leaked.size, leaked.device,
      line_of(caller).c_str());
}

// When the library is unloaded, which is after the destructors of the programs that use it.
__attribute__((destructor)) void tell_leaks() {
  auto& known = owners();
  if (known.process != getpid()) return; // nothing is known, or this is a child that begins with its parent's memory
  for (const auto& [base, caller] : known.callers) {
    const auto memory = find_allocation(base);
    const bool is_own = memory && (memory->owner == Owner::Program || memory->owner == Owner::Pool);
    if (is_own && memory->base == base) tell_leak(*memory, caller);
  }
}

} // namespace

void remember_owner(const void* base, const void* caller) {
  if (base == nullptr || !leaks_are_wanted()) return;
  auto& known = owners();
  const std::lock_guard<std::mutex> lock(known.mutex);
  known.process = getpid();
  known.callers[base] = caller;
}

} // namespace musart
