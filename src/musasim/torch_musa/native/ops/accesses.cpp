#include "accesses.h"

#include "../runtime/capture.h"
#include "../runtime/stream.h"

#include <algorithm>
#include <string_view>

namespace musasim {
namespace {

using c10::IValue;
using musart::streamcheck::Kind;

constexpr size_t kMostRows = 4096; // a tensor of more pieces is not looked at

std::vector<at::Tensor> tensors_of(const IValue& value) {
  if (value.isTensor()) {
    return {value.toTensor()};
  }
  std::vector<at::Tensor> tensors;
  if (value.isList()) {
    for (const IValue& element : value.toListRef()) {
      if (element.isTensor()) {
        tensors.push_back(element.toTensor());
      }
    }
  }
  return tensors;
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.defined() && tensor.layout() == c10::kStrided && tensor.device().type() == kMusa && tensor.has_storage();
}

// Factories such as zeros_like ask the tensor for its shape alone.
bool asks_for_shape(std::string_view name) {
  name.remove_prefix(std::min(name.find("::") + 2, name.size()));
  return name.substr(0, 4) == "new_" || (name.size() > 5 && name.substr(name.size() - 5) == "_like");
}

struct Dimension {
  int64_t size, stride;
};

// The dimensions that are not one run of memory, and the bytes of a run.
std::vector<Dimension> rows_of(const at::Tensor& tensor, size_t& run) {
  std::vector<Dimension> dimensions;
  for (int64_t at = 0; at < tensor.dim(); ++at) {
    if (tensor.size(at) != 1 && tensor.stride(at) != 0) {
      dimensions.push_back({tensor.size(at), tensor.stride(at)});
    }
  }
  std::sort(dimensions.begin(), dimensions.end(), [](const auto& a, const auto& b) { return a.stride > b.stride; });
  int64_t elements = 1;
  while (!dimensions.empty() && dimensions.back().stride == elements) {
    elements *= dimensions.back().size;
    dimensions.pop_back();
  }
  run = static_cast<size_t>(elements) * tensor.element_size();
  return dimensions;
}

void add_rows(const char* begin, const Dimension* first, const Dimension* end, size_t bytes, size_t item, Kind kind, Accesses& accesses) {
  if (first == end) {
    accesses.push_back({begin, bytes, kind});
    return;
  }
  for (int64_t at = 0; at < first->size; ++at) {
    add_rows(begin + at * first->stride * static_cast<int64_t>(item), first + 1, end, bytes, item, kind, accesses);
  }
}

} // namespace

bool notes_accesses() {
  return musart::streamcheck::enabled() && active_capture() == nullptr;
}

bool says_what_it_writes(const c10::OperatorHandle& op) {
  return op.schema().name() != "musasim::triton_kernel";
}

// A replay of a graph keeps what it needs meanwhile in the host's memory.
void add_access(const at::Tensor& tensor, Kind kind, Accesses& accesses) {
  if (!is_plain(tensor) || tensor.numel() == 0 || !musart::find_allocation(tensor.const_data_ptr())) {
    return;
  }
  size_t bytes = 0;
  const auto rows = rows_of(tensor, bytes);
  size_t count = 1;
  for (const auto& row : rows) {
    count *= static_cast<size_t>(row.size);
  }
  if (count <= kMostRows) {
    const auto* begin = static_cast<const char*>(tensor.const_data_ptr());
    add_rows(begin, rows.data(), rows.data() + rows.size(), bytes, tensor.element_size(), kind, accesses);
  }
}

OperatorAccesses::OperatorAccesses(const c10::OperatorHandle& op, const Signature& signature, const torch::jit::Stack& stack)
    : op_(op) {
  const auto* arguments = stack.data() + (stack.size() - signature.arguments);
  const auto writes = written_by(signature, arguments);
  const bool shape_alone = asks_for_shape(op.schema().name());
  for (size_t i = 0; i < signature.arguments; ++i) {
    const bool written = i < 64 && (writes >> i & 1) != 0;
    const bool viewed = !written && op.schema().arguments()[i].alias_info() != nullptr;
    for (const auto& tensor : tensors_of(arguments[i])) {
      if (!is_plain(tensor)) {
        continue;
      }
      storages_.push_back(tensor.storage().unsafeGetStorageImpl());
      if (!viewed && !shape_alone) {
        add_access(tensor, written ? Kind::Write : Kind::Read, accesses_);
      }
    }
  }
}

bool OperatorAccesses::is_argument(const at::Tensor& tensor) const {
  const void* storage = tensor.storage().unsafeGetStorageImpl();
  return std::find(storages_.begin(), storages_.end(), storage) != storages_.end();
}

void OperatorAccesses::tell(const torch::jit::Stack& stack, c10::DeviceIndex device) {
  const auto results = op_.schema().returns().size();
  for (size_t i = stack.size() - results; i < stack.size(); ++i) {
    for (const auto& tensor : tensors_of(stack[i])) {
      if (is_plain(tensor) && !is_argument(tensor)) {
        add_access(tensor, Kind::Write, accesses_);
      }
    }
  }
  musart::streamcheck::did(stream_state(current_stream(device)), op_.schema().name().c_str(), accesses_);
}

} // namespace musasim
