// STD_CUDA_CHECK and STD_CUDA_KERNEL_LAUNCH_CHECK, for the errors of musa's runtime.
#pragma once
#if __has_include_next(<torch/csrc/stable/macros.h>)
#include_next <torch/csrc/stable/macros.h>
#endif

#include <musa_runtime.h>

#include <sstream>
#include <stdexcept>

#undef STD_CUDA_CHECK
#undef STD_CUDA_KERNEL_LAUNCH_CHECK

#define STD_CUDA_CHECK(call)                                                              \
  do {                                                                                    \
    const musaError_t torchada_error = (call);                                            \
    if (torchada_error != musaSuccess) {                                                  \
      std::ostringstream torchada_text;                                                   \
      torchada_text << "MUSA error: " << musaGetErrorString(torchada_error) << " (" #call \
                    << ", " << __FILE__ << ':' << __LINE__ << ')';                        \
      throw std::runtime_error(torchada_text.str());                                      \
    }                                                                                     \
  } while (false)

#define STD_CUDA_KERNEL_LAUNCH_CHECK() STD_CUDA_CHECK(musaGetLastError())
