// MUSASIM_MEMCHECK=1: looks at each access to memory of kernels that mcc has compiled with the same setting. What orders the accesses
// of threads is called by the scheduler.
#pragma once

namespace musart::memcheck {

void begin_launch(unsigned threads);
void enter_block(unsigned long long serial, unsigned number);
void barrier(); // all threads of the running block have met
void warp_round(unsigned warp); // lanes of a warp have met
void grid_barrier(); // all blocks have met
void end_launch(); // writes what was found to stderr

} // namespace musart::memcheck
