#include "fallback.h"

#include "../runtime/capture.h"
#include "../runtime/device.h"
#include "../runtime/generator.h"
#include "../runtime/launches.h"
#include "../runtime/tally.h"
#include "../runtime/trace.h"
#include "accesses.h"
#include "alias.h"
#include "record.h"
#include "signature.h"
#include "unregistered.h"
#include "waiting.h"

#include <ATen/ATen.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <sstream>

namespace musasim {
namespace {

using c10::IValue;
using torch::jit::Stack;

// Finds the device of a call and checks that all tensors are on it, as CUDA kernels do.
class DeviceCheck {
 public:
  DeviceCheck(const c10::OperatorHandle& op, const Signature& signature) : op_(op), signature_(signature) {}

  void run(const IValue* arguments) {
    for (size_t i = 0; i < signature_.arguments; ++i) {
      visit(arguments[i], i);
    }
    if (has_host_tensor_ && device_.has_value()) {
      for (size_t i = 0; i < signature_.arguments; ++i) {
        visit_host(arguments[i], i);
      }
    }
    if (C10_UNLIKELY(signature_.generators != 0 && !device_.has_value() && !wanted_.has_value())) {
      refuse_generator();
    }
  }

  bool dense() const {
    return dense_;
  }

  c10::Device device() const {
    return device_.value_or(wanted_.value_or(c10::Device(kMusa, current_device())));
  }

 private:
  template <typename Visit>
  static void for_tensors(const IValue& value, Visit visit) {
    if (value.isTensor()) {
      visit(value.unsafeToTensorImpl());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        visit(tensor.unsafeGetTensorImpl());
      }
    } else if (value.isList()) {
      for (const IValue& element : value.toListRef()) {
        if (element.isTensor()) {
          visit(element.unsafeToTensorImpl());
        }
      }
    }
  }

  void visit(const IValue& value, size_t index) {
    for_tensors(value, [&](const c10::TensorImpl* tensor) { visit_tensor(tensor, index); });
    if (value.isDevice() && value.toDevice().type() == kMusa) {
      wanted_ = c10::Device(kMusa, resolve_device(value.toDevice().index()));
    }
  }

  void visit_tensor(const c10::TensorImpl* tensor, size_t index) {
    if (tensor == c10::UndefinedTensorImpl::singleton()) {
      return;
    }
    dense_ = dense_ && tensor->layout() == c10::kStrided && !c10::isQIntType(c10::typeMetaToScalarType(tensor->dtype()));
    const auto device = tensor->device();
    if (device.type() != kMusa) {
      has_host_tensor_ = true;
    } else if (!device_.has_value()) {
      device_ = device;
    } else if (*device_ != device) {
      raise(device, index);
    }
  }

  void visit_host(const IValue& value, size_t index) {
    const uint64_t bit = uint64_t{1} << (index & 63);
    for_tensors(value, [&](const c10::TensorImpl* tensor) {
      if (tensor == c10::UndefinedTensorImpl::singleton() || tensor->device().type() == kMusa) {
        return;
      }
      const bool written = (signature_.written & bit) != 0;
      const bool scalar = tensor->dim() == 0 && tensor->device().is_cpu() &&
          (signature_.host_scalars || tensor->is_wrapped_number());
      if ((signature_.host_allowed & bit) == 0 && (written || !scalar)) {
        raise(tensor->device(), index);
      }
    });
  }

  // Nothing else of the call is on the device. The CPU's kernel, which CUDA runs then, checks its generator.
  [[noreturn]] static void refuse_generator() {
    TORCH_CHECK(false, "Expected a 'cpu' device type for generator but found '", kMusa, "'");
  }

  [[noreturn]] void raise(c10::Device other, size_t index) {
    TORCH_CHECK(
        false,
        "Expected all tensors to be on the same device, but found at least two devices, ",
        *device_,
        " and ",
        other,
        "! (when checking argument for argument ",
        op_.schema().arguments()[index].name(),
        " in method ",
        op_.schema().name(),
        ")");
  }

