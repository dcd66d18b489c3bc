__global__ void kernel(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" int run(const float* x, float* y, int n) {
  kernel<<<(n + 31) / 32, 32>>>(x, y, n);
  return cudaDeviceSynchronize();
}
