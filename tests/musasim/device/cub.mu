// CUB's block-wide and device-wide algorithms.
#include <cub/cub.cuh>

#include "cub_of_cuda_13.h"
#include "on_device.h"

// --- blocks of kBlock threads with kItems items each ------------------------------------------------------------------------
constexpr int kBlock = 80, kItems = 3, kTile = kBlock * kItems;  // the last warp is not whole

// Order matters to it: (a, b) is the function x -> a x + b, as in mamba's selective scan.
struct Affine {
  __device__ float2 operator()(const float2& first, const float2& second) const {
    return make_float2(second.x * first.x, second.x * first.y + second.y);
  }
};

struct RunningPrefix {
  float2 running;
  __device__ float2 operator()(float2 aggregate) {
    const float2 before = running;
    running = Affine()(running, aggregate);
    return before;
  }
};

// Scans two tiles, the second with what the first came to before it.
__global__ void block_affine_scan(const float2* in, float2* out) {
  using Load = cub::BlockLoad<float2, kBlock, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<float2, kBlock, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<float2, kBlock, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } storage;
  RunningPrefix prefix{make_float2(1, 0)};
  for (int tile = 0; tile < 2; ++tile) {
    float2 items[kItems];
    Load(storage.load).Load(in + tile * kTile, items);
    __syncthreads();
    Scan(storage.scan).InclusiveScan(items, items, Affine(), prefix);
    __syncthreads_lm();
    Store(storage.store).Store(out + tile * kTile, items);
    __syncthreads();
  }
}
extern "C" int run_block_affine_scan(float2* in, float2* out) {
  Buffer<float2> device_in(in, 2 * kTile), device_out(out, 2 * kTile);
  block_affine_scan<<<1, kBlock>>>(device_in.data(), device_out.data());
  device_out.back();
  return finished();
}

// Each row of kTile: one result.
__global__ void block_functions(const int* in, int* out, int valid) {
  const int thread = threadIdx.x;
  int items[kItems], more[kItems];
  cub::BlockLoad<int, kBlock, kItems>().Load(in, items, valid, -1);
  const auto put = [&](int row, int (&values)[kItems]) { cub::StoreDirectBlocked(thread, out + row * kTile, values); };

  __shared__ typename cub::BlockReduce<int, kBlock>::TempStorage reduce;
  const int sum = cub::BlockReduce<int, kBlock>(reduce).Sum(items);
  __syncthreads();
  const int maximum = cub::BlockReduce<int, kBlock>(reduce).Reduce(items[0], cub::Max());
  __syncthreads();
  const int some = cub::BlockReduce<int, kBlock>(reduce).Sum(items[0], 37);
  __syncthreads();
  if (thread == 0) out[0] = sum, out[1] = maximum, out[2] = some;

  using Scan = cub::BlockScan<int, kBlock>;
  __shared__ typename Scan::TempStorage scan;
  int aggregate;
  Scan(scan).ExclusiveSum(items, more, aggregate);
  put(1, more);
  __syncthreads();
  if (thread == 0) out[3] = aggregate;
  Scan(scan).InclusiveScan(items, more, cub::Max());
  put(2, more);
  __syncthreads();
  int single;
  Scan(scan).ExclusiveScan(items[0], single, 1000, cub::Sum(), aggregate);
  out[3 * kTile + thread] = single;
  if (thread == 0) out[4] = aggregate;
  __syncthreads();
  Scan(scan).InclusiveSum(items[1], single);
  out[3 * kTile + kBlock + thread] = single;
  __syncthreads();

  using Exchange = cub::BlockExchange<int, kBlock, kItems>;
  __shared__ typename Exchange::TempStorage exchange;
  Exchange(exchange).BlockedToStriped(items, more);
  for (int i = 0; i < kItems; ++i) out[4 * kTile + i * kBlock + thread] = more[i];
  __syncthreads();
  Exchange(exchange).StripedToBlocked(more);
  put(5, more);
  __syncthreads();

  using Sort = cub::BlockRadixSort<int, kBlock, kItems, int>;
  __shared__ typename Sort::TempStorage sort;
  int keys[kItems], places[kItems];
  for (int i = 0; i < kItems; ++i) keys[i] = items[i], places[i] = thread * kItems + i;
  Sort(sort).Sort(keys, places);
  put(6, keys);
  put(7, places);
  __syncthreads();
  for (int i = 0; i < kItems; ++i) keys[i] = items[i], places[i] = thread * kItems + i;
  Sort(sort).SortDescendingBlockedToStriped(keys, places);
  for (int i = 0; i < kItems; ++i) out[8 * kTile + i * kBlock + thread] = places[i];

  using Warp = cub::WarpReduce<int>;
  __shared__ typename Warp::TempStorage warps[3];
  const int in_warp = Warp(warps[thread / 32]).Sum(items[0]);
  if (thread % 32 == 0) out[9 * kTile + thread / 32] = in_warp;
  using Small = cub::WarpScan<int, 8>;
  __shared__ typename Small::TempStorage smalls[kBlock / 8];
  Small(smalls[thread / 8]).InclusiveSum(items[0], single, aggregate);
  out[9 * kTile + kBlock + thread] = single;
  out[9 * kTile + 2 * kBlock + thread] = aggregate;
}
extern "C" int run_block_functions(int* in, int* out, long valid) {
  Buffer<int> device_in(in, kTile), device_out(out, 10 * kTile);
  block_functions<<<1, kBlock>>>(device_in.data(), device_out.data(), static_cast<int>(valid));
  device_out.back();
  return finished();
}

