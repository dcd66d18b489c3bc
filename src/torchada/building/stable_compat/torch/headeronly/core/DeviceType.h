// torch::headeronly::DeviceType, which PyTorch 2.9 has under c10's name only.
#pragma once
#if __has_include_next(<torch/headeronly/core/DeviceType.h>)
#include_next <torch/headeronly/core/DeviceType.h>
#else

#include <c10/core/DeviceType.h>

namespace torch::headeronly {
using c10::DeviceType;
using c10::kCPU;
using c10::kMeta;
using c10::kPrivateUse1;
} // namespace torch::headeronly

#endif
