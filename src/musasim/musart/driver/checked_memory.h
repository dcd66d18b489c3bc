// MUSASIM_MEMCHECK=1: which memory of the device programs have been given, to the byte. engine/memcheck looks at the accesses to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#pragma GCC visibility push(default)
namespace musart::memcheck {

bool enabled() noexcept;

// Bytes that stay free behind each allocation.
constexpr size_t kRedZone = 512;

// A program has got, or given back, memory of the device: exactly what it asked for.
void use(void* address, size_t bytes);
void give_up(void* address);

} // namespace musart::memcheck
#pragma GCC visibility pop

namespace musart::memcheck {

using Address = uintptr_t;

constexpr unsigned char kPoison = 0xcb; // of memory that nobody has written

// Where an address is, as far as allocations are concerned.
enum class Where { Elsewhere, Inside, Outside, Freed };
struct Place {
  Where where = Where::Elsewhere;
  std::string text;
};

Place place_of(Address address, size_t bytes);
std::string bytes_text(size_t bytes);

} // namespace musart::memcheck
