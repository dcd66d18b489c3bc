#include "copy.h"

#include "../runtime/capture.h"
#include "../runtime/device.h"
#include "../runtime/host_allocator.h"
#include "../runtime/launches.h"
#include "../runtime/trace.h"
#include "../runtime/replay_memory.h"
#include "accesses.h"
#include "alias.h"
#include "record.h"
#include "unowned.h"
#include "waiting.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>
#include <torch/library.h>

namespace musasim {
namespace {

bool on_musa(const at::Tensor& tensor) {
  return tensor.device().type() == kMusa;
}

c10::Device musa_device_of(const at::Tensor& a, const at::Tensor& b) {
  return on_musa(a) ? a.device() : b.device();
}

Place place_of(const at::Tensor& tensor) {
  if (on_musa(tensor)) {
    return Place::Device;
  }
  return tensor.has_storage() && is_pinned(tensor.storage().data()) ? Place::Pinned : Place::Pageable;
}

size_t bytes_of(const at::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.element_size();
}

// The host's side of a copy counts where it is pinned: only then is the copy not over when its call returns.
void add_side(const at::Tensor& tensor, musart::streamcheck::Kind kind, Accesses& accesses) {
  if (on_musa(tensor)) {
    add_access(tensor, kind, accesses);
  } else if (tensor.numel() != 0 && tensor.is_non_overlapping_and_dense() && musart::owns_pinned(tensor.const_data_ptr())) {
    accesses.push_back({tensor.const_data_ptr(), bytes_of(tensor), kind, /*pinned=*/true});
  }
}

// Between devices, PyTorch lets the streams of both wait for each other, before and after.
void tell_copy(const at::Tensor& source, const at::Tensor& destination) {
  if (C10_LIKELY(!notes_accesses())) {
    return;
  }
  Accesses accesses;
  add_side(source, musart::streamcheck::Kind::Read, accesses);
  add_side(destination, musart::streamcheck::Kind::Write, accesses);
  auto& from = stream_state(current_stream(musa_device_of(source, destination).index()));
  auto& to = stream_state(current_stream(musa_device_of(destination, source).index()));
  if (&from != &to) {
    musart::streamcheck::stream_follows(from, to);
  }
  musart::streamcheck::did(from, "a copy", accesses);
  if (&from != &to) {
    musart::streamcheck::stream_follows(to, from);
  }
}

void copy_values(const at::Tensor& source, const at::Tensor& destination) {
  if (on_musa(source) && on_musa(destination) && source.device() != destination.device()) {
    // As torch_musa when it asks for access between devices. Until then, PyTorch takes no memory of the host for pinned.
    at::globalContext().lazyInitDevice(kMusa);
  }
  const auto places = [&] { return CopyPlaces{place_of(source), place_of(destination), bytes_of(destination)}; };
  const TracedWork traced(places, musa_device_of(destination, source).index());
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  AliasTable aliases(musa_device_of(destination, source));
  const auto to = aliases.to_cpu(destination);
  {
    const auto& host = on_musa(destination) ? source : destination;
    const auto bytes = host.has_storage() ? host.storage().nbytes() : 0;
    const musart::streamcheck::AsDevice as_device(bytes == 0 ? nullptr : host.storage().data(), bytes);
    to.copy_(aliases.to_cpu(source));
  }
  tell_copy(source, destination);
  if (C10_UNLIKELY(destination.is_quantized() && !destination.is_same(to))) {
    at::get_qtensorimpl(destination)->set_quantizer_(at::get_qtensorimpl(to)->quantizer());
  }
}

// Whether the host takes part in a copy. A graph cannot contain copies that the host waits for or that read pageable memory.
bool needs_host(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  if (on_musa(source) && on_musa(destination)) {
    return false;
  }
  const auto& host = on_musa(source) ? destination : source;
  return !non_blocking || !is_pinned(host.storage().data());
}

void record_copy(Capture& capture, const at::Tensor& source, const at::Tensor& destination) {
  capture.save(destination.storage());
  Unowned unowned(&capture);
  capture.add("aten::_copy_from", [from = unowned.of(source), to = unowned.of(destination)] {
    const FollowAllocations from_the_host(kNothingPlanned);
    copy_values(from, to);
  });
}

// A copy between host and device that blocks ends with its stream, in both directions.
bool waits_for_stream(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  return on_musa(source) != on_musa(destination) && !non_blocking;
}

void wait_for_stream(c10::DeviceIndex device) {
  const auto stream = current_stream(device);
  const TracedCall call("musaStreamSynchronize");
  wait_until(stream_state(stream).busy_until.load()); // torch_musa tells PyTorch's GPU trace of reads of single values only
  musart::streamcheck::host_waited_for(stream_state(stream));
  check_fault(device);
}

void finish_before_use(const at::Tensor& tensor) {
  if (musart::postponed::any() && on_musa(tensor)) {
    musart::postponed::finish_before(stream_state(current_stream(tensor.device().index())));
  }
}

bool is_strided(const at::Tensor& tensor) {
  return tensor.layout() == c10::kStrided && !tensor.is_quantized();
}

// What PyTorch's copy checks, or warns of, as it begins.
bool is_simple(const at::Tensor& source, const at::Tensor& destination) {
  return is_strided(source) && is_strided(destination) && at::is_expandable_to(source.sizes(), destination.sizes()) &&
      (destination.is_complex() || !source.is_complex()) &&
      at::get_overlap_status(source, destination) == at::MemOverlapStatus::No &&
      at::has_internal_overlap(destination) == at::MemOverlap::No;
}

// Another copy gathers or scatters its elements in other memory of the host, before the call returns.
bool goes_straight(const at::Tensor& source, const at::Tensor& destination) {
  const auto& host = on_musa(source) ? destination : source;
  const bool is_alike = source.sizes() == destination.sizes();
  const bool as_it_lies = is_alike && source.dtype() == destination.dtype() && source.strides() == destination.strides();
  return as_it_lies || (host.is_contiguous() && (is_alike || on_musa(source)));
}

// Whether the host goes on before it is done: within a device, or with pinned memory where the program has asked for it.
bool may_wait(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  const bool within = source.device() == destination.device();
  const bool begins = within ||
      (on_musa(source) != on_musa(destination) && !needs_host(source, destination, non_blocking) &&
       goes_straight(source, destination));
  return begins && is_simple(source, destination);
}

void put_off(const at::Tensor& source, const at::Tensor& destination) {
  Unowned unowned;
  copy_later(musa_device_of(source, destination), [from = unowned.over(source), to = unowned.over(destination)] {
    const FollowAllocations from_the_host(kNothingPlanned);
    copy_values(from, to);
  });
}

// The host may release its memory at once, although the copy has not run on a device yet.
void keep_pinned(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  if (non_blocking && on_musa(source) != on_musa(destination)) {
    const auto& host = on_musa(source) ? destination : source;
    const auto device = musa_device_of(source, destination).index();
    record_pinned_use(host.storage().data_ptr().get_context(), current_stream(device));
  }
}

} // namespace

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& destination, bool non_blocking) {
  refuse_after_fork();
  finish_graphs();
  TORCH_CHECK(source.defined() && destination.defined(), "copy: source and destination must be defined");
  if (C10_UNLIKELY(work_may_wait()) && may_wait(source, destination, non_blocking)) {
    put_off(source, destination);
    keep_pinned(source, destination, non_blocking);
    return destination;
  }
  finish_before_use(source);
  finish_before_use(destination);
  if (auto* capture = active_capture()) {
    if (needs_host(source, destination, non_blocking)) {
      refuse_host_access();
    }
    record_copy(*capture, source, destination);
  }
  const bool waits = waits_for_stream(source, destination, non_blocking);
  if (waits) {
    report_wait();
  }
  copy_values(source, destination);
  if (waits) {
    wait_for_stream(musa_device_of(source, destination).index());
  } else if (on_musa(source) && place_of(destination) == Place::Pageable) { // which a copy has reached when its call returns
    musart::streamcheck::host_waited_for(stream_state(current_stream(source.device().index())));
  }
  keep_pinned(source, destination, non_blocking);
  return destination;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& destination) {
  destination.resize_(source.sizes());
  return copy_from(source, destination, false);
}