  const c10::OperatorHandle& op_;
  const Signature& signature_;
  std::optional<c10::Device> device_; // of the tensors
  std::optional<c10::Device> wanted_; // of a device argument
  bool has_host_tensor_ = false;
  bool dense_ = true;
};

at::Generator generator_of(const IValue& value, c10::Device device) {
  if (const auto* wanted = wanted_generator(); C10_UNLIKELY(wanted != nullptr)) {
    return *wanted;
  }
  const auto generator = value.isNone() ? default_generator(device.index()) : value.toGenerator();
  TORCH_CHECK(
      generator.device().type() == kMusa,
      "Expected a '",
      kMusa,
      "' device type for generator but found '",
      generator.device().type(),
      "'");
  return generator;
}

template <typename Convert>
IValue convert_tensors(const IValue& value, Convert convert) {
  if (value.isTensor()) {
    return convert(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(convert(tensor));
    }
    return list;
  }
  if (value.isList()) {
    const auto elements = value.toList();
    c10::impl::GenericList list(elements.elementType());
    for (const IValue& element : value.toListRef()) {
      list.push_back(element.isTensor() ? IValue(convert(element.toTensor())) : element);
    }
    return list;
  }
  return value;
}

// Lists of TorchScript have types of their own: what is known of the tensors in them is part of the type.
bool holds_tensors(const IValue& value) {
  if (value.isTensor() || value.isTensorList()) {
    return true;
  }
  if (!value.isList()) {
    return false;
  }
  const auto elements = value.toListRef();
  return std::any_of(elements.begin(), elements.end(), [](const IValue& element) { return element.isTensor(); });
}

// One call: it converts the arguments, runs the CPU kernel and converts the results.
class Call {
 public:
  Call(const c10::OperatorHandle& op, const Signature& signature, c10::Device device, Stack& stack)
      : op_(op),
        signature_(signature),
        device_(device),
        stack_(stack),
        first_(stack.size() - signature.arguments),
        aliases_(device) {}

  void run(const c10::OperatorHandle& kernel, bool dense) {
    keep_written();
    convert_arguments();
    {
      AllocateOnDevice allocate(device_.index());
      at::AutoDispatchBelowADInplaceOrView below_autograd;
      std::optional<SwapDefaultCpuGenerator> swap;
      if (C10_UNLIKELY(signature_.seeded && signature_.draw == nullptr)) {
        swap.emplace(device_.index());
      }
      if (C10_UNLIKELY(signature_.draw != nullptr)) {
        const auto generator = generator_.defined() ? generator_ : generator_of(IValue(), device_);
        signature_.draw(kernel, stack_, *at::check_generator<MusaGenerator>(generator));
      } else if (C10_UNLIKELY(signature_.instead != nullptr && dense)) {
        signature_.instead(kernel, stack_);
      } else if (C10_LIKELY(dense)) {
        kernel.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
      } else {
        kernel.callBoxed(&stack_); // sparse and quantized kernels are found by the keys of their arguments
      }
    }
    sync_written();
    convert_results();
  }

 private:
  IValue& argument(size_t index) {
    return stack_[first_ + index];
  }

  void keep_written() {
    for (uint64_t bits = signature_.written; bits != 0; bits &= bits - 1) {
      written_.push_back(argument(static_cast<size_t>(__builtin_ctzll(bits))));
    }
  }

  void convert_arguments() {
    for (size_t i = 0; i < signature_.arguments; ++i) {
      auto& value = argument(i);
      if (value.isTensor()) {
        value = aliases_.to_cpu(value.toTensor());
      } else if (holds_tensors(value)) {
        value = convert_tensors(value, [&](const at::Tensor& tensor) { return aliases_.to_cpu(tensor); });
      } else if (value.isDevice() && value.toDevice().type() == kMusa) {
        value = c10::Device(c10::DeviceType::CPU);
      } else if (C10_UNLIKELY((signature_.generators >> (i & 63) & 1) != 0)) {
        generator_ = generator_of(value, device_);
        value = signature_.draw != nullptr ? IValue() : IValue(at::check_generator<MusaGenerator>(generator_)->draw());
      }
    }
    for (uint64_t bits = signature_.written; bits != 0; bits &= bits - 1) {
      stand_ins_.push_back(argument(static_cast<size_t>(__builtin_ctzll(bits))));
    }
  }

  void sync_written() {
    for (size_t i = 0; i < written_.size(); ++i) {
      if (written_[i].isTensor()) {
        sync(written_[i].toTensor(), stand_ins_[i].toTensor());
      } else if (written_[i].isTensorList()) {
        const auto tensors = written_[i].toTensorVector();
        const auto stand_ins = stand_ins_[i].toTensorVector();
        for (size_t j = 0; j < tensors.size(); ++j) {
          sync(tensors[j], stand_ins[j]);
        }
      }
    }
  }

  void sync(const at::Tensor& tensor, const at::Tensor& stand_in) {
    if (!tensor.defined() || tensor.is_same(stand_in)) {
      return;
    }
    if (C10_UNLIKELY(tensor.layout() != c10::kStrided)) {
      sync_sparse(tensor, stand_in);
      return;
    }
    aliases_.sync_storage(tensor, stand_in);
    AliasTable::sync_metadata(tensor, stand_in);
  }

