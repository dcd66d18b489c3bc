// torch::stable::Device.
#pragma once
#if __has_include_next(<torch/csrc/stable/device.h>)
#include_next <torch/csrc/stable/device.h>
#else
#include <torch/csrc/stable/device_struct.h>
#endif
