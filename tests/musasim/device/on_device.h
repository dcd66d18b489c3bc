// Runs a kernel over host arrays: copies them to the simulated device and back. For the tests of device code.
#pragma once

#include <cstddef>

template <class T>
class Buffer {
 public:
  Buffer(T* host, long count) : host_(host), bytes_(static_cast<std::size_t>(count) * sizeof(T)) {
    musaMalloc(reinterpret_cast<void**>(&data_), bytes_ + 1);
    musaMemcpy(data_, host_, bytes_, musaMemcpyHostToDevice);
  }
  Buffer(const Buffer&) = delete;
  ~Buffer() { musaFree(data_); }
  T* data() { return data_; }
  void back() { musaMemcpy(host_, data_, bytes_, musaMemcpyDeviceToHost); }

 private:
  T* host_;
  T* data_ = nullptr;
  std::size_t bytes_;
};

constexpr int kThreads = 256;

inline int finished() {
  const musaError_t launched = musaGetLastError();
  const musaError_t ran = musaDeviceSynchronize();
  return launched != musaSuccess ? launched : ran;
}

// y[i] = the expression in a, b and c, element by element: an entry point map_... that takes the arrays, y and their length.
#define ELEMENTS(count) ((count) + kThreads - 1) / kThreads, kThreads
#define MAP1(name, Out, A, expression)                                                    \
  __global__ void name##_kernel(const A* as, Out* y, long n) {                            \
    const long i = blockIdx.x * static_cast<long>(kThreads) + threadIdx.x;                \
    if (i >= n) return;                                                                   \
    const A a = as[i];                                                                    \
    y[i] = expression;                                                                    \
  }                                                                                       \
  extern "C" int map_##name(A* as, Out* y, long n) {                                            \
    Buffer<A> device_as(as, n);                                                           \
    Buffer<Out> device_y(y, n);                                                           \
    name##_kernel<<<ELEMENTS(n)>>>(device_as.data(), device_y.data(), n);                 \
    device_y.back();                                                                      \
    return finished();                                                                    \
  }
#define MAP3(name, Out, A, B, C, expression)                                              \
  __global__ void name##_kernel(const A* as, const B* bs, const C* cs, Out* y, long n) {  \
    const long i = blockIdx.x * static_cast<long>(kThreads) + threadIdx.x;                \
    if (i >= n) return;                                                                   \
    const A a = as[i];                                                                    \
    const B b = bs[i];                                                                    \
    const C c = cs[i];                                                                    \
    static_cast<void>(c);                                                                 \
    y[i] = expression;                                                                    \
  }                                                                                       \
  extern "C" int map_##name(A* as, B* bs, C* cs, Out* y, long n) {                              \
    Buffer<A> device_as(as, n);                                                           \
    Buffer<B> device_bs(bs, n);                                                           \
    Buffer<C> device_cs(cs, n);                                                           \
    Buffer<Out> device_y(y, n);                                                           \
    name##_kernel<<<ELEMENTS(n)>>>(device_as.data(), device_bs.data(), device_cs.data(), device_y.data(), n); \
    device_y.back();                                                                      \
    return finished();                                                                    \
  }
