// An extension with kernels: an operator for tensors of several types, with atomic additions and shared memory.
#include <ATen/core/Tensor.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <mutex>

#include <ATen/musa/Atomic.muh>
#include "torch_musa/csrc/aten/musa/MUSAContext.h"
#include "torch_musa/csrc/aten/musa/MUSAGraphsUtils.muh"
#include "torch_musa/csrc/core/MUSAGuard.h"

namespace {

constexpr int kThreads = 128;

template <typename T>
__global__ void add_scaled(const T* a, const T* b, T* out, float scale, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    out[i] = static_cast<T>(static_cast<float>(a[i]) + scale * static_cast<float>(b[i]));
  }
}

template <typename T>
__global__ void count_into(const int64_t* bins, const T* weights, T* out, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) {
    gpuAtomicAdd(&out[bins[i]], weights[i]);
  }
}

__global__ void sum_blocks(const float* values, float* out, int64_t count) {
  extern __shared__ float partial[];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < count ? values[i] : 0.0f;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
      partial[threadIdx.x] += partial[threadIdx.x + step];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    gpuAtomicAdd(out, partial[0]);
  }
}

// Seed and offset, as a kernel that draws finds them.
__global__ void unpack_state(at::PhiloxMusaState state, int64_t* out) {
  const auto seeds = at::musa::philox::unpack(state);
  out[0] = static_cast<int64_t>(std::get<0>(seeds));
  out[1] = static_cast<int64_t>(std::get<1>(seeds));
}

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

at::Tensor add_scaled_musa(const at::Tensor& a, const at::Tensor& b, double scale) {
  const c10::musa::MUSAGuard guard(a.device());
  auto out = at::empty_like(a);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "add_scaled", [&] {
    add_scaled<scalar_t><<<blocks_for(a.numel()), kThreads, 0, at::musa::getCurrentMUSAStream()>>>(
        a.const_data_ptr<scalar_t>(),
        b.const_data_ptr<scalar_t>(),
        out.mutable_data_ptr<scalar_t>(),
        static_cast<float>(scale),
        a.numel());
    C10_MUSA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}

at::Tensor count_musa(const at::Tensor& bins, const at::Tensor& weights, int64_t size) {
  const c10::musa::MUSAGuard guard(bins.device());
  auto out = at::zeros({size}, weights.options());
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, weights.scalar_type(), "count", [&] {
    count_into<scalar_t><<<blocks_for(bins.numel()), kThreads, 0, at::musa::getCurrentMUSAStream()>>>(
        bins.const_data_ptr<int64_t>(), weights.const_data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), bins.numel());
    C10_MUSA_KERNEL_LAUNCH_CHECK();
  });
  return out;
}

at::Tensor sum_musa(const at::Tensor& values, int64_t threads) {
  const c10::musa::MUSAGuard guard(values.device());
  auto out = at::zeros({}, values.options());
  const auto stream = at::musa::getCurrentMUSAStream();
  const auto blocks = static_cast<unsigned>((values.numel() + threads - 1) / threads);
  sum_blocks<<<blocks, static_cast<unsigned>(threads), static_cast<size_t>(threads) * sizeof(float), stream>>>(
      values.const_data_ptr<float>(), out.mutable_data_ptr<float>(), values.numel());
  C10_MUSA_KERNEL_LAUNCH_CHECK();
  return out;
}

at::Tensor draw_musa(const at::Tensor& like, int64_t increment) {
  const c10::musa::MUSAGuard guard(like.device());
  auto out = at::empty({2}, like.options());
  auto* generator = at::get_generator_or_default<at::MUSAGeneratorImpl>(
      std::nullopt, at::musa::detail::getDefaultMUSAGenerator());
  at::PhiloxMusaState state;
  {
    const std::lock_guard<std::mutex> lock(generator->mutex_);
    state = generator->philox_musa_state(static_cast<uint64_t>(increment));
  }
  unpack_state<<<1, 1, 0, at::musa::getCurrentMUSAStream()>>>(state, out.mutable_data_ptr<int64_t>());
  C10_MUSA_KERNEL_LAUNCH_CHECK();
  return out;
}

} // namespace

TORCH_LIBRARY(extension_kernels, m) {
  m.def("add_scaled(Tensor a, Tensor b, float scale) -> Tensor");
  m.def("count(Tensor bins, Tensor weights, int size) -> Tensor");
  m.def("sum(Tensor values, int threads) -> Tensor");
  m.def("draw(Tensor like, int increment) -> Tensor");
}

TORCH_LIBRARY_IMPL(extension_kernels, PrivateUse1, m) {
  m.impl("add_scaled", &add_scaled_musa);
  m.impl("count", &count_musa);
  m.impl("sum", &sum_musa);
  m.impl("draw", &draw_musa);
}
