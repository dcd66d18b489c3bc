// Memory of the devices: every allocation, by its address, and how much of each device is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace musart {

// musaMalloc, PyTorch's caching allocator, another process, a pool, which has counted it (memory_pool.h)
enum class Owner { Program, Framework, Imported, Pool };

// Address space that gets memory piece by piece.
struct Reservation {
  char* base;
  size_t size;
  int device; // of the pieces; -1 where the program itself maps memory of any device (virtual_memory.cpp)
  int file = -1; // the descriptor behind it, once a piece has been exported to other processes
};

struct Allocation {
  char* base = nullptr;
  size_t size = 0;
  int device = -1;
  Owner owner = Owner::Program;
  int shared = -1; // the file descriptor behind it, once it has been exported to other processes
  bool managed = false; // usable by the host as well
  const Reservation* reserved_in = nullptr; // neighbouring pieces of a reservation are one allocation
};

void* allocate(int device, size_t bytes, Owner owner); // nullptr when the device is full
bool mark_managed(void* base);
bool is_managed(const void* pointer);
bool release(void* base, Owner owner); // false if there is no such allocation
void release_all(int device, Owner owner);
uint64_t releases() noexcept; // how many allocations were given back in this process
std::optional<Allocation> find_allocation(const void* pointer); // the one that `pointer` lies in
std::pair<size_t, size_t> memory_info(int device); // free, total

// How much of the device a program uses, without a place of its own.
bool take_memory(int device, size_t bytes); // false when the device is full
void give_memory_back(int device, size_t bytes);

// Puts the allocation on shared pages, at the same address and with the same contents; its descriptor, or -1.
int share(const Allocation& allocation);
void add_import(const Allocation& allocation);
bool remove_import(char* base, size_t* size);

} // namespace musart
#pragma GCC visibility pop

namespace musart {

// Pieces of reservations among the allocations.
void add_piece(const Reservation& in, char* address, size_t bytes, int device);
void remove_piece(char* address, size_t bytes); // which may be a part of what was added
std::vector<Allocation> pieces_of(const Reservation& in);

} // namespace musart
