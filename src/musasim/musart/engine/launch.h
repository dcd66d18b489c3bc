// A launch: what it is refused for, and the launch itself.
#pragma once

#include <cstddef>

#include "../driver/stream.h"
#include "../include/musasim/errors.h"
#include "configuration.h"

namespace musart {

constexpr size_t kUsualShared = 48 << 10; // without musaFuncSetAttribute, of variables and dynamic memory together

musaError_t check_launch(const Launch& launch);
bool fits_in_shared(const musasim_kernel& kernel, size_t fixed, size_t dynamic); // bytes of __shared__ variables, and of the launch
int blocks_that_fit(const musasim_kernel& kernel, int threads, size_t shared); // on a multiprocessor

// Does nothing on a device that has failed. What a launch alone fails with is remembered, and what its device fails with stays.
// `stream` is nullptr for a node of a graph.
void run_launch(const Launch& launch, int device, Stream* stream, const void* data, const musasim_closure& closure);

} // namespace musart
