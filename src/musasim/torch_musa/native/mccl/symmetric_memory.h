#pragma once

#include "../runtime/version.h"

// torch_musa has symmetric memory from 2.9.1.post1 on, and torch the interface that it uses from 2.9 on.
#define MUSASIM_HAS_SYMMETRIC_MEMORY MUSASIM_TORCH_AT_LEAST(2, 9)

namespace musasim::mccl {

// Gives torch the allocator of memory that all devices of a group read and write, and the operators of the simulated release on it.
void register_symmetric_memory();
void register_symmetric_operators();

} // namespace musasim::mccl
