#include "trial.h"

#include "../runtime/allocator.h"
#include "../runtime/device.h"
#include "alias.h"
#include "record.h"

#include <ATen/core/List.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <cstring>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

bool is_on_device(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == kMusa && tensor.has_storage();
}

// The bytes between the tensor's first element and the end of its last one.
std::pair<size_t, size_t> span_of(const at::Tensor& tensor) {
  int64_t last = tensor.storage_offset();
  for (int64_t at = 0; at < tensor.dim(); ++at) {
    last += (tensor.size(at) - 1) * tensor.stride(at);
  }
  const auto item = tensor.element_size();
  return {static_cast<size_t>(tensor.storage_offset()) * item, static_cast<size_t>(last + 1) * item};
}

template <typename Convert>
IValue converted(const IValue& value, Convert convert) {
  if (value.isTensor()) {
    return convert(value.toTensor());
  }
  if (tensors_in(value).empty()) {
    return value;
  }
  const auto list = value.toList();
  c10::impl::GenericList made(list.elementType());
  for (const IValue& element : value.toListRef()) {
    made.push_back(element.isTensor() ? IValue(convert(element.toTensor())) : element);
  }
  return made;
}

bool has_shape_of(const at::Tensor& tensor, const at::Tensor& other) {
  return tensor.sizes() == other.sizes() && tensor.strides() == other.strides() &&
      tensor.storage_offset() == other.storage_offset();
}

} // namespace

const c10::Storage* Trial::aside_for(const at::Tensor& tensor) const {
  const auto found = std::find_if(
      aside_.begin(), aside_.end(), [&](const Aside& each) { return each.device.is_alias_of(tensor.storage()); });
  return found == aside_.end() ? nullptr : &found->host;
}

// Of a storage that the operator writes to, all that it could read.
void Trial::put_aside(const c10::Storage& storage, const Stack& arguments) {
  aside_.push_back({storage, device_storage(allocate_on(device_.index(), storage.nbytes()), storage.nbytes(), device_)});
  auto* to = static_cast<char*>(aside_.back().host.mutable_data());
  const auto* from = static_cast<const char*>(storage.data());
  const musart::DeviceWork work;
  for (const auto& argument : arguments) {
    for (const auto& tensor : tensors_in(argument)) {
      if (is_on_device(tensor) && tensor.storage().is_alias_of(storage) && tensor.numel() != 0) {
        const auto [begin, end] = span_of(tensor);
        std::memcpy(to + begin, from + begin, end - begin);
      }
    }
  }
}

void Trial::put_written_aside() {
  for (uint64_t bits = written_by(signature_, arguments_.data()); bits != 0; bits &= bits - 1) {
    for (const auto& tensor : tensors_in(arguments_[static_cast<size_t>(__builtin_ctzll(bits))])) {
      if (is_on_device(tensor) && aside_for(tensor) == nullptr) {
        tensor.storage().mutable_data(); // gives a lazy copy memory of its own
        put_aside(tensor.storage(), arguments_);
      }
    }
  }
}

at::Tensor Trial::beside(const at::Tensor& tensor) {
  const auto* host = is_on_device(tensor) ? aside_for(tensor) : nullptr;
  if (host == nullptr) {
    return tensor;
  }
  for (const auto& pair : pairs_) {
    if (pair.given.is_same(tensor)) {
      return pair.stand_in;
    }
  }
  const c10::impl::ExcludeDispatchKeyGuard below_python(c10::python_ks); // a subclass must not be asked for a copy of itself
  auto made = at::Tensor(tensor.unsafeGetTensorImpl()->shallow_copy_and_detach(
      c10::VariableVersion(0), /*allow_tensor_metadata_change=*/true));
  made.unsafeGetTensorImpl()->set_storage_keep_dtype(*host);
  pairs_.push_back({tensor, made});
  return made;
}

IValue Trial::beside(const IValue& value) {
  return converted(value, [&](const at::Tensor& tensor) { return beside(tensor); });
}

// An operator that resizes what it writes to gives it memory at its launch.
bool Trial::is_unchanged() const {
  const auto storages = std::all_of(aside_.begin(), aside_.end(), [](const Aside& each) {
    return each.host.nbytes() == each.device.nbytes();
  });
  return storages && std::all_of(pairs_.begin(), pairs_.end(), [](const Pair& pair) {
    return has_shape_of(pair.given, pair.stand_in);
  });
}

// A view of something that the operator was given.
bool Trial::is_given(const at::Tensor& tensor) const {
  const auto given = [&](const c10::Storage& storage) { return storage.is_alias_of(tensor.storage()); };
  const bool written = std::any_of(aside_.begin(), aside_.end(), [&](const Aside& each) { return given(each.host); });
  return written || std::any_of(arguments_.begin(), arguments_.end(), [&](const IValue& argument) {
    const auto tensors = tensors_in(argument);
    return std::any_of(
        tensors.begin(), tensors.end(), [&](const at::Tensor& each) { return is_on_device(each) && given(each.storage()); });
  });
}

bool Trial::is_usual(const IValue& result) const {
  const auto tensors = tensors_in(result);
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor& tensor) {
    const bool written = std::any_of(pairs_.begin(), pairs_.end(), [&](const Pair& pair) { return pair.stand_in.is_same(tensor); });
    return written || !tensor.defined() ||
        (is_on_device(tensor) && tensor.layout() == c10::kStrided && !tensor.is_quantized() && !is_given(tensor));
  });
}

bool Trial::run(const std::function<void(Stack*)>& operation) {
  const FollowAllocations from_the_host(kNothingPlanned);
  put_written_aside();
  Stack stack;
  for (const auto& argument : arguments_) {
    stack.push_back(beside(argument));
  }
  {
    const NoteAllocations note(noted_);
    operation(&stack);
  }
  results_.assign(stack.end() - static_cast<std::ptrdiff_t>(results_count_), stack.end());
  return is_unchanged() && std::all_of(results_.begin(), results_.end(), [&](const IValue& each) { return is_usual(each); });
}

at::Tensor Trial::on_device(const at::Tensor& result) {
  for (const auto& pair : pairs_) {
    if (pair.stand_in.is_same(result)) {
      return pair.given;
    }
  }
  if (!result.defined()) {
    return result;
  }
  const auto& host = result.storage();
  auto found = std::find_if(moved_.begin(), moved_.end(), [&](const Moved& each) { return each.host.is_alias_of(host); });
  if (found == moved_.end()) {
    moved_.push_back({host, device_storage(allocate_on(device_.index(), host.nbytes()), host.nbytes(), device_)});
    found = moved_.end() - 1;
  }
  result.unsafeGetTensorImpl()->set_storage_keep_dtype(found->device);
  return result;
}

IValue Trial::on_device(const IValue& result) {
  return converted(result, [&](const at::Tensor& tensor) { return on_device(tensor); });
}

Stack Trial::take_results() {
  for (auto& result : results_) {
    result = on_device(result);
  }
  return std::move(results_);
}

// A recorded allocation at the address of a result became that result; if memory was used twice, the last one did.
AllocationPlan Trial::plan() const {
  AllocationPlan plan = noted_;
  auto left = moved_;
  for (auto it = plan.rbegin(); it != plan.rend(); ++it) {
    const auto found = std::find_if(left.begin(), left.end(), [&](const Moved& each) { return each.host.data() == it->address; });
    it->address = found == left.end() ? nullptr : found->device.mutable_data();
    if (found != left.end()) {
      left.erase(found);
    }
  }
  return plan;
}

} // namespace musasim
