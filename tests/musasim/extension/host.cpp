// An extension without kernels: what the headers give host code, and an operator for the device.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include "torch_musa/csrc/aten/musa/MUSAContext.h"
#include "torch_musa/csrc/core/MUSACachingAllocator.h"
#include "torch_musa/csrc/core/MUSAEvent.h"
#include "torch_musa/csrc/core/MUSAGuard.h"
#include <torch/library.h>

#include <tuple>
#include <vector>

namespace {

using c10::musa::MUSAStream;

at::Tensor current() {
  const auto stream = at::musa::getCurrentMUSAStream();
  const int64_t handle = reinterpret_cast<int64_t>(static_cast<musaStream_t>(stream));
  return at::tensor({handle, int64_t{stream.device_index()}, int64_t{stream.priority()}}, at::kLong);
}

// The device and the stream's handle: before, inside and after guards for another device and a stream of its pool.
at::Tensor guards(int64_t device) {
  std::vector<int64_t> seen;
  const auto look = [&seen] {
    seen.push_back(c10::musa::current_device());
    seen.push_back(reinterpret_cast<int64_t>(at::musa::getCurrentMUSAStream().stream()));
  };
  look();
  {
    const c10::musa::OptionalMUSAGuard guard(at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(device)));
    look();
    const auto stream = c10::musa::getStreamFromPool(/*isHighPriority=*/true);
    TORCH_CHECK(stream.priority() == std::get<1>(MUSAStream::priority_range()));
    const c10::musa::MUSAStreamGuard stream_guard(stream);
    TORCH_CHECK(stream_guard.current_stream() == at::musa::getCurrentMUSAStream());
    look();
  }
  look();
  return at::tensor(seen, at::kLong);
}

// Filled by the runtime API, in the order of the current stream.
at::Tensor filled_like(const at::Tensor& self, int64_t byte) {
  const c10::musa::MUSAGuard guard(self.device());
  const auto stream = at::musa::getCurrentMUSAStream();
  auto result = at::empty_like(self);
  C10_MUSA_CHECK(musaMemsetAsync(result.mutable_data_ptr(), static_cast<int>(byte), result.nbytes(), stream));
  return result;
}

int64_t wait(double milliseconds_at_most) {
  at::musa::MUSAEvent begin(musaEventDefault);
  at::musa::MUSAEvent end(musaEventDefault);
  begin.record();
  end.record();
  end.synchronize();
  return begin.query() && begin.elapsed_time(end) <= milliseconds_at_most;
}

int64_t scratch(int64_t bytes) {
  auto* allocator = c10::musa::MUSACachingAllocator::get();
  void* address = allocator->raw_alloc(static_cast<size_t>(bytes));
  musaPointerAttributes attributes{};
  C10_MUSA_CHECK(musaPointerGetAttributes(&attributes, address));
  allocator->raw_delete(address);
  return attributes.device;
}

void fail() {
  C10_MUSA_CHECK(musaSetDevice(99));
}

at::Tensor twice(const at::Tensor& self) {
  return at::add(self, self);
}

} // namespace

TORCH_LIBRARY(extension_host, m) {
  m.def("current() -> Tensor", &current);
  m.def("guards(int device) -> Tensor", &guards);
  m.def("wait(float milliseconds_at_most) -> int", &wait);
  m.def("scratch(int bytes) -> int", &scratch);
  m.def("fail() -> ()", &fail);
  m.def("filled_like(Tensor self, int byte) -> Tensor");
  m.def("twice(Tensor self) -> Tensor");
}

TORCH_LIBRARY_IMPL(extension_host, PrivateUse1, m) {
  m.impl("filled_like", &filled_like);
  m.impl("twice", &twice);
}
