// Faults that are planted, each in a kernel of its own, and the same kernels without them. Lines with a fault say its name.
#include <numeric>
#include <string>

#include "on_device.h"

constexpr int kCount = 64;

// GCC tells of variables of the host that a program initialises, and of arrays of a size that it computes.
static const std::string on_the_host(64, 'x');
extern "C" int sum_of_squares(int n) {
  int squares[n];
  for (int i = 0; i < n; ++i) squares[i] = i * i;
  return std::accumulate(squares, squares + n, static_cast<int>(on_the_host.size()));
}

__global__ void read_past_end(const float* x, float* y, int shift) {
  y[threadIdx.x] = x[threadIdx.x + shift];  // read out of bounds
}
__global__ void write_past_end(const float* x, float* y, int shift) {
  y[threadIdx.x + shift] = x[threadIdx.x];  // write out of bounds
}
__global__ void read_before(const float* x, float* y, int shift) {
  y[threadIdx.x] = x[static_cast<int>(threadIdx.x) - shift];  // read out of bounds
}
__global__ void add_past_end(const float* x, float* y, int shift) {
  atomicAdd(&y[threadIdx.x + shift], x[threadIdx.x]);  // write out of bounds
}
__global__ void shared_unwritten(const float* x, float* y, int shift) {
  __shared__ float kept[kCount + 1];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = kept[threadIdx.x + shift];  // uninitialised read
}
__global__ void race_write_write(const float* x, float* y, int shift) {
  __shared__ float kept[kCount];
  kept[shift ? 0 : threadIdx.x] = x[threadIdx.x];  // race
  __syncthreads();
  y[threadIdx.x] = kept[shift ? 0 : threadIdx.x];
}
__global__ void race_of_values(const float* x, float* y, int shift) {
  y[0] = shift ? x[threadIdx.x] : x[5];  // race
}
__global__ void race_missing_barrier(const float* x, float* y, int shift) {
  __shared__ float kept[kCount];
  kept[threadIdx.x] = x[threadIdx.x];
  if (!shift) __syncthreads();
  y[threadIdx.x] = kept[shift ? (threadIdx.x + kCount - shift) % kCount : threadIdx.x];  // race
}
__global__ void race_at_a_fixed_place(const float* x, float* y, int shift) {
  __shared__ float kept[kCount];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = kept[0];
  if (!shift) __syncthreads();
  if (threadIdx.x == 0) kept[0] = 0;  // race
}
template <class Number>
__global__ void race_of_a_variable(const Number* x, Number* y, int shift) {
  __shared__ Number first;
  if (threadIdx.x == 0) first = x[0];
  if (!shift) __syncthreads();
  y[threadIdx.x] = first;  // race
}
__global__ void race_in_global_memory(const float* x, float* y, int shift) {
  y[threadIdx.x / (shift + 1)] = x[threadIdx.x];  // race
}
__global__ void misaligned(const float* x, float* y, int shift) {
  if (threadIdx.x < kCount / 4 - 1) {
    const float4 four = *reinterpret_cast<const float4*>(x + 4 * threadIdx.x + shift);  // misaligned access
    reinterpret_cast<float4*>(y)[threadIdx.x] = four;
  }
}
// Two lanes of a warp that exchange something, and a lock, order what threads do.
__global__ void ordered(const float* x, float* y, int) {
  __shared__ float kept[kCount];
  __shared__ int lock;
  __shared__ float sum;
  if (threadIdx.x == 0) lock = 0, sum = 0;
  __syncthreads();
  kept[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  y[threadIdx.x] = kept[threadIdx.x ^ 1];
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  sum += x[threadIdx.x];
  __threadfence();
  atomicExch(&lock, 0);
}

// Names a kernel: runs it with the fault if `shift` is not 0.
#define RUN(name)                                                         \
  extern "C" int run_##name(float* x, float* y, long shift) {             \
    Exact in(x), out(y);                                                  \
    name<<<1, kCount>>>(in.data, out.data, static_cast<int>(shift));      \
    return finished();                                                    \
  }

struct Exact {
  explicit Exact(float* host) {
    musaMalloc(reinterpret_cast<void**>(&data), kCount * sizeof(float));
    musaMemcpy(data, host, kCount * sizeof(float), musaMemcpyHostToDevice);
  }
  ~Exact() { musaFree(data); }
  float* data = nullptr;
};

RUN(read_past_end)
RUN(write_past_end)
RUN(read_before)
RUN(add_past_end)
RUN(shared_unwritten)
RUN(race_write_write)
RUN(race_of_values)
RUN(race_missing_barrier)
RUN(race_at_a_fixed_place)
RUN(race_of_a_variable)
RUN(race_in_global_memory)
RUN(misaligned)
RUN(ordered)

__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // uninitialised read
}
extern "C" int run_global_unwritten(float* x, float* y, long shift) {
  Exact out(y);
  float* fresh = nullptr;
  musaMalloc(reinterpret_cast<void**>(&fresh), kCount * sizeof(float));
  if (!shift) musaMemcpy(fresh, x, kCount * sizeof(float), musaMemcpyHostToDevice);
  copy<<<1, kCount>>>(fresh, out.data);
  musaFree(fresh);
  return finished();
}

__global__ void read_freed(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // read after free
}
extern "C" int run_read_freed(float* x, float* y, long shift) {
  Exact in(x), out(y);
  float* gone = nullptr;
  musaMalloc(reinterpret_cast<void**>(&gone), kCount * sizeof(float));
  musaMemcpy(gone, x, kCount * sizeof(float), musaMemcpyHostToDevice);
  if (shift) musaFree(gone);
  read_freed<<<1, 1>>>(gone, out.data);
  if (!shift) musaFree(gone);
  return finished();
}

// On memory that the caller has: a tensor's.
extern "C" int launch_read_past_end(float* x, float* y, long shift) {
  read_past_end<<<1, kCount>>>(x, y, static_cast<int>(shift));
  return finished();
}
extern "C" int launch_race_missing_barrier(float* x, float* y, long shift) {
  race_missing_barrier<<<1, kCount>>>(x, y, static_cast<int>(shift));
  return finished();
}