namespace {

// torch_musa copies it to pinned memory.
at::Scalar read_value(const at::Tensor& tensor) {
  const auto places = [&] { return CopyPlaces{Place::Device, Place::Pinned, static_cast<size_t>(tensor.element_size())}; };
  const TracedWork traced(places, tensor.device().index());
  AliasTable aliases(tensor.device());
  const auto value = at::_local_scalar_dense(aliases.to_cpu(tensor));
  if (C10_UNLIKELY(notes_accesses())) {
    Accesses accesses;
    add_access(tensor, musart::streamcheck::Kind::Read, accesses);
    musart::streamcheck::did(stream_state(current_stream(tensor.device().index())), "a copy", accesses);
  }
  return value;
}

} // namespace

at::Scalar local_scalar_dense(const at::Tensor& tensor) {
  refuse_after_fork();
  refuse_host_access();
  finish_graphs();
  finish_before_use(tensor);
  const auto value = read_value(tensor);
  wait_for_results(current_stream(tensor.device().index()));
  return value;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
  library.impl("_local_scalar_dense", &local_scalar_dense);
}

TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, library) {
  library.impl("_copy_from", &copy_from);
  library.impl("_copy_from_and_resize", &copy_from_and_resize);
}

// The conjugate and negative fallbacks would materialise the tensor with a copy, that is with _copy_from again. The bits
// travel with the stand-ins instead, and the CPU's copy honours them.
TORCH_LIBRARY_IMPL(aten, Conjugate, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, library) {
  library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace musasim
