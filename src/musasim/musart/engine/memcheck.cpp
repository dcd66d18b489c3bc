// The compiler calls __asan_load4_noabort(address) and its like before each access, and another function where an address does not fit
// the alignment of its type, because it may split a vector into numbers (mcc's options are in toolkit/compiler/host_flags.py). Nothing
// of the sanitizers themselves takes part.
#include "memcheck.h"

#include "../driver/checked_memory.h"
#include "../driver/symbol.h"
#include "../ground/on_device.h"
#include "../include/musasim/engine.h"
#include "findings.h"
#include "launched_accesses.h"
#include "ordering.h"
#include "running.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

namespace musart::memcheck {
namespace {

// The last accesses to four bytes of memory that several threads may reach.
struct Access {
  Moment moment;
  const void* caller = nullptr;
  unsigned char bytes = 0; // a bit for each
  bool publishes = false;
};
enum class Kind { Read, Write, Atomic };
struct Accesses {
  Access of[3]; // by kind
};
struct Cell {
  unsigned long long serial = 0; // of the block that was here last
  Accesses own, before; // its accesses, and the last ones of other blocks of the launch
};

struct Seen {
  unsigned long long serial = 0; // of the running block
  std::unordered_map<Address, Cell> cells;
};
Seen& launch() {
  static auto* one = new Seen();
  return *one;
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

const char* said_of(Kind kind, Kind other) {
  if (kind == Kind::Write && other == Kind::Write) return "both write";
  if (kind == Kind::Read) return "it reads what the other writes";
  if (kind == Kind::Atomic) return "it uses an atomic function on what the other writes";
  return other == Kind::Read ? "it writes what the other reads" : "it writes what the other uses an atomic function on";
}

void found_race(const CheckedThread& thread, Kind kind, const Access& other, Kind other_kind, const void* caller) {
  const bool same_block = other.moment.block == thread.block;
  const std::string with = "with thread " + thread_text(other.moment.thread) + " of ";
  const std::string between = same_block ? "the block, no barrier between them: " : "block " + block_text(other.moment.block) + ", nothing orders them: ";
  found(thread, same_block ? "race" : "race between blocks", with + between + said_of(kind, other_kind), caller, other.caller);
}

bool is_ordered(const Access& earlier, const CheckedThread& thread) {
  if (earlier.moment.block != thread.block) return ordered_between_blocks(earlier.moment, thread);
  return earlier.moment.thread == thread.number || ordered_in_block(earlier.moment, thread);
}

// Two threads write to the same place. It is a race if their values differ, and the second one's is not there yet.
struct Rewrite {
  Address granule;
  unsigned bytes;
  unsigned char before[4];
  CheckedThread thread;
  Access other;
  const void* caller;
};
std::vector<Rewrite>& rewrites() {
  static auto* open = new std::vector<Rewrite>();
  return *open;
}

void compare_rewrites() {
  for (const auto& rewrite : rewrites()) {
    const auto* after = reinterpret_cast<const unsigned char*>(rewrite.granule);
    bool same = true;
    for (unsigned i = 0; i < 4; ++i) same = same && ((rewrite.bytes >> i & 1) == 0 || after[i] == rewrite.before[i]);
    if (!same) found_race(rewrite.thread, Kind::Write, rewrite.other, Kind::Write, rewrite.caller);
  }
  rewrites().clear();
}

void remember_rewrite(Address granule, unsigned bytes, const CheckedThread& thread, const Access& other, const void* caller) {
  Rewrite open{granule, bytes, {}, thread, other, caller};
  std::memcpy(open.before, reinterpret_cast<const void*>(granule), sizeof open.before);
  rewrites().push_back(open);
}

struct Now {
  Address granule;
  unsigned char bytes;
  Kind kind;
  CheckedThread thread;
  const void* caller;
};

// An atomic function may compare and swap a word of which a kernel writes another part.
bool meets(const Access& earlier, Kind kind, const Now& now) {
  if (earlier.caller == nullptr || (earlier.bytes & now.bytes) == 0 || earlier.publishes) return false;
  if (kind == Kind::Atomic) return (earlier.bytes & ~now.bytes) == 0;
  return now.kind != Kind::Atomic || (now.bytes & ~earlier.bytes) == 0;
}

// A read and an atomic function are no race: a loop that compares and swaps begins with a read.
constexpr Kind kAgainst[3][3] = {
    {Kind::Write, Kind::Write, Kind::Write}, {Kind::Write, Kind::Read, Kind::Atomic}, {Kind::Write, Kind::Write, Kind::Write}};

void compare(const Accesses& earlier, const Now& now) {
  for (const Kind kind : kAgainst[static_cast<int>(now.kind)]) {
    const auto& access = earlier.of[static_cast<int>(kind)];
    if (!meets(access, kind, now) || is_ordered(access, now.thread)) continue;
    if (kind == Kind::Write && now.kind == Kind::Write) remember_rewrite(now.granule, now.bytes, now.thread, access, now.caller);
    else found_race(now.thread, now.kind, access, kind, now.caller);
    return;
  }
}

void keep(Access& kept, const Now& now, bool publishing) {
  const Moment moment = moment_of(now.thread);
  unsigned char bytes = now.bytes;
  if (kept.caller != nullptr && kept.moment.thread == moment.thread && kept.moment.barriers == moment.barriers) bytes |= kept.bytes;
  kept = {moment, now.caller, bytes, publishing};
}

// Shared memory is another one in each block.
void enter(Cell& cell, bool shared) {
  if (cell.serial == launch().serial) return;
  for (int kind = 0; kind < 3; ++kind) {
    if (cell.own.of[kind].caller != nullptr && !shared) cell.before.of[kind] = cell.own.of[kind];
  }
  cell.own = {};
  cell.serial = launch().serial;
}

// Whoever reads a flag that another thread has set after a fence knows what that thread had done before.
void learn_from(const Accesses& earlier, const Now& now) {
  const auto& written = earlier.of[static_cast<int>(Kind::Write)];
  if (written.publishes && (written.bytes & now.bytes) != 0) learn(now.thread);
}

void check_race(const Now& now, bool shared, bool publishing) {
  auto& cell = launch().cells[now.granule];
  enter(cell, shared);
  if (!publishing) {
    compare(cell.own, now);
    if (!shared) compare(cell.before, now);
  }
  if (now.kind == Kind::Read) {
    learn_from(cell.own, now);
    learn_from(cell.before, now);
  }
  keep(cell.own.of[static_cast<int>(now.kind)], now, publishing);
}

bool was_written(Address address) {
  const auto at = launch().cells.find(address & ~Address{3});
  if (at == launch().cells.end() || at->second.serial != launch().serial) return false;
  const auto& own = at->second.own;
  return own.of[static_cast<int>(Kind::Write)].caller != nullptr || own.of[static_cast<int>(Kind::Atomic)].caller != nullptr;
}

// --- an access -----------------------------------------------------------------------------------------------------------------

void check_order(Address address, size_t bytes, Kind kind, bool shared, const CheckedThread& thread, const void* caller) {
  const bool publishing = kind == Kind::Write && publishes(thread);
  for (Address at = address & ~Address{3}; at < address + bytes; at += 4) {
    unsigned char mask = 0;
    for (unsigned i = 0; i < 4; ++i) mask |= at + i >= address && at + i < address + bytes ? 1U << i : 0;
    check_race({at, mask, kind, thread, caller}, shared, publishing);
  }
  if (kind == Kind::Write) has_written(thread);
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
  check_order(address, bytes, write ? Kind::Write : Kind::Read, shared, thread, caller);
}

// __device__ variables begin as zeros, so threads are looked at and contents are not.
bool is_variable(const Place& place, const void* pointer, size_t bytes) {
  return place.where == Where::Elsewhere && room_in_symbol(pointer) >= bytes;
}

void check_variable(Address address, size_t bytes, Kind kind, const void* caller) {
  CheckedThread thread{};
  if (checked_thread(&thread)) check_order(address, bytes, kind, false, thread, caller);
}

void check(const void* pointer, size_t bytes, bool write, const void* caller) {
  if (!on_device()) return;
  if (streamcheck::enabled()) streamcheck::note(pointer, bytes, write ? streamcheck::Kind::Write : streamcheck::Kind::Read, caller);
  if (!enabled()) return;
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
  if (is_variable(place, pointer, bytes)) check_variable(address, bytes, write ? Kind::Write : Kind::Read, caller);
}

// Not a race, whatever others do with it by atomic functions; but it writes.
void check_atomic(const void* pointer, size_t bytes, const CheckedThread& thread, const void* caller) {
  const auto address = reinterpret_cast<Address>(pointer);
  const bool shared = is_shared(pointer);
  const Place place = place_of(address, bytes);
  if (place.where == Where::Outside && !shared) found("write out of bounds", "atomic function, " + place.text, caller);
  if (place.where == Where::Freed && !shared) found("write after free", "atomic function, " + place.text, caller);
  const bool known = place.where == Where::Inside || shared || is_variable(place, pointer, bytes);
  if (known) check_order(address, bytes, Kind::Atomic, shared, thread, caller);
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
  launch().cells.clear();
  begin_ordering(threads);
}

void enter_block(unsigned long long serial, unsigned number) {
  compare_rewrites();
  launch().serial = serial;
  if (enabled()) enter_block_of(number);
}

void barrier() {
  if (!enabled()) return;
  compare_rewrites();
  all_have_met();
}

void warp_round(unsigned warp) {
  if (!enabled()) return;
  compare_rewrites();
  warp_has_met(warp);
}

void grid_barrier() {
  compare_rewrites();
  grid_has_met();
}

void end_launch() {
  compare_rewrites();
  write_findings();
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
  if (!on_device() || !checked_thread(&thread)) return;
  if (streamcheck::enabled()) streamcheck::note(address, bytes, streamcheck::Kind::Atomic, caller);
  if (!memcheck::enabled()) return;
  memcheck::compare_rewrites();
  if (bytes != 0) memcheck::check_atomic(address, bytes, thread, caller);
  memcheck::synchronise(thread, bytes == 0);
}
