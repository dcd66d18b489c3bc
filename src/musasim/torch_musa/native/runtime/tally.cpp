#include "tally.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace musasim {

std::atomic<bool> g_tallying{false};

namespace {

struct Tally {
  std::mutex mutex;
  // By the name's text, because a library of operators may be unloaded, and its names with it.
  std::map<std::pair<Counted, std::string>, uint64_t, std::less<>> counts;
};
Tally& tally() {
  static auto* one = new Tally();
  return *one;
}

} // namespace

void add_to_tally(Counted kind, const char* name) {
  auto& all = tally();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ++all.counts[{kind, name}];
}

} // namespace musasim

// For musasim/tally.py, which calls them by ctypes: torch_musa's own module has no such names.
extern "C" {
__attribute__((visibility("default"))) void musasim_tally_begin() {
  musasim::g_tallying = true;
}

// `visit` is called under the tally's lock and must not call into the device.
__attribute__((visibility("default"))) void musasim_tally_visit(void (*visit)(int kind, const char* name, uint64_t count)) {
  auto& all = musasim::tally();
  const std::lock_guard<std::mutex> lock(all.mutex);
  for (const auto& [of, number] : all.counts) {
    visit(static_cast<int>(of.first), of.second.c_str(), number);
  }
}

// Called by each launch of a kernel that mcc has compiled (toolkit/include/musasim/launch.h).
__attribute__((visibility("default"))) void musasim_count_kernel(const char* name) {
  musasim::count(musasim::Counted::Kernel, name);
}
}
