#pragma once
#include <cuda_runtime.h>

#include "detail.h"

__device__ __forceinline__ float transformed(float x) { return SCALE * x + 1.0f; }