// --- the whole device ---------------------------------------------------------------------------------------------------------
template <class Algorithm>
int in_two_calls(Algorithm algorithm) {
  std::size_t bytes = 0;
  musaError_t error = algorithm(nullptr, bytes);
  if (error != musaSuccess || bytes == 0) return -1;
  void* storage = nullptr;
  musaMalloc(&storage, bytes);
  error = algorithm(storage, bytes);
  musaDeviceSynchronize();
  musaFree(storage);
  return error != musaSuccess ? error : finished();
}

extern "C" int device_reductions(float* in, float* out, long n) {
  Buffer<float> device_in(in, n), device_out(out, 3);
  Buffer<cub::KeyValuePair<int, float>> pair(reinterpret_cast<cub::KeyValuePair<int, float>*>(out + 3), 1);
  const int count = static_cast<int>(n);
  int error = in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceReduce::Sum(s, b, device_in.data(), device_out.data(), count); });
  error |= in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceReduce::Max(s, b, device_in.data(), device_out.data() + 1, count); });
  error |= in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceReduce::Min(s, b, device_in.data(), device_out.data() + 2, count); });
  error |= in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceReduce::ArgMax(s, b, device_in.data(), pair.data(), count); });
  device_out.back();
  pair.back();
  return error;
}

struct Square {
  __device__ long operator()(int value) const { return static_cast<long>(value) * value; }
};

extern "C" int device_scans(int* in, int* out, long n) {
  Buffer<int> device_in(in, n), device_out(out, 3 * n);
  const int count = static_cast<int>(n);
  int* const rows = device_out.data();
  int error = in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceScan::InclusiveSum(s, b, device_in.data(), rows, count); });
  error |= in_two_calls(
      [&](void* s, std::size_t& b) { return cub::DeviceScan::ExclusiveScan(s, b, device_in.data(), rows + n, cub::Max(), -7, count); });
  using Squares = cub::TransformInputIterator<long, Square, cub::CountingInputIterator<int>>;
  const Squares squares(cub::CountingInputIterator<int>(0), Square());
  error |= in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceScan::ExclusiveSum(s, b, squares, rows + 2 * n, count); });
  device_out.back();
  return error;
}

