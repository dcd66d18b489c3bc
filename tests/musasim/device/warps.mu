// Shuffles, votes, matches, reductions, atomics and cooperative groups, one kernel for several of them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <musa_bf16.h>
#include <musa_fp16.h>

#include "on_device.h"

namespace cg = cooperative_groups;

// Row i of `out` is the i-th operation's result for each lane of one warp.
template <class T>
__global__ void shuffles(const T* in, T* out, unsigned mask, int argument, int width) {
  const int lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  const T value = in[lane];
  out[lane] = __shfl_sync(mask, value, argument, width);
  out[32 + lane] = __shfl_up_sync(mask, value, argument, width);
  out[64 + lane] = __shfl_down_sync(mask, value, argument, width);
  out[96 + lane] = __shfl_xor_sync(mask, value, argument, width);
}

template <class T>
int run_shuffles(T* in, T* out, long mask, long argument, long width) {
  Buffer<T> device_in(in, 32), device_out(out, 128);
  shuffles<<<1, 32>>>(device_in.data(), device_out.data(), static_cast<unsigned>(mask), static_cast<int>(argument), static_cast<int>(width));
  device_out.back();
  return finished();
}
extern "C" int shuffles_int(int* in, int* out, long m, long a, long w) { return run_shuffles(in, out, m, a, w); }
extern "C" int shuffles_double(double* in, double* out, long m, long a, long w) { return run_shuffles(in, out, m, a, w); }
extern "C" int shuffles_half(__half* in, __half* out, long m, long a, long w) { return run_shuffles(in, out, m, a, w); }
extern "C" int shuffles_bfloat16(__mt_bfloat162* in, __mt_bfloat162* out, long m, long a, long w) {
  return run_shuffles(in, out, m, a, w);
}

__global__ void votes(const int* in, unsigned* out, unsigned mask) {
  const int lane = threadIdx.x;
  if (!(mask >> lane & 1)) return;
  const int value = in[lane];
  int all_equal;
  unsigned* row = out + lane;
  row[0 * 32] = __ballot_sync(mask, value > 0);
  row[1 * 32] = __any_sync(mask, value > 100);
  row[2 * 32] = __all_sync(mask, value < 1000);
  row[3 * 32] = __match_any_sync(mask, value);
  row[4 * 32] = __match_all_sync(mask, value, &all_equal) | static_cast<unsigned>(all_equal);
  row[5 * 32] = __match_all_sync(mask, 2.5f, &all_equal) & (all_equal ? ~0u : 0);
  row[6 * 32] = __reduce_add_sync(mask, value);
  row[7 * 32] = __reduce_min_sync(mask, value);
  row[8 * 32] = __reduce_max_sync(mask, static_cast<unsigned>(value));
  row[9 * 32] = __reduce_xor_sync(mask, static_cast<unsigned>(value));
  if (value > 0) row[10 * 32] = __activemask();
}
extern "C" int run_votes(int* in, unsigned* out, long mask) {
  Buffer<int> device_in(in, 32);
  Buffer<unsigned> device_out(out, 11 * 32);
  votes<<<1, 32>>>(device_in.data(), device_out.data(), static_cast<unsigned>(mask));
  device_out.back();
  return finished();
}

__global__ void wrong_mask() { __shfl_sync(0xffff0000u, 1, 0); }
__global__ void different_operations() {
  if (threadIdx.x < 16) {
    __shfl_sync(0xffffffffu, 1, 0);
  } else {
    __any_sync(0xffffffffu, 1);
  }
}
__global__ void wrong_width() { __shfl_sync(0xffffffffu, 1, 0, 24); }
extern "C" int misuse(long which) {
  if (which == 0) wrong_mask<<<1, 32>>>();
  if (which == 1) different_operations<<<1, 32>>>();
  if (which == 2) wrong_width<<<1, 32>>>();
  return finished();
}

struct Cells {
  int i_add, i_sub, i_min, i_max, i_and, i_or, i_xor, i_cas, i_lock;
  unsigned u_inc, u_dec, u_max;
  float f_add, f_exchange;
  __half2 h2_add;
  unsigned long long l_add, l_min, l_cas;
  long long ll_max;
  double d_add, d_under_lock;
  __half h_add;
  __mt_bfloat16 b_add;
  unsigned short s_cas;
};

// An addition of one's own out of atomicCAS, as extensions write it.
__device__ void add_by_cas(double* address, double value) {
  unsigned long long* bits = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
}

template <class T>
__device__ void count_by_cas(T* address) {
  T seen = *address;
  for (T old = seen; (old = atomicCAS(address, seen, static_cast<T>(seen + 1))) != seen;) seen = old;
}

