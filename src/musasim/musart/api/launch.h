// Kernels as the C API names them: by the address of their functions.
#pragma once

#include "../include/musasim/engine.h"

namespace musart {

// The kernel at the address of its function, or nullptr if there is none. If it is another function, this calls it.
musasim_kernel* kernel_of(const void* function);

} // namespace musart
