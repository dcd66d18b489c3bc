// What threads of different blocks do to the same memory. Each kernel has its fault if `shift` is not 0; lines with a fault say its name.
#include "on_device.h"

constexpr int kBlocks = 8;
constexpr int kWidth = 8;  // threads of a block

__global__ void chain(const float* x, float* y, int shift) {
  const int b = blockIdx.x;
  if (threadIdx.x == 0) y[b] = (b && shift ? y[b - 1] : 0) + x[b];  // race between blocks
}
__global__ void overlapping(const float* x, float* y, int shift) {
  const int i = blockIdx.x * (kWidth - shift) + threadIdx.x;
  y[i] = x[threadIdx.x] + blockIdx.x;  // race between blocks
}
__global__ void in_place(const float*, float* y, int shift) {
  const int i = blockIdx.x * kWidth + threadIdx.x;
  const float right = y[shift ? (i + kWidth) % (kBlocks * kWidth) : i];
  y[i] = right + 1;  // race between blocks
}
// One block sets to 0 what all of them add to.
__global__ void cleared_while_added(const float* x, float* y, int shift) {
  if (shift && blockIdx.x == 0 && threadIdx.x == 0) y[0] = 0;
  atomicAdd(&y[0], x[threadIdx.x]);  // race between blocks
}
// The last block to end adds what the others have left. Without the fence, it may not see it.
__device__ unsigned ended[2];
__global__ void last_block(const float* x, float* y, int shift) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    y[1 + blockIdx.x] = x[blockIdx.x];
    if (!shift) __threadfence();
    is_last = (shift ? blockIdx.x : atomicInc(&ended[0], kBlocks - 1)) == kBlocks - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 1) return;
  float sum = 0;
  for (int b = 0; b < kBlocks; ++b) sum += y[1 + b];  // race between blocks
  y[0] = sum;
}
// Only one thread uses the fence, after a barrier.
__global__ void told_after_barrier(const float* x, float* y, int shift) {
  __shared__ bool is_last;
  y[blockIdx.x * kWidth + threadIdx.x] = x[threadIdx.x];
  if (!shift) __syncthreads();
  if (threadIdx.x == kWidth - 1) {
    __threadfence();
    is_last = atomicInc(&ended[1], kBlocks - 1) == kBlocks - 1;
  }
  __syncthreads();
  if (is_last) y[threadIdx.x] += y[kWidth + threadIdx.x];  // race between blocks
}
// A block waits for a flag that the one before has set. Every thread is there at once, as far as blocks begin in order.
__global__ void waits_for_flag(const float* x, float* y, int shift) {
  if (threadIdx.x != 0) return;
  volatile float* flags = y + kBlocks;
  const int b = blockIdx.x;
  while (!shift && b != 0 && flags[b - 1] != 1) {
  }
  y[b] = x[b] + (b ? y[b - 1] : 0);  // race between blocks
  if (!shift) __threadfence();
  if (!shift) flags[b] = 1;
}
__global__ void same_value(const float*, float* y, int shift) {
  if (threadIdx.x == 0) y[0] = shift ? blockIdx.x : 1;  // race between blocks
}
// A variable of the device is shared by all blocks, and by the launches after this one.
__device__ float latest[2], table[kBlocks];
__global__ void of_a_variable(const float* x, float* y, int shift) {
  if (threadIdx.x == 0 && (shift || blockIdx.x == 0)) latest[blockIdx.x % 2] = x[blockIdx.x];  // race between blocks
  if (threadIdx.x == 0 && blockIdx.x == 0) y[0] = latest[0];
}
__global__ void of_a_table(const float* x, float* y, int shift) {
  if (threadIdx.x == 0) table[blockIdx.x] = x[blockIdx.x];
  if (threadIdx.x == 0) y[blockIdx.x] = table[(blockIdx.x + kBlocks - shift) % kBlocks];  // race between blocks
}
__device__ int counted[2];

