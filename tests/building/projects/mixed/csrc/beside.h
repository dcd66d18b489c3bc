#pragma once
#include <cuda_runtime.h>

inline int blocks(int n) { return (n + 255) / 256; }
inline bool synchronized(cudaStream_t stream) { return cudaStreamSynchronize(stream) == cudaSuccess; }
