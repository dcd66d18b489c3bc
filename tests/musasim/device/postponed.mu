// Streams whose work runs in another order with MUSASIM_SEED. Each program gives the numbers 1 to 64 again, or something else with some
// seed if `shift` is not 0: then a wait is missing.
#include "on_device.h"

constexpr int kCount = 64;
constexpr size_t kBytes = kCount * sizeof(float);

__global__ void fill(float* y, float value) {
  y[threadIdx.x] = value;
}
__global__ void copy(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}
__global__ void raise(int* flag) {
  *reinterpret_cast<volatile int*>(flag) = 1;
}
__global__ void reach_beyond(float* y) {
  y[1 << 28] = 1;
}

struct Program {
  Program(const float* x, float* y, unsigned flags = musaStreamNonBlocking) : out(y) {
    for (auto& stream : streams) musaStreamCreateWithFlags(&stream, flags);
    for (auto* place : {&given, &between, &result}) musaMalloc(reinterpret_cast<void**>(place), kBytes);
    musaMallocHost(reinterpret_cast<void**>(&pinned), kBytes);
    musaEventCreate(&event);
    musaMemcpy(given, x, kBytes, musaMemcpyHostToDevice);
    musaMemset(between, 0, kBytes);
    musaMemset(result, 0, kBytes);
    for (int i = 0; i < kCount; ++i) pinned[i] = 0;
    musaDeviceSynchronize();
  }
  int end() {
    const int answer = finished();
    musaMemcpy(out, result, kBytes, musaMemcpyDeviceToHost);
    return answer;
  }
  musaStream_t streams[3];
  musaEvent_t event;
  float *given = nullptr, *between = nullptr, *result = nullptr, *pinned = nullptr, *out;
};

#define RUN(name) extern "C" int run_##name(const float* x, float* y, long shift)

RUN(another_stream) {
  Program p(x, y);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.between);
  musaEventRecord(p.event, p.streams[0]);
  if (!shift) musaStreamWaitEvent(p.streams[1], p.event, 0);
  copy<<<1, kCount, 0, p.streams[1]>>>(p.between, p.result);
  return p.end();
}
RUN(an_event_recorded_too_early) {
  Program p(x, y);
  if (shift) musaEventRecord(p.event, p.streams[0]);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.between);
  if (!shift) musaEventRecord(p.event, p.streams[0]);
  musaStreamWaitEvent(p.streams[1], p.event, 0);
  copy<<<1, kCount, 0, p.streams[1]>>>(p.between, p.result);
  return p.end();
}
RUN(by_way_of_a_third_stream) {
  Program p(x, y);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.between);
  musaEventRecord(p.event, p.streams[0]);
  musaStreamWaitEvent(p.streams[2], p.event, 0);
  if (!shift) musaEventRecord(p.event, p.streams[2]);
  if (!shift) musaStreamWaitEvent(p.streams[1], p.event, 0);
  copy<<<1, kCount, 0, p.streams[1]>>>(p.between, p.result);
  return p.end();
}
RUN(the_host_reads) {
  Program p(x, y);
  musaMemcpyAsync(p.pinned, p.given, kBytes, musaMemcpyDeviceToHost, p.streams[0]);
  musaStreamSynchronize(p.streams[shift ? 1 : 0]);
  for (int i = 0; i < kCount; ++i) y[i] = p.pinned[i];
  return finished();
}
RUN(the_host_writes) {
  Program p(x, y);
  for (int i = 0; i < kCount; ++i) p.pinned[i] = x[i];
  musaMemcpyAsync(p.result, p.pinned, kBytes, musaMemcpyHostToDevice, p.streams[0]);
  musaEventRecord(p.event, p.streams[shift ? 1 : 0]);
  musaEventSynchronize(p.event);
  for (int i = 0; i < kCount; ++i) p.pinned[i] = 0;
  return p.end();
}
RUN(a_copy_of_the_default_stream) {
  Program p(x, y, shift ? musaStreamNonBlocking : musaStreamDefault);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.result);
  musaMemcpy(y, p.result, kBytes, musaMemcpyDeviceToHost);
  return finished();
}
RUN(a_fill) {
  Program p(x, y, shift ? musaStreamNonBlocking : musaStreamDefault);
  musaMemsetAsync(p.result, 1, kBytes);
  copy<<<1, kCount, 0, p.streams[1]>>>(p.given, p.result);
  return p.end();
}

// --- always right -----------------------------------------------------------------------------------------------------------------

RUN(one_stream) {
  Program p(x, y);
  for (int i = 0; i < 100; ++i) fill<<<1, kCount, 0, p.streams[0]>>>(p.result, i);
  musaMemcpyAsync(p.between, p.given, kBytes, musaMemcpyDeviceToDevice, p.streams[0]);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.between, p.result);
  return p.end();
}
RUN(memory_of_the_program) {  // a copy from it is over when the call returns
  Program p(x, y);
  float own[kCount];
  for (int i = 0; i < kCount; ++i) own[i] = x[i];
  fill<<<1, kCount, 0, p.streams[0]>>>(p.result, 0);
  musaMemcpyAsync(p.result, own, kBytes, musaMemcpyHostToDevice, p.streams[0]);
  for (float& number : own) number = 0;
  return p.end();
}
RUN(memory_that_is_freed) {
  Program p(x, y);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.between);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.between, p.result);
  musaFree(p.between);
  musaFree(p.given);
  return p.end();
}
RUN(a_function_of_the_host) {
  Program p(x, y);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.result);
  musaMemcpyAsync(p.pinned, p.result, kBytes, musaMemcpyDeviceToHost, p.streams[0]);
  struct Both { const float* from; float* to; } both{p.pinned, y};
  musaLaunchHostFunc(p.streams[0], [](void* data) {
    const auto* told = static_cast<Both*>(data);
    for (int i = 0; i < kCount; ++i) told->to[i] = told->from[i];
  }, &both);
  return finished();
}
RUN(a_graph) {
  Program p(x, y);
  musaGraph_t graph;
  musaGraphExec_t executable;
  fill<<<1, kCount, 0, p.streams[1]>>>(p.between, 0);
  musaStreamBeginCapture(p.streams[0], musaStreamCaptureModeThreadLocal);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.between, p.result);
  musaStreamEndCapture(p.streams[0], &graph);
  musaGraphInstantiate(&executable, graph, 0);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.between);
  musaGraphLaunch(executable, p.streams[0]);
  return p.end();
}
RUN(a_flag_that_the_host_looks_at) {
  Program p(x, y);
  auto* flag = reinterpret_cast<int*>(p.pinned);
  copy<<<1, kCount, 0, p.streams[0]>>>(p.given, p.result);
  raise<<<1, 1, 0, p.streams[0]>>>(flag);
  while (*static_cast<volatile int*>(flag) == 0) {
  }
  return p.end();
}

extern "C" int run_a_fault(const float* x, float* y, long) {  // 1 where it was told of at the launch, 2 at the wait
  Program p(x, y);
  reach_beyond<<<1, 1, 0, p.streams[0]>>>(p.result);
  if (musaGetLastError() != musaSuccess) return 1;
  return musaStreamSynchronize(p.streams[0]) != musaSuccess || musaDeviceSynchronize() != musaSuccess ? 2 : 0;
}

extern "C" void copy_on(const float* x, float* y, musaStream_t stream) {  // of a library that is called from Python
  copy<<<1, kCount, 0, stream>>>(x, y);
}
