// The compiler calls __asan_load4_noabort(address) and its like before each access, and another function where an address does not fit
// the alignment of its type, because it may split a vector into numbers (mcc's options are in toolkit/compiler/host_flags.py). Nothing
// of the sanitizers themselves takes part. A finding is kept until the launch has ended, because the program that knows lines of source
// cannot be started from a thread's small stack.
#include "memcheck.h"

#include "../driver/checked_memory.h"
#include "../ground/on_device.h"
#include "../include/musasim/engine.h"
#include "running.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace musart::memcheck {
namespace {

constexpr size_t kMostFindings = 100; // of a process

// The last accesses to four bytes of memory that several threads may reach.
struct Cell {
  struct Access {
    CheckedThread by{};
    unsigned barriers = 0, rounds = 0, releases = 0;
    unsigned bytes = 0; // a bit for each
    const void* caller = nullptr;
  };
  unsigned long long block = 0;
  Access written, read;
};

struct Seen {
  unsigned barriers = 0;
  std::vector<unsigned> rounds; // by warp
  std::vector<unsigned> releases; // by thread: atomic functions and fences
  unsigned long long block = 0;
  std::unordered_map<Address, Cell> cells;
};
Seen& launch() {
  static auto* one = new Seen();
  return *one;
}

struct Finding {
  std::string text;
  const void* caller;
  const void* other; // of a race
};
std::vector<Finding>& findings() {
  static auto* all = new std::vector<Finding>();
  return *all;
}
size_t g_found = 0;

void summarise() {
  std::fprintf(stderr, "musasim: memcheck: %zu %s found\n", g_found, g_found == 1 ? "fault" : "faults");
}

std::string index_text(const unsigned (&x)[3]) {
  return "(" + std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " + std::to_string(x[2]) + ")";
}

// Each place is named once for each kind of fault.
void found(const CheckedThread& by, const char* kind, const std::string& what, const void* caller, const void* other = nullptr) {
  static auto* told = new std::set<std::pair<std::string, const void*>>();
  if (g_found >= kMostFindings || !told->emplace(kind, caller).second) return;
  if (g_found++ == 0) std::atexit(summarise);
  const std::string place = "kernel " + std::string(checked_kernel()) + ", block " + index_text(by.block) + ", thread " + index_text(by.thread);
  findings().push_back({place + ": " + kind + ": " + what, caller, other});
}

void found(const char* kind, const std::string& what, const void* caller) {
  CheckedThread by{};
  if (checked_thread(&by)) found(by, kind, what, caller);
}

// The first line of addr2line's that is not the toolkit's own: functions of its headers are expanded where a program calls them.
void read_line(FILE* pipe, char* line, int size) {
  char next[4096];
  while (std::fgets(next, sizeof next, pipe) != nullptr) {
    if (line[0] == '\0' || std::strstr(line, "/include/musasim/") != nullptr) std::snprintf(line, size, "%s", next);
  }
}

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
  line[std::strcspn(line, " \n")] = '\0'; // "(discriminator 3)" may follow
  if (line[0] == '\0' || line[0] == '?') {
    std::snprintf(line, sizeof line, "%s+0x%zx", info.dli_fname, static_cast<size_t>(offset));
  }
  return line;
}

bool all_equal(const unsigned char* from, size_t bytes, unsigned char value) {
  for (size_t i = 0; i < bytes; ++i) {
    if (from[i] != value) return false;
  }
  return true;
}

// A short number may have the value of what was never written, so four bytes are looked at.
bool is_untouched(Address address, size_t bytes, unsigned char value) {
  const Address begin = bytes < 4 ? address & ~Address{3} : address;
  return all_equal(reinterpret_cast<const unsigned char*>(begin), bytes < 4 ? 4 : bytes, value);
}

// --- races ---------------------------------------------------------------------------------------------------------------------

Cell::Access access_of(const CheckedThread& thread, unsigned bytes, const void* caller) {
  auto& now = launch();
  return {thread, now.barriers, now.rounds[thread.warp], now.releases[thread.number], bytes, caller};
}

