// Kernels whose blocks may run at the same time, on several OS threads.

constexpr int kBlocks = 64, kThreads = 128;

// The sum of each block's numbers, by static and by dynamic shared memory.
__global__ void sums(float* y) {
  __shared__ float fixed[kThreads];
  extern __shared__ float dynamic[];
  const unsigned i = threadIdx.x;
  fixed[i] = dynamic[i] = static_cast<float>(blockIdx.x + i);
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (i < half) {
      fixed[i] += fixed[i + half];
      dynamic[i] += dynamic[i + half];
    }
    __syncthreads();
  }
  float lanes = static_cast<float>(i % warpSize);
  for (int offset = 16; offset > 0; offset /= 2) lanes += __shfl_down_sync(0xffffffffu, lanes, offset);
  if (i == 0) y[blockIdx.x] = fixed[0] + (dynamic[0] - fixed[0]) * 1000 + (lanes - 496) * 1000;
}

__device__ unsigned g_count;
__device__ unsigned long long g_most;
__global__ void counts(float* y) {
  for (int turn = 0; turn < 16; ++turn) {
    atomicAdd(&g_count, 1u);
    atomicMax(&g_most, static_cast<unsigned long long>(blockIdx.x * blockDim.x + threadIdx.x));
    atomicAdd(&y[0], 1.0f);
  }
}

// Two blocks wait for each other, which they can only where both run.
__device__ unsigned g_here[2];
__global__ void meet(float* y) {
  if (blockIdx.x > 1 || threadIdx.x != 0) return;
  atomicExch(&g_here[blockIdx.x], 1u);
  while (atomicAdd(&g_here[1 - blockIdx.x], 0u) == 0) {
  }
  y[blockIdx.x] = 1;
}

// Each block waits for the one before it.
__device__ unsigned g_done[kBlocks + 1];
__global__ void chain(float* y) {
  if (threadIdx.x != 0) return;
  while (blockIdx.x != 0 && atomicAdd(&g_done[blockIdx.x - 1], 0u) == 0) {
  }
  y[blockIdx.x] = blockIdx.x == 0 ? 1 : y[blockIdx.x - 1] + 1;
  __threadfence();
  atomicExch(&g_done[blockIdx.x], 1u);
}

// Every block has the fault.
__global__ void faulty(float* y) {
  if (threadIdx.x == 7) *reinterpret_cast<volatile int*>(8) = 1;
  y[blockIdx.x] = 1;
}
__global__ void trapped(float* y) {
  if (threadIdx.x == 0) __trap();
  y[0] = 1;
}

#define RUN(name)                                                                              \
  extern "C" int run_##name(const float*, float* y, long) {                                    \
    float* on_device = nullptr;                                                                \
    musaMalloc(&on_device, 64 * sizeof(float));                                                \
    musaMemset(on_device, 0, 64 * sizeof(float));                                              \
    name<<<kBlocks, kThreads, kThreads * sizeof(float)>>>(on_device);                          \
    const int error = musaDeviceSynchronize();                                                 \
    musaMemcpy(y, on_device, 64 * sizeof(float), musaMemcpyDeviceToHost);                      \
    return error;                                                                              \
  }
RUN(sums)
RUN(meet)
RUN(chain)
RUN(faulty)
RUN(trapped)

extern "C" int run_counts(const float*, float* y, long) {
  float* on_device = nullptr;
  musaMalloc(&on_device, sizeof(float));
  musaMemset(on_device, 0, sizeof(float));
  counts<<<kBlocks, kThreads>>>(on_device);
  unsigned count = 0;
  unsigned long long most = 0;
  musaMemcpyFromSymbol(&count, g_count, sizeof count);
  musaMemcpyFromSymbol(&most, g_most, sizeof most);
  musaMemcpy(y, on_device, sizeof(float), musaMemcpyDeviceToHost);
  y[1] = static_cast<float>(count);
  y[2] = static_cast<float>(most);
  return musaDeviceSynchronize();
}
