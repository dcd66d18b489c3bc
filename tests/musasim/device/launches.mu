// Launches by the runtime's functions, and CUB's comparisons of neighbours.
#include <cooperative_groups.h>
#include <cub/cub.cuh>

#include "cub_of_cuda_13.h"
#include "on_device.h"

constexpr int kBlock = 80, kItems = 3, kTile = kBlock * kItems;

__global__ void neighbours(const int* in, int* heads, int* tails, int* both) {
  using Discontinuity = cub::BlockDiscontinuity<int, kBlock>;
  __shared__ typename Discontinuity::TempStorage storage;
  const int thread = threadIdx.x;
  int items[kItems], head[kItems], tail[kItems];
  cub::LoadDirectBlocked(thread, in, items);
  Discontinuity(storage).FlagHeads(head, items, cub::Inequality());
  cub::StoreDirectBlocked(thread, heads, head);
  __syncthreads();
  Discontinuity(storage).FlagTails(tail, items, [](int a, int b, int place) { return a != b && place % 2 == 0; });
  cub::StoreDirectBlocked(thread, tails, tail);
  __syncthreads();
  Discontinuity(storage).FlagHeadsAndTails(head, in[0], tail, in[kTile - 1] + 1, items, cub::Inequality());
  for (int i = 0; i < kItems; ++i) head[i] += 2 * tail[i];
  cub::StoreDirectBlocked(thread, both, head);
}
extern "C" int run_neighbours(int* in, int* heads, int* tails, int* both) {
  Buffer<int> device_in(in, kTile), device_heads(heads, kTile), device_tails(tails, kTile), device_both(both, kTile);
  neighbours<<<1, kBlock>>>(device_in.data(), device_heads.data(), device_tails.data(), device_both.data());
  device_heads.back();
  device_tails.back();
  device_both.back();
  return finished();
}

// Every block adds what the one before it has left, which takes a barrier of the grid.
__global__ void relay(long* values, float factor, const int blocks) {
  extern __shared__ long shared[];
  auto grid = cooperative_groups::this_grid();
  for (int turn = 1; turn < blocks; ++turn) {
    if (blockIdx.x == turn && threadIdx.x == 0) {
      shared[0] = values[turn - 1];
      values[turn] = static_cast<long>(shared[0] * factor) + turn;
    }
    grid.sync();
  }
}
extern "C" int run_launch(long* values, long blocks, long attribute, long value, long by_address) {
  Buffer<long> device_values(values, blocks);
  musaLaunchAttribute attributes[2] = {};
  attributes[0].id = musaLaunchAttributeIgnore;
  attributes[1].id = static_cast<musaLaunchAttributeID>(attribute);
  if (attribute == musaLaunchAttributeClusterDimension) {
    attributes[1].val.clusterDim.x = static_cast<unsigned>(value);
    attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  } else {
    attributes[1].val.cooperative = static_cast<int>(value);
  }
  attributes[0].val.programmaticStreamSerializationAllowed = 1;
  musaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = 32;
  config.dynamicSmemBytes = sizeof(long);
  config.attrs = attributes;
  config.numAttrs = 2;
  musaError_t error;
  if (by_address != 0) {
    long* data = device_values.data();
    float factor = 2;
    int count = static_cast<int>(blocks);
    void* arguments[] = {&data, &factor, &count};
    error = musaLaunchKernelExC(&config, reinterpret_cast<const void*>(relay), arguments);
  } else {
    error = musaLaunchKernelEx(&config, relay, device_values.data(), 2, blocks);
  }
  device_values.back();
  const int ran = finished();
  return error != musaSuccess ? error : ran;
}

extern "C" int run_managed(int* value) {
  void* plain = nullptr;
  int* typed = nullptr;
  if (musaMallocManaged(&plain, 4) != musaSuccess || musaMallocManaged(&typed, 4) != musaSuccess) return 1;
  *static_cast<int*>(plain) = *value;
  *typed = *static_cast<int*>(plain) + 1;
  *value = *typed;
  musaFree(plain);
  musaFree(typed);
  return finished();
}
