// Runs the blocks of a kernel: their threads begin, wait and return.
#pragma once

#include "configuration.h"
#include "../include/musasim/errors.h"

namespace musart {

// Runs every thread of every block on the calling OS thread. Callers ensure that one launch runs at a time. Errors go to stderr.
musaError_t run_grid(const Launch& launch, const void* data, const musasim_closure& closure);

} // namespace musart