template <class Key>
int sort_pairs(Key* keys, int* places, long n, bool descending, long begin_bit, long end_bit) {
  Buffer<Key> device_keys(keys, n), other_keys(keys, n);
  Buffer<int> device_places(places, n), other_places(places, n);
  cub::DoubleBuffer<Key> key_buffers(device_keys.data(), other_keys.data());
  cub::DoubleBuffer<int> place_buffers(device_places.data(), other_places.data());
  const int count = static_cast<int>(n), first = static_cast<int>(begin_bit), last = static_cast<int>(end_bit);
  const int error = in_two_calls([&](void* s, std::size_t& b) {
    return descending ? cub::DeviceRadixSort::SortPairsDescending(s, b, key_buffers, place_buffers, count, first, last)
                      : cub::DeviceRadixSort::SortPairs(s, b, key_buffers, place_buffers, count, first, last);
  });
  musaMemcpy(keys, key_buffers.Current(), n * sizeof(Key), musaMemcpyDeviceToHost);
  musaMemcpy(places, place_buffers.Current(), n * sizeof(int), musaMemcpyDeviceToHost);
  return error;
}
extern "C" int sort_long(long long* k, int* p, long n, long d, long b, long e) { return sort_pairs(k, p, n, d != 0, b, e); }
extern "C" int sort_float(float* k, int* p, long n, long d, long b, long e) { return sort_pairs(k, p, n, d != 0, b, e); }
extern "C" int sort_half(__half* k, int* p, long n, long d, long b, long e) { return sort_pairs(k, p, n, d != 0, b, e); }

extern "C" int segments(float* in, int* offsets, float* sums, float* sorted, long n, long count) {
  Buffer<float> device_in(in, n), device_sums(sums, 2 * count), device_sorted(sorted, n);
  Buffer<int> device_offsets(offsets, count + 1);
  int* const begins = device_offsets.data();
  const int total = static_cast<int>(n), segment_count = static_cast<int>(count);
  int error = in_two_calls([&](void* s, std::size_t& b) {
    return cub::DeviceSegmentedReduce::Sum(s, b, device_in.data(), device_sums.data(), segment_count, begins, begins + 1);
  });
  error |= in_two_calls([&](void* s, std::size_t& b) {
    return cub::DeviceSegmentedReduce::Reduce(s, b, device_in.data(), device_sums.data() + count, segment_count, begins, begins + 1,
                                              cub::Min(), 99.0f);
  });
  error |= in_two_calls([&](void* s, std::size_t& b) {
    return cub::DeviceSegmentedRadixSort::SortKeys(s, b, device_in.data(), device_sorted.data(), total, segment_count, begins, begins + 1);
  });
  device_sums.back();
  device_sorted.back();
  return error;
}

struct Odd {
  __device__ bool operator()(int value) const { return value % 2 != 0; }
};

extern "C" int selections(int* in, int* out, int* counts, long n) {
  Buffer<int> device_in(in, n), device_out(out, 4 * n), device_counts(counts, 3);
  const int count = static_cast<int>(n);
  int* const rows = device_out.data();
  int* const found = device_counts.data();
  int error = in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceSelect::If(s, b, device_in.data(), rows, found, count, Odd()); });
  error |= in_two_calls([&](void* s, std::size_t& b) { return cub::DeviceSelect::Unique(s, b, device_in.data(), rows + n, found + 1, count); });
  error |= in_two_calls([&](void* s, std::size_t& b) {
    return cub::DeviceRunLengthEncode::Encode(s, b, device_in.data(), rows + 2 * n, rows + 3 * n, found + 2, count);
  });
  device_out.back();
  device_counts.back();
  return error;
}

// In the order of its stream: behind a copy into the input, and before one out of the output.
extern "C" int ordered_by_stream(int* host, long n) {
  musaStream_t stream;
  musaStreamCreate(&stream);
  int *data, *result;
  void* storage = nullptr;
  std::size_t bytes = 0;
  musaMalloc(reinterpret_cast<void**>(&data), n * sizeof(int));
  musaMalloc(reinterpret_cast<void**>(&result), n * sizeof(int));
  cub::DeviceScan::InclusiveSum(storage, bytes, data, result, static_cast<int>(n), stream);
  musaMalloc(&storage, bytes);
  musaMemcpyAsync(data, host, n * sizeof(int), musaMemcpyHostToDevice, stream);
  cub::DeviceScan::InclusiveSum(storage, bytes, data, result, static_cast<int>(n), stream);
  musaMemcpyAsync(host, result, n * sizeof(int), musaMemcpyDeviceToHost, stream);
  musaStreamSynchronize(stream);
  musaFree(data), musaFree(result), musaFree(storage);
  musaStreamDestroy(stream);
  return finished();
}