  // A sparse tensor consists of its members, so the tensor gets those of the stand-in.
  void sync_sparse(const at::Tensor& tensor, const at::Tensor& stand_in) {
    if (tensor.layout() == c10::kSparse) {
      // A kernel may have resized them in place.
      aliases_.sync_member(stand_in._indices());
      aliases_.sync_member(stand_in._values());
      auto* to = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
      to->raw_resize_(stand_in.sparse_dim(), stand_in.dense_dim(), stand_in.sizes());
      to->set_indices_and_values_unsafe(
          aliases_.to_device(stand_in._indices()), aliases_.to_device(stand_in._values()));
      to->set_coalesced(stand_in.is_coalesced());
      return;
    }
    const bool by_row = tensor.layout() == c10::kSparseCsr || tensor.layout() == c10::kSparseBsr;
    static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl())
        ->set_member_tensors(
            aliases_.to_device(by_row ? stand_in.crow_indices() : stand_in.ccol_indices()),
            aliases_.to_device(by_row ? stand_in.col_indices() : stand_in.row_indices()),
            aliases_.to_device(stand_in.values()),
            stand_in.sizes());
  }

  void convert_results() {
    const size_t results = op_.schema().returns().size();
    for (size_t i = stack_.size() - results; i < stack_.size(); ++i) {
      auto& value = stack_[i];
      if (value.isTensor()) {
        value = aliases_.to_device(value.toTensor());
      } else if (holds_tensors(value)) {
        value = convert_tensors(value, [&](const at::Tensor& tensor) { return aliases_.to_device(tensor); });
      }
    }
  }

  const c10::OperatorHandle& op_;
  const Signature& signature_;
  c10::Device device_;
  Stack& stack_;
  size_t first_;
  AliasTable aliases_;
  c10::SmallVector<IValue, 2> written_;
  c10::SmallVector<IValue, 2> stand_ins_;
  at::Generator generator_; // of an operator that takes one
};

// Indexing by a mask has to read the number of elements from the device, unless it only fills them with one value.
bool counts_a_mask(const Signature& signature, const Stack& stack) {
  const IValue* arguments = stack.data() + (stack.size() - signature.arguments);
  const auto& indices = arguments[1].toListRef();
  const bool masked = std::any_of(indices.begin(), indices.end(), [](const IValue& index) {
    return index.isTensor() && (index.toTensor().scalar_type() == at::kBool || index.toTensor().scalar_type() == at::kByte);
  });
  const bool puts = signature.arguments > 2 && (signature.written >> 2 & 1) == 0;
  return masked && !(puts && arguments[2].toTensor().numel() == 1);
}

bool waits_for_host(const Signature& signature, const Stack& stack) {
  if (signature.samples) {
    return !stack[stack.size() - signature.arguments + 2].toBool();
  }
  return signature.synchronizes || (signature.indexes && counts_a_mask(signature, stack));
}

// As a kernel does that is not deterministic, where a program has asked for kernels that are.
void alert_if_asked(const c10::OperatorHandle& op, const Signature& signature, const IValue* arguments) {
  if (C10_LIKELY(signature.alert == nullptr) || !at::globalContext().deterministicAlgorithms()) {
    return;
  }
  if (const char* name = signature.alert(op.schema(), arguments)) {
    at::globalContext().alertNotDeterministic(name);
  }
}

void compute(
    const c10::OperatorHandle& op,
    const c10::OperatorHandle& kernel,
    const Signature& signature,
    c10::Device device,
    bool dense,
    Stack* stack) {
  count(Counted::Operator, op.schema().name().c_str());
  const TracedWork traced(op.schema().name().c_str(), device.index());
  std::optional<OperatorAccesses> accesses;
  if (C10_UNLIKELY(notes_accesses()) && says_what_it_writes(op)) {
    accesses.emplace(op, signature, *stack);
  }
  Call(op, signature, device, *stack).run(kernel, dense && kernel == op);
  if (C10_UNLIKELY(accesses.has_value())) {
    accesses->tell(*stack, device.index());
  }
}

