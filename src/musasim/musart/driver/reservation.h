// Address space that gets memory piece by piece.
#pragma once

#include "memory.h"

#pragma GCC visibility push(default)
namespace musart {

// Pieces are whole pages of the reservation; they are zero when they are mapped. Touching what is not mapped ends the process.
Reservation* reserve(int device, size_t bytes, size_t alignment = 1); // nullptr when the host has no such address space
bool map(Reservation& in, char* address, size_t bytes); // false when the device is full
void unmap(Reservation& in, char* address, size_t bytes);
void cancel(Reservation* reservation); // nothing of it may be mapped
int share(Reservation& reservation); // puts it on shared pages; the descriptor, or -1

} // namespace musart
#pragma GCC visibility pop
