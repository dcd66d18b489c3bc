// What streams do to the same memory. Each program has its fault if `shift` is not 0; `// one` is where the fault shows, and `// other` the
// work that nothing orders before it.
#include "on_device.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(float);

__global__ void write(float* y) {
  y[threadIdx.x] = threadIdx.x;  // write
}
__global__ void read(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // read
}
__global__ void count(int* n) {
  atomicAdd(n, 1);
}

struct Program {
  explicit Program(unsigned flags = musaStreamNonBlocking) {
    for (auto& stream : streams) musaStreamCreateWithFlags(&stream, flags);
    musaMalloc(reinterpret_cast<void**>(&a), kBytes);
    musaMalloc(reinterpret_cast<void**>(&b), kBytes);
    musaMallocHost(reinterpret_cast<void**>(&host), kBytes);
    musaMemset(a, 0, kBytes);
    musaMemset(b, 0, kBytes);
    musaEventCreate(&event);
    musaDeviceSynchronize();
  }
  ~Program() {
    musaFreeHost(host);
    musaFree(a);
    musaFree(b);
  }
  musaStream_t streams[2];
  musaEvent_t event;
  float *a = nullptr, *b = nullptr, *host = nullptr;
};

#define RUN(name) extern "C" int run_##name(float*, float*, long shift)

RUN(kernels) {
  Program p;
  write<<<1, kCount, 0, p.streams[0]>>>(p.a);
  musaEventRecord(p.event, p.streams[0]);
  if (!shift) musaStreamWaitEvent(p.streams[1], p.event, 0);
  read<<<1, kCount, 0, p.streams[1]>>>(p.a, p.b);
  return finished();
}
RUN(copy) {
  Program p;
  write<<<1, kCount, 0, p.streams[0]>>>(p.a);
  if (!shift) musaStreamSynchronize(p.streams[0]);
  musaMemcpyAsync(p.host, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[1]);  // one
  return finished();
}
RUN(fill) {  // musaMemset does not wait, and a stream of this kind does not wait for it
  Program p;
  musaMemset(p.a, 1, kBytes);  // other
  if (!shift) musaDeviceSynchronize();
  read<<<1, kCount, 0, p.streams[1]>>>(p.a, p.b);
  return finished();
}
RUN(host_reads) {
  Program p;
  musaMemcpyAsync(p.host, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[0]);  // other
  if (!shift) musaStreamSynchronize(p.streams[0]);
  const volatile float* seen = p.host;
  const float first = seen[3];  // one
  return first == 0 ? finished() : -1;
}
RUN(host_writes) {
  Program p;
  musaMemcpyAsync(p.a, p.host, kBytes, musaMemcpyHostToDevice, p.streams[0]);  // other
  if (!shift) musaStreamSynchronize(p.streams[0]);
  volatile float* changed = p.host;
  changed[3] = 1;  // one
  return finished();
}
RUN(freed_in_another_stream) {
  Program p;
  float* own = nullptr;
  musaMallocAsync(reinterpret_cast<void**>(&own), kBytes, p.streams[0]);
  write<<<1, kCount, 0, p.streams[0]>>>(own);
  musaFreeAsync(own, p.streams[shift ? 1 : 0]);  // one
  return finished();
}

// --- always right -----------------------------------------------------------------------------------------------------------------

RUN(atomics) {
  Program p;
  count<<<1, 32, 0, p.streams[0]>>>(reinterpret_cast<int*>(p.a));
  count<<<1, 32, 0, p.streams[1]>>>(reinterpret_cast<int*>(p.a));
  return finished();
}
RUN(streams_that_wait_for_the_default_one) {
  Program p(musaStreamDefault);
  write<<<1, kCount, 0, p.streams[0]>>>(p.a);
  read<<<1, kCount>>>(p.a, p.b);
  write<<<1, kCount, 0, p.streams[1]>>>(p.a);
  return finished();
}
RUN(two_read) {
  Program p;
  read<<<1, kCount, 0, p.streams[0]>>>(p.a, p.b);
  musaMemcpyAsync(p.host, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[1]);
  return finished();
}
RUN(parts) {
  Program p;
  write<<<1, kCount / 2, 0, p.streams[0]>>>(p.a);
  write<<<1, kCount / 2, 0, p.streams[1]>>>(p.a + kCount / 2);
  return finished();
}
RUN(host_is_told) {
  Program p;
  static float seen;
  musaMemcpyAsync(p.host, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[0]);
  musaLaunchHostFunc(p.streams[0], [](void* data) { seen = static_cast<float*>(data)[3]; }, p.host);
  return finished();
}
RUN(copies_that_wait) {
  Program p;
  float ordinary[kCount];
  write<<<1, kCount>>>(p.a);
  musaMemcpy(p.host, p.a, kBytes, musaMemcpyDeviceToHost);
  musaMemcpyAsync(ordinary, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[0]);
  p.host[3] = ordinary[3];
  read<<<1, kCount, 0, p.streams[1]>>>(p.a, p.b);
  return finished();
}
RUN(a_kernel_uses_what_a_copy_is_busy_with) {
  Program p;
  musaMemcpyAsync(p.host, p.a, kBytes, musaMemcpyDeviceToHost, p.streams[0]);
  read<<<1, kCount, 0, p.streams[0]>>>(p.host, p.b);
  return finished();
}
