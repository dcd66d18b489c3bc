// What orders the accesses of a launch's threads: barriers, exchanges of a warp, atomic functions and fences.
#pragma once

#include <cstdint>

#include "running.h"

namespace musart::memcheck {

// When a thread did something, by what its block, its warp and the launch had counted.
struct Moment {
  unsigned block = 0, thread = 0;
  unsigned barriers = 0, rounds = 0;
  uint32_t syncs = 0; // atomic functions and fences of all threads of the launch
  uint32_t grid_barriers = 0;
};

void begin_ordering(unsigned threads);
void enter_block_of(unsigned number);
Moment moment_of(const CheckedThread& thread);

// Whether something orders an earlier moment and now, for another thread of the same block. A thread that has used an atomic
// function or a fence since may have told others that it was done.
bool ordered_in_block(const Moment& earlier, const CheckedThread& now);

// The same for threads of two blocks: the earlier one has told that it was done, by an atomic function or a fence of its own or, after a
// barrier, of another thread of its block; and the later one has learnt of it in the same way. Or the grid's barrier lies between.
bool ordered_between_blocks(const Moment& earlier, const CheckedThread& now);

void all_have_met(); // the threads of the running block
void warp_has_met(unsigned warp);
void grid_has_met();
void synchronise(const CheckedThread& thread, bool by_fence);
void learn(const CheckedThread& thread); // by a flag, of what others have done

// Whether what the thread writes now tells others something: the first write after a fence is a flag that others wait for.
bool publishes(const CheckedThread& thread);
void has_written(const CheckedThread& thread);

} // namespace musart::memcheck
