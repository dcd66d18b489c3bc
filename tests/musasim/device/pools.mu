// Memory in the order of streams, and the pools that it comes from.
#include <cstdint>

#include "on_device.h"

constexpr int kCount = 4096;
constexpr size_t kBytes = kCount * sizeof(int);

__global__ void number(int* values, int first, int shift) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i + shift] = first + i;  // past the end
}
__global__ void add(const int* values, int* sums) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[i] += values[i];  // after it was freed
}

static uint64_t amount(musaMemPool_t pool, musaMemPoolAttr attribute) {
  uint64_t value = ~uint64_t{0};
  musaMemPoolGetAttribute(pool, attribute, &value);
  return value;
}

// What is held, the most of it, what is in use, and the most of that.
static long* report(musaMemPool_t pool, long* numbers) {
  for (auto attribute : {musaMemPoolAttrReservedMemCurrent, musaMemPoolAttrReservedMemHigh, musaMemPoolAttrUsedMemCurrent,
                         musaMemPoolAttrUsedMemHigh}) {
    *numbers++ = static_cast<long>(amount(pool, attribute));
  }
  return numbers;
}

static musaMemPoolProps plain(int device) {
  musaMemPoolProps properties = {};
  properties.allocType = musaMemAllocationTypePinned;
  properties.handleTypes = musaMemHandleTypeNone;
  properties.location.type = musaMemLocationTypeDevice;
  properties.location.id = device;
  return properties;
}

struct Own {  // a pool and two streams
  Own() {
    const auto properties = plain(0);
    musaMemPoolCreate(&pool, &properties);
    for (auto& stream : streams) musaStreamCreateWithFlags(&stream, musaStreamNonBlocking);
    musaEventCreate(&event);
  }
  ~Own() {
    musaEventDestroy(event);
    for (auto& stream : streams) musaStreamDestroy(stream);
    musaMemPoolDestroy(pool);
  }
  musaMemPool_t pool = nullptr;
  musaStream_t streams[2];
  musaEvent_t event;
};

// A block is used in a stream's order, freed, and another one taken, in another stream that waits.
extern "C" int run_order(int* result, long rounds) {
  Own own;
  int *sums = nullptr, *values = nullptr;
  musaMallocAsync(&sums, kBytes, own.pool, own.streams[1]);
  musaMemsetAsync(sums, 0, kBytes, own.streams[1]);
  for (long round = 0; round < rounds; ++round) {
    musaMallocFromPoolAsync(&values, kBytes, own.pool, own.streams[0]);
    number<<<kCount / 256, 256, 0, own.streams[0]>>>(values, static_cast<int>(round), 0);
    musaEventRecord(own.event, own.streams[0]);
    musaStreamWaitEvent(own.streams[1], own.event, 0);
    add<<<kCount / 256, 256, 0, own.streams[1]>>>(values, sums);
    musaFreeAsync(values, own.streams[1]);
    musaEventRecord(own.event, own.streams[1]);
    musaStreamWaitEvent(own.streams[0], own.event, 0);
  }
  musaMemcpyAsync(result, sums, kBytes, musaMemcpyDeviceToHost, own.streams[1]);
  musaFreeAsync(sums, own.streams[1]);
  return finished();
}

// Of nothing, of one block, of none again before a wait and after it; with a threshold the same; trimmed; the most of each reset.
extern "C" int run_amounts(long* numbers, long bytes) {
  Own own;
  numbers = report(own.pool, numbers);
  for (uint64_t threshold : {uint64_t{0}, ~uint64_t{0}}) {
    musaMemPoolSetAttribute(own.pool, musaMemPoolAttrReleaseThreshold, &threshold);
    void* block = nullptr;
    musaMallocFromPoolAsync(&block, static_cast<size_t>(bytes), own.pool, own.streams[0]);
    numbers = report(own.pool, numbers);
    musaFreeAsync(block, own.streams[0]);
    musaStreamSynchronize(own.streams[0]);
    numbers = report(own.pool, numbers);
  }
  musaMemPoolTrimTo(own.pool, 0);
  uint64_t none = 0;
  musaMemPoolSetAttribute(own.pool, musaMemPoolAttrReservedMemHigh, &none);
  musaMemPoolSetAttribute(own.pool, musaMemPoolAttrUsedMemHigh, &none);
  report(own.pool, numbers);
  return finished();
}

// How much less of the device is free while a pool holds a freed block, and after each of three ways to wait.
extern "C" int run_held(long* numbers, long way) {
  Own own;
  size_t before = 0, held = 0, after = 0, total = 0;
  musaDeviceSynchronize();
  musaMemGetInfo(&before, &total);
  void* block = nullptr;
  musaMallocFromPoolAsync(&block, size_t{64} << 20, own.pool, own.streams[0]);
  musaFreeAsync(block, own.streams[0]);
  musaMemGetInfo(&held, &total);
  musaEventRecord(own.event, own.streams[0]);
  if (way == 0) musaStreamSynchronize(own.streams[0]);
  if (way == 1) musaEventSynchronize(own.event);
  if (way == 2) musaDeviceSynchronize();
  musaMemGetInfo(&after, &total);
  numbers[0] = static_cast<long>(before - held);
  numbers[1] = static_cast<long>(before - after);
  return finished();
}

