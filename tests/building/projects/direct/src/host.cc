#include <cuda_runtime_api.h>
#include "scale.cuh"
extern "C" int run(const float *x, float *y, int n) { return cudaSetDevice(0) ? -1 : launch(x, y, n); }
