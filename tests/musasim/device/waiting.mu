// Threads that wait for each other by what libcu++ has: atomic objects, barriers, latches, semaphores and pipelines.
#include <cooperative_groups.h>

#include <musa/atomic>
#include <musa/barrier>
#include <musa/latch>
#include <musa/pipeline>
#include <musa/semaphore>

#include "on_device.h"

namespace cg = cooperative_groups;
constexpr int kBlock = 64;

// The sum, the product's exclusive or, the extremes, and how many turned out to be first.
__global__ void update(const int* values, int* found) {
  const int value = values[blockIdx.x * blockDim.x + threadIdx.x];
  musa::atomic_ref<int, musa::thread_scope_device> sum(found[0]), bits(found[1]), least(found[2]), most(found[3]), first(found[4]);
  sum.fetch_add(value, musa::memory_order_relaxed);
  bits.fetch_xor(value, musa::std::memory_order_relaxed);
  least.fetch_min(value);
  most.fetch_max(value);
  int expected = 0;
  if (first.compare_exchange_strong(expected, value + 1)) musa::atomic_ref<int, musa::thread_scope_device>(found[5])++;
}
extern "C" int run_update(int* values, int* found, long n) {
  Buffer<int> device_values(values, n), device_found(found, 6);
  update<<<n / kBlock, kBlock>>>(device_values.data(), device_found.data());
  device_found.back();
  return finished();
}

// Each thread waits for the one after it, so that the numbers grow from the last one on.
__global__ void hand_down(int* values) {
  __shared__ musa::atomic<int, musa::thread_scope_block> turn;
  if (threadIdx.x == 0) turn.store(kBlock - 1);
  __syncthreads();
  while (turn.load(musa::memory_order_acquire) != static_cast<int>(threadIdx.x)) {
  }
  values[threadIdx.x] = threadIdx.x + 1 == kBlock ? 1 : values[threadIdx.x + 1] + 1;
  musa::atomic_thread_fence(musa::memory_order_release, musa::thread_scope_block);
  turn.fetch_sub(1, musa::memory_order_release);
}
extern "C" int run_hand_down(int* values, int*, long) {
  Buffer<int> device(values, kBlock);
  hand_down<<<1, kBlock>>>(device.data());
  device.back();
  return finished();
}

// Sums of neighbours, by copies that a barrier ends, in several rounds.
__global__ void neighbours(const int* values, int* sums, int rounds) {
  __shared__ musa::barrier<musa::thread_scope_block> met;
  __shared__ int kept[kBlock];
  if (threadIdx.x == 0) init(&met, blockDim.x);
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    musa::memcpy_async(&kept[threadIdx.x], &values[round * kBlock + threadIdx.x], sizeof(int), met);
    met.arrive_and_wait();
    sum += kept[(threadIdx.x + 1) % kBlock];
    auto token = met.arrive();
    met.wait(std::move(token));
  }
  sums[threadIdx.x] = sum;
}
extern "C" int run_neighbours(int* values, int* sums, long rounds) {
  Buffer<int> device_values(values, rounds * kBlock), device_sums(sums, kBlock);
  neighbours<<<1, kBlock>>>(device_values.data(), device_sums.data(), static_cast<int>(rounds));
  device_sums.back();
  return finished();
}

// One at a time behind a semaphore, and all behind a latch.
__global__ void one_at_a_time(int* count, int* seen) {
  __shared__ alignas(musa::binary_semaphore<musa::thread_scope_block>) char place[sizeof(musa::binary_semaphore<musa::thread_scope_block>)];
  __shared__ alignas(musa::latch<musa::thread_scope_block>) char end[sizeof(musa::latch<musa::thread_scope_block>)];
  auto* free = reinterpret_cast<musa::binary_semaphore<musa::thread_scope_block>*>(place);
  auto* all = reinterpret_cast<musa::latch<musa::thread_scope_block>*>(end);
  if (threadIdx.x == 0) {
    new (free) musa::binary_semaphore<musa::thread_scope_block>(1);
    new (all) musa::latch<musa::thread_scope_block>(blockDim.x);
  }
  __syncthreads();
  free->acquire();
  const int before = *static_cast<volatile int*>(count);
  *static_cast<volatile int*>(count) = before + 1;
  free->release();
  all->arrive_and_wait();
  seen[threadIdx.x] = *static_cast<volatile int*>(count);
}
extern "C" int run_one_at_a_time(int* count, int* seen, long) {
  Buffer<int> device_count(count, 1), device_seen(seen, kBlock);
  one_at_a_time<<<1, kBlock>>>(device_count.data(), device_seen.data());
  device_count.back();
  device_seen.back();
  return finished();
}

constexpr int kStages = 2;