// A device's pool is the default one, until another one is set, which is destroyed.
extern "C" int run_current(long* numbers, long bytes) {
  Own own;
  musaMemPool_t first = nullptr, current = nullptr;
  musaDeviceGetDefaultMemPool(&first, 0);
  musaDeviceGetMemPool(&current, 0);
  numbers[0] = first == current;
  numbers[1] = musaDeviceSetMemPool(0, own.pool);
  musaDeviceGetMemPool(&current, 0);
  numbers[2] = current == own.pool;
  void* block = nullptr;
  musaMallocAsync(&block, static_cast<size_t>(bytes), own.streams[0]);
  numbers[3] = amount(own.pool, musaMemPoolAttrUsedMemCurrent) >= static_cast<uint64_t>(bytes);
  numbers[4] = musaMemPoolDestroy(own.pool);  // the block stays
  own.pool = first;
  musaDeviceGetMemPool(&current, 0);
  numbers[5] = current == first;
  numbers[6] = musaMemsetAsync(block, 1, static_cast<size_t>(bytes), own.streams[0]);
  numbers[7] = musaFree(block);
  return finished();
}

extern "C" int run_settings(long* numbers, long) {
  Own own;
  int reuse = -1;
  for (auto attribute : {musaMemPoolReuseFollowEventDependencies, musaMemPoolReuseAllowOpportunistic,
                         musaMemPoolReuseAllowInternalDependencies}) {
    musaMemPoolGetAttribute(own.pool, attribute, &reuse);
    *numbers++ = reuse;
    reuse = 0;
    musaMemPoolSetAttribute(own.pool, attribute, &reuse);
    musaMemPoolGetAttribute(own.pool, attribute, &reuse);
    *numbers++ = reuse;
  }
  musaMemLocation here = {};
  here.type = musaMemLocationTypeDevice;
  auto access = musaMemAccessFlagsProtNone;
  *numbers++ = musaMemPoolGetAccess(&access, own.pool, &here);
  *numbers++ = access;
  return finished();
}

extern "C" int run_errors(long* numbers, long) {
  Own own;
  musaMemPool_t first = nullptr, made = nullptr;
  musaDeviceGetDefaultMemPool(&first, 0);
  uint64_t one = 1;
  void* block = nullptr;
  *numbers++ = musaMemPoolDestroy(first);
  *numbers++ = musaMemPoolSetAttribute(own.pool, musaMemPoolAttrUsedMemCurrent, &one);
  *numbers++ = musaMemPoolSetAttribute(own.pool, musaMemPoolAttrUsedMemHigh, &one);
  *numbers++ = musaDeviceGetMemPool(&made, 1000);
  auto wrong = plain(0);
  wrong.allocType = musaMemAllocationTypeInvalid;
  *numbers++ = musaMemPoolCreate(&made, &wrong);
  wrong = plain(0);
  wrong.location.type = musaMemLocationTypeInvalid;
  *numbers++ = musaMemPoolCreate(&made, &wrong);
  musaMemAccessDesc refused = {};
  refused.location = plain(0).location;
  refused.flags = musaMemAccessFlagsProtNone;
  *numbers++ = musaMemPoolSetAccess(own.pool, &refused, 1);
  *numbers++ = musaMemPoolSetAccess(own.pool, nullptr, 1);
  *numbers++ = musaMallocAsync(&block, size_t{1} << 60, own.streams[0]);
  *numbers++ = musaMallocAsync(static_cast<void**>(nullptr), 8, own.streams[0]);
  musaMallocAsync(&block, 8, own.streams[0]);
  *numbers++ = musaFreeAsync(block, own.streams[0]);
  *numbers++ = musaFreeAsync(block, own.streams[0]);
  musaMalloc(&block, 8);
  *numbers++ = musaFreeAsync(block, own.streams[0]);
  return musaGetLastError() == musaSuccess ? 1 : finished();
}

// Faults that are planted: `shift` numbers past the end, and in use after it was freed.
extern "C" int run_past_end(int*, int*, long shift) {
  Own own;
  int* values = nullptr;
  musaMallocFromPoolAsync(&values, kBytes, own.pool, own.streams[0]);
  number<<<kCount / 256, 256, 0, own.streams[0]>>>(values, 0, static_cast<int>(shift));
  musaFreeAsync(values, own.streams[0]);
  return finished();
}
extern "C" int run_freed(int*, int*, long early) {
  Own own;
  int *values = nullptr, *sums = nullptr;
  for (auto** each : {&values, &sums}) {
    musaMallocFromPoolAsync(each, kBytes, own.pool, own.streams[0]);
    musaMemsetAsync(*each, 0, kBytes, own.streams[0]);
  }
  if (early) musaFreeAsync(values, own.streams[0]);
  add<<<kCount / 256, 256, 0, own.streams[0]>>>(values, sums);
  if (!early) musaFreeAsync(values, own.streams[0]);
  musaFreeAsync(sums, own.streams[0]);
  return finished();
}
extern "C" int run_leaked(int*, int*, long bytes) {
  void* block = nullptr;
  musaMallocAsync(&block, static_cast<size_t>(bytes), nullptr);
  return finished();
}
