// What a profiler of the device calls the kernel of an operation: as torch_musa's process group's, the work, the algorithm, the
// protocol, the reduction and the type of what is computed, which is a sum of bytes where nothing is.
#pragma once

#include "communicator.h"

#include <string>

namespace musasim::libmccl {

std::string kernel_name(const Communicator& member, const Operation& operation);

} // namespace musasim::libmccl
