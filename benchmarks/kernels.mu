// Kernels of which each does one thing many times, and the processor time that it takes: of `kernels NAME COUNT`, in nanoseconds a time.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

constexpr int kThreads = 256;

__global__ void nothing() {}
__global__ void saxpy(float a, const float* x, float* y, long n) {
  const long i = blockIdx.x * static_cast<long>(kThreads) + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void barriers(long times) {
  for (long i = 0; i < times; ++i) __syncthreads();
}
__global__ void shuffles(long times, float* y) {
  float value = threadIdx.x;
  for (long i = 0; i < times; ++i) value += __shfl_xor_sync(0xffffffffu, value, 1);
  y[threadIdx.x] = value;
}
__global__ void ballots(long times, float* y) {
  unsigned value = threadIdx.x;
  for (long i = 0; i < times; ++i) value += __ballot_sync(0xffffffffu, value & 1);
  y[threadIdx.x] = value;
}

static double processor_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

int main(int, char** arguments) {
  const std::string name = arguments[1];
  const long count = std::atol(arguments[2]);
  const long blocks = (count + kThreads - 1) / kThreads;  // of one thread for each time, or times of one block's threads
  float *x = nullptr, *y = nullptr;
  musaMalloc(&x, (count + kThreads) * sizeof(float));
  musaMalloc(&y, (count + kThreads) * sizeof(float));
  musaMemset(x, 0, count * sizeof(float));
  musaMemset(y, 0, count * sizeof(float));
  const double begin = processor_ns();
  if (name == "nothing") nothing<<<blocks, kThreads>>>();
  if (name == "saxpy") saxpy<<<blocks, kThreads>>>(2, x, y, count);
  if (name == "barriers") barriers<<<1, kThreads>>>(blocks);
  if (name == "shuffles") shuffles<<<1, kThreads>>>(blocks, y);
  if (name == "ballots") ballots<<<1, kThreads>>>(blocks, y);
  std::printf("%.2f\n", (processor_ns() - begin) / count);
  return musaGetLastError();
}
