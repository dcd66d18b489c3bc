// MUSASIM_MEMCHECK=1: barriers that not all threads of a block reach.
#pragma once

#include "running.h"

namespace musart::memcheck {

void check_barrier(const Block& block); // whose threads have met, as far as they come

} // namespace musart::memcheck
