#pragma once

#include "agreement.h"

#include <string>

namespace musasim::mccl {

// What a profiler of the device calls the kernel of an operation. The pattern is that of traces from such devices, as in
// mcclKernel_AllReduce_RING_SIMPLE_Sum_float(mcclWorkElem): the work, the algorithm, the protocol, the reduction and the type of what
// is computed, which is a sum of bytes where nothing is.
std::string kernel_name(const Operation& operation, size_t bytes);

} // namespace musasim::mccl