// Sums of what others have copied: all threads copy and use, or the first 32 copy and the others use.
template <bool Apart>
__global__ void stages(const int* values, int* sums, int rounds) {
  __shared__ musa::pipeline_shared_state<musa::thread_scope_block, kStages> state;
  __shared__ int kept[kStages][kBlock];
  const auto block = cg::this_thread_block();
  const auto role = threadIdx.x < 32 ? musa::pipeline_role::producer : musa::pipeline_role::consumer;
  auto pipeline = Apart ? musa::make_pipeline(block, &state, role) : musa::make_pipeline(block, &state);
  const bool fills = !Apart || threadIdx.x < 32, uses = !Apart || threadIdx.x >= 32;
  const int step = Apart ? 32 : kBlock;
  int sum = 0;
  for (int round = 0, ahead = 0; round < rounds; ++round) {
    if (fills) {
      for (; ahead < rounds && ahead < round + kStages; ++ahead) {
        pipeline.producer_acquire();
        for (int i = threadIdx.x; i < kBlock; i += step) {
          const auto* from = reinterpret_cast<const char*>(&values[ahead * kBlock + i]);  // it copies bytes, of any type
          musa::memcpy_async(&kept[ahead % kStages][i], from, sizeof(int), pipeline);
        }
        pipeline.producer_commit();
      }
    }
    if (uses) {
      pipeline.consumer_wait();
      for (int i = 0; i < kBlock; ++i) sum += kept[round % kStages][i] * (i + static_cast<int>(threadIdx.x));
      pipeline.consumer_release();
    }
  }
  if (uses) sums[threadIdx.x] = sum;
}
extern "C" int run_stages(int* values, int* sums, long rounds, long apart) {
  Buffer<int> device_values(values, rounds * kBlock), device_sums(sums, kBlock);
  const auto kernel = apart ? stages<true> : stages<false>;
  kernel<<<1, kBlock>>>(device_values.data(), device_sums.data(), static_cast<int>(rounds));
  device_sums.back();
  return finished();
}

// A wait that ends before all have come, and one that does not: by the token and by the parity. Nobody else arrives until thread 0 has tried.
__global__ void try_to_wait(int* ended) {
  using namespace musa::std::chrono;
  __shared__ musa::barrier<musa::thread_scope_block> met;
  static_assert(musa::barrier<musa::thread_scope_block>::max() == 1048575 && musa::barrier<musa::thread_scope_device>::max() == 2147483647);
  if (threadIdx.x == 0) {
    init(&met, blockDim.x);
    ended[0] = met.try_wait_parity_for(false, milliseconds(1));
    ended[1] = met.try_wait_parity_for(true, milliseconds(1));
  }
  __syncthreads();
  auto token = met.arrive(threadIdx.x == 0 ? 0 : 1);
  if (threadIdx.x == 0) {
    ended[2] = met.try_wait_until(std::move(token), high_resolution_clock::now());
    token = met.arrive();
  }
  const bool came = met.try_wait_for(std::move(token), hours(1));
  if (threadIdx.x == 0) {
    ended[3] = came;
    ended[4] = met.try_wait_parity_until(false, high_resolution_clock::now());
  }
}
extern "C" int run_try_to_wait(int* ended, long) {
  Buffer<int> device(ended, 5);
  try_to_wait<<<1, kBlock>>>(device.data());
  device.back();
  return finished();
}

// The thread that comes last counts the rounds, before any of the others goes on; the tokens are kept in a variable.
struct Count {
  int* rounds;
  __device__ void operator()() const { ++*rounds; }
};
__global__ void count_rounds(int* seen, int rounds) {
  using Barrier = musa::barrier<musa::thread_scope_block, Count>;
  __shared__ alignas(Barrier) char place[sizeof(Barrier)];
  __shared__ int counted;
  auto* met = reinterpret_cast<Barrier*>(place);
  if (threadIdx.x == 0) {
    counted = 0;
    init(met, blockDim.x, Count{&counted});
  }
  __syncthreads();
  Barrier::arrival_token token;
  for (int round = 1; round <= rounds; ++round) {
    token = met->arrive();
    met->wait(std::move(token));
    seen[threadIdx.x] += counted == round;
    met->arrive_and_wait();
    if (threadIdx.x == 0) --counted;
    __syncthreads();
  }
}
extern "C" int run_count_rounds(int* seen, long rounds) {
  Buffer<int> device(seen, kBlock);
  count_rounds<<<1, kBlock>>>(device.data(), static_cast<int>(rounds));
  device.back();
  return finished();
}

// Each thread takes the next place by a pointer, and gives it back or keeps it.
__global__ void take_places(int* places, int* left) {
  __shared__ musa::atomic<int*, musa::thread_scope_block> next;
  if (threadIdx.x == 0) next.store(places);
  __syncthreads();
  *next.fetch_add(1) = 1;
  __syncthreads();
  if (threadIdx.x % 2) --next;
  __syncthreads();
  if (threadIdx.x == 0) *left = static_cast<int>(next.load() - places), next -= 2, *next = 7;
}
extern "C" int run_take_places(int* places, int* left, long) {
  Buffer<int> device_places(places, kBlock), device_left(left, 1);
  take_places<<<1, kBlock>>>(device_places.data(), device_left.data());
  device_places.back();
  device_left.back();
  return finished();
}

// Whether a thread was the last one to leave a pipeline.
__global__ void leave(int* last) {
  __shared__ musa::pipeline_shared_state<musa::thread_scope_block, kStages> state;
  auto pipeline = musa::make_pipeline(cg::this_thread_block(), &state);
  last[threadIdx.x] = pipeline.quit();
}
extern "C" int run_leave(int* last, int*, long) {
  Buffer<int> device(last, kBlock);
  leave<<<1, kBlock>>>(device.data());
  device.back();
  return finished();
}