__global__ void atomics(Cells* cells) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&cells->i_add, i);
  atomicSub(&cells->i_sub, i);
  atomicMin_block(&cells->i_min, -i);
  atomicMax_system(&cells->i_max, i);
  atomicAnd(&cells->i_and, ~(1 << i % 31));
  atomicOr(&cells->i_or, 1 << i % 31);
  atomicXor(&cells->i_xor, i);
  count_by_cas(&cells->i_cas);
  atomicInc(&cells->u_inc, 99u);
  atomicDec(&cells->u_dec, 99u);
  atomicMax(&cells->u_max, 4294967000u + i % 10);
  atomicAdd(&cells->f_add, 0.5f);
  atomicExch(&cells->f_exchange, 7.0f);
  atomicAdd(&cells->h2_add, __floats2half2_rn(1, 2));
  atomicAdd(&cells->l_add, 1ull << 40);
  atomicMin(&cells->l_min, 1ull << 50);
  atomicMax(&cells->ll_max, static_cast<long long>(i) - (1ll << 40));
  atomicAdd(&cells->d_add, 0.25);
  atomicAdd(&cells->h_add, __half(0.5f));
  atomicAdd(&cells->b_add, __mt_bfloat16(2.0f));
  count_by_cas(&cells->s_cas);
  add_by_cas(reinterpret_cast<double*>(&cells->l_cas), 1.5);
  // A lock that others wait for, and that is held over a wait.
  while (atomicCAS(&cells->i_lock, 0, 1) != 0) {
  }
  const double before = cells->d_under_lock;
  __nanosleep(10);
  cells->d_under_lock = before + 1;
  atomicExch(&cells->i_lock, 0);
}
extern "C" int run_atomics(Cells* cells, long blocks, long threads) {
  Buffer<Cells> device(cells, 1);
  atomics<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads)>>>(device.data());
  device.back();
  return finished();
}
extern "C" long size_of_cells() { return sizeof(Cells); }

// Each row: one result for every thread.
__global__ void groups(const int* in, int* out, int n) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  const cg::thread_block_tile<8> tile = cg::tiled_partition<8>(warp);
  const int i = static_cast<int>(block.thread_rank()), value = in[i];
  int* row = out + i;
  row[0 * n] = cg::reduce(tile, value, cg::plus<int>());
  row[1 * n] = cg::reduce(warp, value, cg::greater<int>());
  row[2 * n] = tile.shfl_down(value, 3);
  row[3 * n] = warp.shfl_xor(value, 5);
  row[4 * n] = static_cast<int>(tile.ballot(value % 3 == 0));
  row[5 * n] = static_cast<int>(tile.meta_group_rank() * 100 + warp.meta_group_rank() * 10 + tile.thread_rank());
  row[6 * n] = cg::inclusive_scan(tile, value, cg::plus<int>());
  row[7 * n] = cg::exclusive_scan(warp, value);
  if (value % 2 == 0) {
    const cg::coalesced_group even = cg::coalesced_threads();
    row[8 * n] = static_cast<int>(even.size() * 100 + even.thread_rank());
    row[9 * n] = even.shfl(value, 0);
    row[10 * n] = cg::reduce(even, value, cg::plus<int>());
  }
  const auto same = cg::labeled_partition(warp, value % 4);
  row[11 * n] = static_cast<int>(same.meta_group_size() * 1000 + same.size() * 10 + same.meta_group_rank());
  block.sync();
  const cg::thread_group either[] = {block, cg::tiled_partition(block, 4)};  // which it is shows at run time alone
  for (const cg::thread_group& group : either) group.sync();
  row[12 * n] = static_cast<int>(either[0].thread_rank() * 1000 + either[1].thread_rank() * 10 + either[1].size());
}
extern "C" int run_groups(int* in, int* out, long n) {
  Buffer<int> device_in(in, n), device_out(out, 13 * n);
  groups<<<1, dim3(16, static_cast<unsigned>(n / 16))>>>(device_in.data(), device_out.data(), static_cast<int>(n));
  device_out.back();
  return finished();
}

// Every block reads what the next one wrote before the barrier.
__global__ void whole_grid(int* cells) {
  const cg::grid_group grid = cg::this_grid();
  const int rank = static_cast<int>(grid.thread_rank()), size = static_cast<int>(grid.size());
  cells[rank] = rank;
  grid.sync();
  const int next = cells[(rank + static_cast<int>(blockDim.x)) % size];
  grid.sync();
  cells[rank] = next;
}
extern "C" int run_grid(int* cells, long blocks, long threads) {
  Buffer<int> device(cells, blocks * threads);
  int* data = device.data();
  void* arguments[] = {&data};
  const musaError_t launched = musaLaunchCooperativeKernel(reinterpret_cast<const void*>(whole_grid), dim3(static_cast<unsigned>(blocks)),
                                                           dim3(static_cast<unsigned>(threads)), arguments, 0, nullptr);
  device.back();
  return launched != musaSuccess ? launched : finished();
}
