// Every way to write a kernel and a launch that real code was seen to use. Prints one line for each that is wrong.
#include <cstdio>
#include <tuple>
#include <utility>
#include <vector>

#include "launches.muh"

namespace deep {
namespace er {
template <int A, int B = (1 > 0) ? 2 : 3, typename... Rest>
__global__ void constants(int* out, Rest... rest) {
  out[threadIdx.x] = A * 100 + B * 10 + (0 + ... + rest);
}
}  // namespace er
struct Pair {
  int first = 1, second = 2;
};
}  // namespace deep

template <typename Function>
__global__ void apply(int* out, Function function) {
  out[threadIdx.x] = function(threadIdx.x);
}

__global__ void unnamed(int* out, int, float*, deep::Pair, const int = 3) { out[threadIdx.x] = 5; }
__global__ void changes(int* out, int n, const unsigned step) {
  n += static_cast<int>(threadIdx.x * step);  // a parameter is the thread's own
  out[threadIdx.x] = n;
}
__global__ void call_pointer(int* out, int (*function)(int)) { out[threadIdx.x] = function(threadIdx.x); }
__global__ void array_parameter(int out[], const deep::Pair pair) { out[threadIdx.x] = pair.first + pair.second; }
static __global__ __launch_bounds__(64) void bounded(int* out) { out[threadIdx.x] = 9; }
extern "C" __global__ void c_name(int* __restrict__ out, const int* __restrict__ in) { out[threadIdx.x] = in[0]; }
void __global__ word_order(int* out) { out[threadIdx.x] = 8; }
__global__ void declared_first(int* out, int value = 6);
__global__ void declared_first(int* out, int value) { out[threadIdx.x] = value; }

template <typename T>
__global__ void specialised(T* out) { out[threadIdx.x] = 1; }
template <>
__global__ void specialised<int>(int* out) { out[threadIdx.x] = 2; }
template __global__ void specialised<float>(float* out);

__device__ int twice(int x) { return 2 * x; }
__host__ __device__ constexpr int more(int x) { return x + 1; }
struct Functor {
  int base;
  __host__ __device__ Functor(int base_) : base{base_} {}
  __device__ __forceinline__ int operator()(int x) const { return base + x; }
};

template <typename T>
struct Launcher {
  int threads = 4;
  void run(T* out) const {
    auto kernel = &specialised<T>;
    kernel<<<1, this->threads>>>(out);
  }
  template <typename U>
  static void other(U* out) { specialised<U><<<dim3(1, 1, 1), dim3{4}>>>(out); }
};

__constant__ int table[4] = {10, 20, 30, 40};
__device__ int counter;
__device__ float grid_of[2][3];
__global__ void symbols(int* out) {
  out[threadIdx.x] = table[threadIdx.x];
  counter += 1;
  grid_of[1][2] = 7.5f;
}

