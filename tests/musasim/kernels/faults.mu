// Launches that fail, one for each process: the argument says which. Prints the error of the launch, of what comes after it,
// and of musaGetLastError, twice.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

__global__ void nothing(int*) {}
__global__ void __launch_bounds__(64) bounded(int*) {}
__global__ void bad_address(int* p) { *reinterpret_cast<volatile int*>(threadIdx.x == 2 ? 16 : reinterpret_cast<size_t>(p)) = 1; }
__global__ void asserts(int* p) { assert(threadIdx.x != 3 && "three is too many"); p[0] = 1; }
__global__ void traps(int*) { if (threadIdx.x == 1) __trap(); __syncthreads(); }
__global__ void divides(int* p) { p[0] = 100 / (p[1] + static_cast<int>(threadIdx.x) - 1); }
__host__ __device__ void refuse() { throw std::runtime_error("no"); }
__global__ void throws(int*) { if (threadIdx.x == 1) refuse(); }
__host__ __device__ void reset(int* p) { musaMemset(p, 0, 4); }
__global__ void calls_host(int* p) { reset(p); }
__global__ void two_barriers(int*) {
  if (threadIdx.x < 4) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void barrier_and_warp(int*) {
  if (threadIdx.x < 4) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}
__global__ void wrong_mask(int*) { __syncwarp(1); }
__device__ int deep(int n) { volatile char big[4096]; big[n & 4095] = 1; return n < 0 ? 0 : deep(n + 1) + big[0]; }
__global__ void recurses(int* p) { p[0] = deep(0); }
__global__ void grid_barrier(int*) { musasim_grid_barrier(); }

int main(int, char** arguments) {
  const std::string what = arguments[1];
  int* p = nullptr;
  musaMalloc(&p, 64);
  if (what == "no threads") nothing<<<1, 0>>>(p);
  if (what == "many threads") nothing<<<1, 1025>>>(p);
  if (what == "deep block") nothing<<<1, dim3(1, 1, 65)>>>(p);
  if (what == "tall grid") nothing<<<dim3(1, 65536), 1>>>(p);
  if (what == "negative") nothing<<<-1, 1>>>(p);
  if (what == "bounds") bounded<<<1, 65>>>(p);
  if (what == "shared") nothing<<<1, 1, 48 * 1024 + 1>>>(p);
  if (what == "stream") nothing<<<1, 1, 0, reinterpret_cast<musaStream_t>(&p)>>>(p);
  if (what == "other device") {
    musaStream_t stream;
    musaStreamCreate(&stream);
    musaSetDevice(1);
    nothing<<<1, 1, 0, stream>>>(p);
  }
  if (what == "no configuration") nothing(p);
  if (what == "not a kernel") musaLaunchKernel(static_cast<const void*>(nullptr), dim3(1), dim3(1), nullptr, 0, nullptr);
  if (what == "bad address") bad_address<<<1, 4>>>(p);
  if (what == "assert") asserts<<<dim3(1, 2), 8>>>(p);
  if (what == "trap") traps<<<1, 8>>>(p);
  if (what == "divide") divides<<<1, 8>>>(p);
  if (what == "throw") throws<<<1, 8>>>(p);
  if (what == "host call") calls_host<<<1, 1>>>(p);
  if (what == "two barriers") two_barriers<<<1, 8>>>(p);
  if (what == "barrier and warp") barrier_and_warp<<<1, 8>>>(p);
  if (what == "wrong mask") wrong_mask<<<1, 8>>>(p);
  if (what == "recursion") recurses<<<1, 8>>>(p);
  if (what == "grid barrier") grid_barrier<<<1, 8>>>(p);
  if (what == "memory") musaMalloc(&p, size_t{1} << 40);
  const auto launch = musaPeekAtLastError();
  const auto after = musaDeviceSynchronize();
  const auto first = musaGetLastError();
  const auto second = musaGetLastError();
  std::printf("%s %d %d %d\n", musaGetErrorName(launch), after, first, second);
  nothing<<<1, 1>>>(p);
  std::printf("%s\n", musaGetErrorString(musaGetLastError()));
}
