// A launch: what it is refused for, and the launch itself.
#pragma once

#include <cstddef>

#include "../include/musasim/errors.h"
#include "configuration.h"

namespace musart {

constexpr size_t kUsualDynamicShared = 48 << 10;

musaError_t check_launch(const Launch& launch);
int blocks_that_fit(const musasim_kernel& kernel, int threads, size_t shared); // on a multiprocessor

// Does nothing on a device that has failed. What a launch alone fails with is remembered, and what its device fails with stays.
void run_launch(const Launch& launch, int device, const void* data, const musasim_closure& closure);

} // namespace musart