// Whether nothing orders an earlier access and one of `thread`. A thread that has used an atomic function or a fence since may have
// told others that it was done.
bool races(const Cell::Access& earlier, const CheckedThread& thread, unsigned bytes) {
  auto& now = launch();
  if (earlier.caller == nullptr || earlier.by.number == thread.number || (earlier.bytes & bytes) == 0) return false;
  if (earlier.barriers != now.barriers || now.releases[earlier.by.number] != earlier.releases) return false;
  return earlier.by.warp != thread.warp || earlier.rounds == now.rounds[thread.warp];
}

void found_race(const CheckedThread& thread, const Cell::Access& other, const char* what, const void* caller) {
  const std::string with = "with thread " + index_text(other.by.thread) + " of the block, no barrier between them: ";
  found(thread, "race", with + what, caller, other.caller);
}

// Two threads write to the same place. It is a race if their values differ, and the second one's is not there yet.
struct Rewrite {
  Address granule;
  unsigned bytes;
  unsigned char before[4];
  CheckedThread thread;
  Cell::Access other;
  const void* caller;
};
std::vector<Rewrite>& rewrites() {
  static auto* open = new std::vector<Rewrite>();
  return *open;
}

void compare_rewrites() {
  for (const auto& each : rewrites()) {
    const auto* after = reinterpret_cast<const unsigned char*>(each.granule);
    bool same = true;
    for (unsigned i = 0; i < 4; ++i) same = same && ((each.bytes >> i & 1) == 0 || after[i] == each.before[i]);
    if (!same) found_race(each.thread, each.other, "both write", each.caller);
  }
  rewrites().clear();
}

void remember_rewrite(Address granule, unsigned bytes, const CheckedThread& thread, const Cell::Access& other, const void* caller) {
  Rewrite open{granule, bytes, {}, thread, other, caller};
  std::memcpy(open.before, reinterpret_cast<const void*>(granule), sizeof open.before);
  rewrites().push_back(open);
}

void check_race(Address granule, unsigned bytes, bool write, const CheckedThread& thread, const void* caller) {
  auto& now = launch();
  auto& cell = now.cells[granule];
  if (cell.block != now.block) cell = Cell{now.block, {}, {}};
  if (races(cell.written, thread, bytes)) {
    if (write) remember_rewrite(granule, bytes, thread, cell.written, caller);
    else found_race(thread, cell.written, "it reads what the other writes", caller);
  } else if (write && races(cell.read, thread, bytes)) {
    found_race(thread, cell.read, "it writes what the other reads", caller);
  }
  auto& kept = write ? cell.written : cell.read;
  if (kept.by.number == thread.number && kept.barriers == now.barriers && kept.caller != nullptr) bytes |= kept.bytes;
  kept = access_of(thread, bytes, caller);
}

bool was_written(Address address) {
  const auto at = launch().cells.find(address & ~Address{3});
  return at != launch().cells.end() && at->second.block == launch().block && at->second.written.caller != nullptr;
}

// --- an access -----------------------------------------------------------------------------------------------------------------

void check_order(Address address, size_t bytes, bool write, const CheckedThread& thread, const void* caller) {
  for (Address at = address & ~Address{3}; at < address + bytes; at += 4) {
    unsigned mask = 0;
    for (unsigned i = 0; i < 4; ++i) mask |= at + i >= address && at + i < address + bytes ? 1U << i : 0;
    check_race(at, mask, write, thread, caller);
  }
}

void check_contents(Address address, size_t bytes, bool shared, const void* caller) {
  if (shared && is_untouched(address, bytes, 0xff) && !was_written(address)) {
    found("uninitialised read", "of " + bytes_text(bytes) + " of shared memory that no thread of the block has written", caller);
  } else if (!shared && is_untouched(address, bytes, kPoison)) {
    found("uninitialised read", "of " + bytes_text(bytes) + " of device memory that nothing has written", caller);
  }
}

void check_known(Address address, size_t bytes, bool write, bool shared, const void* caller) {
  CheckedThread thread{};
  if (!checked_thread(&thread)) return;
  if (!write) check_contents(address, bytes, shared, caller);
  check_order(address, bytes, write, thread, caller);
}