template <typename T, int N>
__global__ void shapes(int* out) {
  __shared__ T plain[N], *pointer;
  __shared__ union {
    T typed[2][N];
    char raw[8];
  } either;
  __shared__ typename std::pair<T, int> pair;
  extern __shared__ __align__(16) unsigned char bytes[];
  T* dynamic = reinterpret_cast<T*>(&bytes);
  plain[threadIdx.x] = threadIdx.x;
  dynamic[threadIdx.x] = 1;
  if (threadIdx.x == 0) {
    pointer = plain;
    pair.second = 3;
  }
  either.typed[1][threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = pointer[N - 1 - threadIdx.x] + dynamic[N - 1] + either.typed[1][0] + pair.second;
}

extern __shared__ int rows[][2];
__global__ void two_dimensions(int* out) {
  rows[threadIdx.x][1] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = rows[3 - threadIdx.x][1];
}

static int* g_out;
static int failures = 0;

static void expect(const char* what, std::vector<int> wanted) {
  std::vector<int> found(wanted.size());
  musaMemcpy(found.data(), g_out, found.size() * sizeof(int), musaMemcpyDeviceToHost);
  const auto error = musaGetLastError();
  if (found != wanted || error != musaSuccess) {
    ++failures;
    std::printf("%s: %d %d %d %d (%s)\n", what, found[0], found[1], found[2], found[3], musaGetErrorString(error));
  }
  musaMemset(g_out, 0, 64 * sizeof(int));
}

static int blocks() {
  fill_all(g_out, 1, 4);  // a launch among the configuration of another one
  return 1;
}

int main() {
  musaMalloc(&g_out, 64 * sizeof(int));
  int* const out = g_out;
  LAUNCH(fill<int>, 1, 4, out, 3, 4);
  expect("macro", {3, 3, 3, 3});
  LAUNCH((deep::er::constants<4, (2 > 1), int>), 1, 4, out, 5);
  expect("macro with a comma", {415, 415, 415, 415});
  fill_all(out, 7, 4);
  expect("header", {7, 7, 7, 7});
  deep::er::constants<3><<<1, 4>>>(out);
  expect("default template argument", {320, 320, 320, 320});
  ::deep::er::constants<3, (4 >> 1), int, int><<< 1 , 4 , 0 , 0 >>>( out , 1 , 2 );
  expect("spaces and shifts", {323, 323, 323, 323});
  fill<<<blocks(), 4>>>(out, 2, 4);
  expect("deduced, with a nested launch", {2, 2, 2, 2});
  apply<<<1, 4>>>(out, [] __device__(int i) { return i * i; });
  expect("device lambda", {0, 1, 4, 9});
  int offset = 5;
  apply<<<1, 4>>>(out, [=] __host__ __device__(int i) -> int { return more(i) + offset; });
  expect("host device lambda", {6, 7, 8, 9});
  apply<<<1, 4>>>(out, Functor(3));
  expect("functor", {3, 4, 5, 6});
  unnamed<<<1, 4>>>(out, 1, NULL, {}, 0);
  expect("unnamed parameters", {5, 5, 5, 5});
  changes<<<1, 4>>>(out, 1, 2u);
  expect("assignment to a parameter", {1, 3, 5, 7});
  call_pointer<<<1, 4>>>(out, twice);
  expect("function pointer parameter", {0, 2, 4, 6});
  array_parameter<<<1, 4>>>(out, {});
  expect("braces for an argument", {3, 3, 3, 3});
  bounded<<<1, 4>>>(out);
  expect("launch bounds", {9, 9, 9, 9});
  word_order<<<1, 4>>>(out);
  expect("void __global__", {8, 8, 8, 8});
  declared_first<<<1, 4>>>(out);
  expect("declared first, with a default", {6, 6, 6, 6});
  specialised<<<1, 4>>>(out);
  expect("specialisation", {2, 2, 2, 2});
  Launcher<int>{}.run(out);
  expect("pointer, from a member", {2, 2, 2, 2});
  Launcher<float>::other<int>(out);
  expect("static member template", {2, 2, 2, 2});
  void (*pointer)(int*, int) = declared_first;
  (*pointer)<<<1, 4>>>(out, 4);
  expect("through a pointer", {4, 4, 4, 4});
  void (*pointers[])(int*) = {word_order, bounded};
  pointers[1]<<<1, 4>>>(out);
  expect("through an array", {9, 9, 9, 9});
  if (offset == 5) word_order<<<1, 4>>>(out); else bounded<<<1, 4>>>(out);
  expect("without braces", {8, 8, 8, 8});
  [&] { c_name<<<1, 4>>>(out + 1, out); }();
  expect("in a lambda", {0, 0, 0, 0});

  int value = 11, step = 1;
  void* arguments[] = {&g_out, &value, &step};
  musaLaunchKernel((const void*)changes, dim3(1), dim3(4), arguments, 0, nullptr);
  expect("musaLaunchKernel", {11, 12, 13, 14});
  musaLaunchKernel(fill<int>, 1, 4, arguments);
  expect("musaLaunchKernel, typed", {11, 0, 0, 0});

  int host[4] = {1, 2, 3, 4}, size = 0;
  musaMemcpyToSymbol(table, host, sizeof(host));
  symbols<<<1, 4>>>(out);
  expect("symbols", {1, 2, 3, 4});
  float middle = 0;
  size_t bytes = 0;
  musaMemcpyFromSymbol(&size, counter, sizeof(int));
  musaMemcpyFromSymbol(&middle, grid_of, sizeof(float), 5 * sizeof(float));
  musaGetSymbolSize(&bytes, grid_of);
  if (size != 4 || middle != 7.5f || bytes != 24) std::printf("symbols: %d %g %zu\n", size, middle, bytes), ++failures;
  if (musaMemcpyToSymbol(size, host, 4) != musaErrorInvalidSymbol) std::printf("a host variable is no symbol\n"), ++failures;
  if (musaMemcpyToSymbol(table, host, 8, 12) != musaErrorInvalidValue) std::printf("beyond a symbol\n"), ++failures;
  musaGetLastError();

  shapes<float, 4><<<1, 4, 4 * sizeof(float)>>>(out);
  expect("shared variables", {9, 8, 7, 6});
  two_dimensions<<<1, 4, 4 * 2 * sizeof(int)>>>(out);
  expect("dynamic shared memory of two dimensions", {3, 2, 1, 0});
  std::printf("%d wrong\n", failures);
  return failures;
}
