#pragma once
#include <cuda_runtime.h>

void scale(const float* x, float* y, int n, cudaStream_t stream);
void add(float* y, int n, cudaStream_t stream);