// Right, whatever `shift` is.
__global__ void counts_in_a_variable(const float* x, float* y, int) {
  atomicAdd(&counted[static_cast<int>(x[threadIdx.x]) % 2], 1);
  if (threadIdx.x == 0) y[blockIdx.x] = 0;
}
__global__ void counts(const float* x, float* y, int) {
  atomicAdd(&y[static_cast<int>(x[threadIdx.x]) % 4], 1);
}
__global__ void reads_what_all_read(const float* x, float* y, int) {
  y[blockIdx.x * kWidth + threadIdx.x] = x[0] + x[threadIdx.x];
}
__global__ void guarded(const float* x, float* y, int) {
  if (threadIdx.x != 0) return;
  int* lock = reinterpret_cast<int*>(y);
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  y[1] += x[blockIdx.x];
  __threadfence();
  atomicExch(lock, 0);
}
__global__ void neighbours(const float* x, float* y, int) {
  auto* bytes = reinterpret_cast<unsigned char*>(y);
  if (threadIdx.x == 0) bytes[blockIdx.x] = static_cast<unsigned char>(x[blockIdx.x]);
}
__global__ void shared_of_each(const float* x, float* y, int) {
  __shared__ float kept[kWidth];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[blockIdx.x * kWidth + threadIdx.x] = kept[kWidth - 1 - threadIdx.x];
}

#define RUN(name)                                                                              \
  extern "C" int run_##name(float* x, float* y, long shift) {                                  \
    for (int i = 0; i < 64; ++i) y[i] = 0;                                                     \
    Buffer<float> in(x, 64), out(y, 64);                                                       \
    name<<<kBlocks, kWidth>>>(in.data(), out.data(), static_cast<int>(shift));                 \
    out.back();                                                                                \
    return finished();                                                                         \
  }
RUN(chain)
RUN(overlapping)
RUN(in_place)
RUN(cleared_while_added)
RUN(last_block)
RUN(told_after_barrier)
RUN(waits_for_flag)
RUN(same_value)
RUN(of_a_variable)
RUN(of_a_table)
RUN(counts_in_a_variable)
RUN(counts)
RUN(reads_what_all_read)
RUN(guarded)
RUN(neighbours)
RUN(shared_of_each)

// --- barriers, memory of a block, leaks -------------------------------------------------------------------------------------------

__global__ void half_of_a_block(const float* x, float* y, int shift) {
  if (shift && threadIdx.x >= 32) return;
  __syncthreads();  // divergent barrier
  y[threadIdx.x] = x[threadIdx.x];
}
__global__ void another_barrier(const float* x, float* y, int shift) {
  if (shift && threadIdx.x >= 32) {
    __syncthreads();
  } else {
    __syncthreads();  // divergent barrier
  }
  y[threadIdx.x] = x[threadIdx.x];
}
__global__ void much_shared(const float* x, float* y, int shift) {
  __shared__ float first[6000];
  first[threadIdx.x] = x[threadIdx.x];
  if (shift) {
    __shared__ float second[7000];  // too much shared memory
    second[threadIdx.x] = first[threadIdx.x];
    y[threadIdx.x] = second[threadIdx.x];
  }
}
#define RUN_ONE_BLOCK(name, dynamic)                                                           \
  extern "C" int run_##name(float* x, float* y, long shift) {                                  \
    Buffer<float> in(x, 64), out(y, 64);                                                       \
    name<<<1, 64, dynamic>>>(in.data(), out.data(), static_cast<int>(shift));                  \
    out.back();                                                                                \
    return finished();                                                                         \
  }
RUN_ONE_BLOCK(half_of_a_block, 0)
RUN_ONE_BLOCK(another_barrier, 0)
RUN_ONE_BLOCK(much_shared, 0)

__global__ void also_dynamic(const float* x, float* y, int) {
  __shared__ float fixed[3000];
  fixed[threadIdx.x] = x[threadIdx.x];  // too much shared memory
  y[threadIdx.x] = fixed[threadIdx.x];
}
RUN_ONE_BLOCK(also_dynamic, shift ? 40000 : 30000)

extern "C" int run_leak(float* x, float*, long shift) {
  float* kept = nullptr;
  musaMalloc(reinterpret_cast<void**>(&kept), 400);  // leak
  musaMemcpy(kept, x, 64 * sizeof(float), musaMemcpyHostToDevice);
  if (!shift) musaFree(kept);
  return finished();
}