void check(const void* pointer, size_t bytes, bool write, const void* caller) {
  if (!on_device() || !enabled()) return;
  compare_rewrites(); // what was written after the last call is there now
  if (bytes == 0 || is_on_stack(pointer)) return;
  const auto address = reinterpret_cast<Address>(pointer);
  if (is_shared(pointer)) {
    check_known(address, bytes, write, true, caller);
    return;
  }
  const Place place = place_of(address, bytes);
  const std::string access = (write ? "write of " : "read of ") + bytes_text(bytes) + ", ";
  if (place.where == Where::Outside) found(write ? "write out of bounds" : "read out of bounds", access + place.text, caller);
  if (place.where == Where::Freed) found(write ? "write after free" : "read after free", access + place.text, caller);
  if (place.where == Where::Inside) check_known(address, bytes, write, false, caller);
}

// What -fsanitize=alignment tells of an access, as GCC and clang lay it out.
struct Misaligned {
  const char* file;
  uint32_t line, column;
  const void* type;
  unsigned char log_of_alignment, kind;
};

} // namespace

void begin_launch(unsigned threads) {
  if (!enabled()) return;
  auto& now = launch();
  now.cells.clear();
  now.releases.assign(threads, 0);
  now.rounds.assign(threads / MUSASIM_WARP_SIZE + 1, 0);
}

void enter_block(unsigned long long serial) {
  launch().block = serial;
}

void barrier() {
  compare_rewrites();
  ++launch().barriers;
}

void warp_round(unsigned warp) {
  compare_rewrites();
  auto& now = launch();
  if (warp < now.rounds.size()) ++now.rounds[warp];
}

void end_launch() {
  compare_rewrites();
  for (const auto& each : findings()) {
    std::string text = each.text + "\n    at " + line_of(each.caller);
    if (each.other != nullptr) text += "\n    and " + line_of(each.other);
    std::fprintf(stderr, "musasim: memcheck: %s\n", text.c_str());
  }
  findings().clear();
}

} // namespace musart::memcheck

using namespace musart;

extern "C" {
#define MUSASIM_CHECKED(size)                                                            \
  MUSASIM_EXPORT void __asan_load##size##_noabort(const void* address) {                 \
    memcheck::check(address, size, false, __builtin_return_address(0));            \
  }                                                                                      \
  MUSASIM_EXPORT void __asan_store##size##_noabort(const void* address) {                \
    memcheck::check(address, size, true, __builtin_return_address(0));             \
  }
MUSASIM_CHECKED(1)
MUSASIM_CHECKED(2)
MUSASIM_CHECKED(4)
MUSASIM_CHECKED(8)
MUSASIM_CHECKED(16)
#undef MUSASIM_CHECKED
MUSASIM_EXPORT void __asan_loadN_noabort(const void* address, size_t bytes) {
  memcheck::check(address, bytes, false, __builtin_return_address(0));
}
MUSASIM_EXPORT void __asan_storeN_noabort(const void* address, size_t bytes) {
  memcheck::check(address, bytes, true, __builtin_return_address(0));
}
MUSASIM_EXPORT void __asan_handle_no_return(void) {}
// Around the initialisation of a file's variables, and of an array whose size is known at run time: nothing of these is looked at.
MUSASIM_EXPORT void __asan_before_dynamic_init(const char*) {}
MUSASIM_EXPORT void __asan_after_dynamic_init(void) {}
MUSASIM_EXPORT void __asan_alloca_poison(uintptr_t, uintptr_t) {}
MUSASIM_EXPORT void __asan_allocas_unpoison(uintptr_t, uintptr_t) {}
MUSASIM_EXPORT void __ubsan_handle_type_mismatch_v1(const memcheck::Misaligned* data, uintptr_t) {
  if (!on_device() || !memcheck::enabled()) return;
  const auto needed = std::to_string(1U << data->log_of_alignment);
  memcheck::found("misaligned access", "the address is no multiple of " + needed, __builtin_return_address(0));
}
}

void musasim_atomic(const void* address, size_t bytes, const void* caller) {
  CheckedThread thread{};
  if (!on_device() || !memcheck::enabled() || !checked_thread(&thread)) return;
  memcheck::compare_rewrites();
  // Not a race, whatever others do with it by atomic functions; but it writes.
  const auto place = memcheck::place_of(reinterpret_cast<memcheck::Address>(address), bytes == 0 ? 1 : bytes);
  if (place.where == memcheck::Where::Outside) memcheck::found("write out of bounds", "atomic function, " + place.text, caller);
  if (place.where == memcheck::Where::Freed) memcheck::found("write after free", "atomic function, " + place.text, caller);
  ++memcheck::launch().releases[thread.number];
}