// With MUSASIM_SEED. False where the operator has to run now.
bool is_put_off(
    const c10::OperatorHandle& op,
    const c10::OperatorHandle& kernel,
    const Signature& signature,
    const DeviceCheck& check,
    Stack* stack,
    std::optional<Repeats>& repeats) {
  if (!check.dense()) {
    return false;
  }
  const auto device = check.device();
  const bool dense = kernel == op;
  const auto run = [=, &signature](Stack* later) { Call(op, signature, device, *later).run(kernel, dense); };
  const bool waits = run_later(op, signature, device, *stack, run, repeats);
  if (waits) {
    count(Counted::Operator, op.schema().name().c_str());
  }
  return waits;
}

} // namespace

void run_on_cpu_as(const c10::OperatorHandle& op, const c10::OperatorHandle& kernel, Stack* stack) {
  refuse_after_fork();
  finish_graphs();
  const auto& signature = signature_of(op);
  const auto* arguments = stack->data() + (stack->size() - signature.arguments);
  DeviceCheck check(op, signature);
  check.run(arguments);
  TORCH_CHECK_NOT_IMPLEMENTED(
      (signature.has_cpu_kernel || !check.dense() || !(kernel == op)) && !signature.cpu_only &&
          !(signature.not_of_dense && check.dense()),
      "Could not run '",
      op.operator_name(),
      "' with arguments from the 'PrivateUse1' backend. Neither torch_musa nor musasim has a kernel for this operator.");
  check_dtypes(signature.dtypes, arguments);
  alert_if_asked(op, signature, arguments);
  const bool waits = waits_for_host(signature, *stack);
  if (auto* capture = active_capture()) {
    if (waits) {
      refuse_host_access();
    }
    const auto device = check.device();
    const bool dense = check.dense();
    record_and_run(*capture, op, signature, *stack, [=, &signature](Stack* recorded) {
      compute(op, kernel, signature, device, dense, recorded);
    });
    return;
  }
  if (waits) {
    wait_for_results(current_stream(check.device().index()));
  }
  const auto device = check.device();
  std::optional<Repeats> repeats;
  if (C10_UNLIKELY(work_may_wait()) && !waits && is_put_off(op, kernel, signature, check, stack, repeats)) {
    return;
  }
  if (musart::postponed::any()) {
    musart::postponed::finish_before(stream_state(current_stream(device.index())));
  }
  compute(op, kernel, signature, device, check.dense(), stack);
  if (waits) {
    musart::streamcheck::host_waited_for(stream_state(current_stream(device.index())));
  }
}

void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  run_on_cpu_as(op, op, stack);
}

namespace {

bool has_composite_kernel(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional) ||
      op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

// Structured operators have composite kernels, which allocate on the device and then call the out variant; others have
// generic ones (layer_norm) that round differently. Calling the CPU's own kernel directly saves a second dispatch and
// gives exactly the CPU's values and strides. The simulator's own kernels win, because they are registered before this runs.
void prefer_cpu_kernels(torch::Library& library, c10::DispatchKey cpu, c10::DispatchKey musa) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name.compare(0, 6, "aten::") != 0) {
      continue;
    }
    const auto op = dispatcher.findOp(name);
    if (is_unregistered(name.name.substr(6))) {
      continue;
    }
    if (op.has_value() && op->hasKernelForDispatchKey(cpu) && has_composite_kernel(*op) &&
        !op->hasKernelForDispatchKey(musa)) {
      const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
      library.impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
    }
  }
}

} // namespace

#define MUSASIM_USE_CPU_KERNELS(cpu, musa)                                              \
  TORCH_LIBRARY_IMPL(_, musa, library) {                                                \
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());         \
  }                                                                                     \
  TORCH_LIBRARY_IMPL(aten, musa, library) {                                             \
    prefer_cpu_kernels(library, c10::DispatchKey::cpu, c10::DispatchKey::musa);         \
  }

MUSASIM_USE_CPU_KERNELS(CPU, PrivateUse1)
MUSASIM_USE_CPU_KERNELS(QuantizedCPU, QuantizedPrivateUse1)

// Sparse tensors have the operators that torch_musa 2.7.1 registers for them (musa_functions.yaml), and no others. shape.cpp has
// those that only read what a tensor is made of.
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, library) {
  for (const auto* name : {"_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_coalesce"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
}
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, library) {
  for (const auto* name : {"_to_sparse", "_to_sparse.sparse_dim"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
  }
}

// A program's operators that are registered only for the device pass autograd by this. Newer torch has it for every device.
TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, library) {
  auto& dispatcher = c10::Dispatcher::singleton();
  if (!dispatcher.hasBackendFallbackForDispatchKey(c10::DispatchKey::AutogradPrivateUse1)) {
    library.fallback(torch::autograd::basicAutogradNotImplementedFallback());
  }
}

} // namespace musasim
