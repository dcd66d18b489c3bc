// Parts of kernels: blocks, warps, atomic functions, memory, integers, scans.
#include <ATen/ATen.h>
#include <ATen/cuda/AsmUtils.cuh>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/DeviceUtils.cuh>
#include <ATen/cuda/ThrustAllocator.h>
#include <ATen/cuda/cub.cuh>
#include <ATen/cuda/detail/IndexUtils.cuh>
#include <ATen/cuda/detail/IntegerDivider.cuh>
#include <ATen/cuda/detail/KernelUtils.h>
#include <ATen/cuda/detail/TensorInfo.cuh>
#include <ATen/native/cuda/KernelUtils.cuh>
#include <ATen/native/cuda/MemoryAccess.cuh>
#include <ATen/native/cuda/PersistentSoftmax.cuh>
#include <ATen/native/cuda/block_reduce.cuh>
#include <c10/cuda/CUDAException.h>
#include <thrust/sort.h>
#include <thrust/execution_policy.h>

namespace {
using Info = at::cuda::detail::TensorInfo<float, uint32_t>;

__global__ void sum_rows(const float* in, float* out, int count) {
  __shared__ float shared[32];
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += blockDim.x) sum += in[blockIdx.x * count + i];
  sum = at::native::cuda_utils::BlockReduceSum(sum, shared);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

template <typename T>
__global__ void count_values(const int64_t* in, T* out, int count, int bins) {
  CUDA_KERNEL_LOOP(i, count) {
    if (i % 2) {
      gpuAtomicAdd(out + in[i], static_cast<T>(1));
    } else {
      at::native::fastAtomicAdd(out, in[i], static_cast<int64_t>(bins), static_cast<T>(1), true);
    }
  }
}

__global__ void doubled(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i < count) {
    auto four = at::native::memory::load_vector<4>(in, i);
#pragma unroll
    for (int at = 0; at < 4; ++at) four.val[at] *= 2;
    reinterpret_cast<at::native::memory::aligned_vector<float, 4>*>(out)[i] = four;
  }
}

__global__ void lanes(int* out, at::cuda::detail::IntDivider<unsigned> by) {
  const auto parts = by.divmod(threadIdx.x);
  const unsigned even = WARP_BALLOT(threadIdx.x % 2 == 0);
  out[threadIdx.x] = at::cuda::getLaneId() + 100 * __popc(even & at::cuda::getLaneMaskLt()) + 10000 * parts.div + 1000000 * parts.mod;
}

__global__ void by_info(Info in, float* out, uint32_t count) {
  for (uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    out[i] = in.data[at::cuda::detail::IndexToOffset<float, uint32_t, -1>::get(i, in)];
  }
}
} // namespace

at::Tensor row_sums(const at::Tensor& a) {
  auto out = at::empty({a.size(0)}, a.options());
  sum_rows<<<a.size(0), 128, 0, at::cuda::getCurrentCUDAStream()>>>(a.data_ptr<float>(), out.data_ptr<float>(), a.size(1));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

at::Tensor counts(const at::Tensor& a, int64_t bins, bool halves) {
  auto out = at::zeros({bins}, a.options().dtype(halves ? at::kHalf : at::kFloat));
  if (halves) {
    count_values<<<2, 64>>>(a.data_ptr<int64_t>(), out.data_ptr<at::Half>(), a.numel(), bins);
  } else {
    count_values<<<2, 64>>>(a.data_ptr<int64_t>(), out.data_ptr<float>(), a.numel(), bins);
  }
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

at::Tensor twice(const at::Tensor& a) {
  auto out = at::empty_like(a);
  doubled<<<a.numel() / 256 + 1, 64>>>(a.data_ptr<float>(), out.data_ptr<float>(), a.numel());
  return out;
}

at::Tensor lanes_of_a_warp(const at::Tensor& like) {
  auto out = at::empty({64}, like.options().dtype(at::kInt));
  lanes<<<1, 64>>>(out.data_ptr<int>(), at::cuda::detail::IntDivider<unsigned>(7));
  return out;
}

at::Tensor contiguous(const at::Tensor& a) {
  auto out = at::empty(a.sizes(), a.options());
  TORCH_CHECK(at::cuda::detail::canUse32BitIndexMath(a));
  by_info<<<1, 64>>>(at::cuda::detail::getTensorInfo<float, uint32_t>(a), out.data_ptr<float>(), a.numel());
  return out;
}

at::Tensor softmax(const at::Tensor& a) {
  auto out = at::empty_like(a);
  dispatch_softmax_forward<float, float, float, false, false>(
      out.data_ptr<float>(), a.data_ptr<float>(), a.size(1), a.size(1), a.size(0));
  return out;
}

at::Tensor running_sum(const at::Tensor& a) {
  auto out = at::empty_like(a);
  at::cuda::cub::inclusive_scan(
      a.data_ptr<float>(), out.data_ptr<float>(), [] __device__(float x, float y) { return x + y; }, a.numel());
  return out;
}

at::Tensor sorted(const at::Tensor& a) {
  auto out = a.clone();
  at::cuda::ThrustAllocator allocator;
  auto policy = thrust::cuda::par(allocator).on(at::cuda::getCurrentCUDAStream());
  thrust::sort(policy, out.data_ptr<float>(), out.data_ptr<float>() + out.numel());
  return out;
}
