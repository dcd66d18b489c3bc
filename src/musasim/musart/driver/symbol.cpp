#include "symbol.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace musart {
namespace {

struct Symbols {
  std::shared_mutex mutex;
  std::map<const char*, size_t> by_address;
};

Symbols& symbols() {
  static auto* all = new Symbols();
  return *all;
}

} // namespace

// Unloading a library removes its variables, and another library may get their addresses.
void add_symbol(void* address, size_t bytes) {
  auto& all = symbols();
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  all.by_address[static_cast<const char*>(address)] = bytes;
}

size_t room_in_symbol(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  auto& all = symbols();
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  auto after = all.by_address.upper_bound(address);
  if (after == all.by_address.begin()) {
    return 0;
  }
  --after;
  const auto* end = after->first + after->second;
  return address < end ? static_cast<size_t>(end - address) : 0;
}

} // namespace musart
