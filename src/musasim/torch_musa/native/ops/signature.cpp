#include "signature.h"
#include "unregistered.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace musasim {
namespace {

std::string base_name(const c10::FunctionSchema& schema) {
  std::string name = schema.name();
  const auto colons = name.find("::");
  return colons == std::string::npos ? name : name.substr(colons + 2);
}

std::string without_inplace(std::string name) {
  if (!name.empty() && name.back() == '_' && name.compare(0, 2, "__") != 0) {
    name.pop_back();
  }
  return name;
}

// CUDA moves these arguments itself, or requires them on the host.
bool host_argument(const std::string& op, const std::string& argument) {
  static const std::unordered_map<std::string, std::unordered_set<std::string>> known = {
      {"index", {"indices"}},
      {"index_put", {"indices"}},
      {"_index_put_impl", {"indices"}},
      {"_unsafe_index", {"indices"}},
      {"_unsafe_index_put", {"indices"}},
      {"_unsafe_masked_index", {"indices"}},
      {"_unsafe_masked_index_put_accumulate", {"indices"}},
      {"_ctc_loss", {"input_lengths", "target_lengths", "targets"}},
      {"_ctc_loss_backward", {"input_lengths", "target_lengths", "targets"}},
      {"_pack_padded_sequence_backward", {"batch_sizes"}},
      {"bernoulli", {"p"}},
      {"_fused_adam", {"lr"}},
      {"_fused_adamw", {"lr"}},
      {"_fused_sgd", {"lr"}},
      {"_fused_adagrad", {"lr"}},
  };
  const auto found = known.find(op);
  return found != known.end() && found->second.count(argument) != 0;
}

// Operators that accept a 0-dim CPU tensor on CUDA although they are not tagged pointwise.
bool takes_host_scalars(const std::string& op) {
  static const std::unordered_set<std::string> known = {
      "index_put", "_index_put_impl", "_unsafe_index_put", "index_fill", "masked_fill", "fill", "where", "clamp",
      "clamp_min", "clamp_max", "lerp", "quantize_per_tensor", "fake_quantize_per_tensor_affine", "div", "mul", "add",
      "sub", "pow", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum", "bitwise_and", "bitwise_or",
      "bitwise_xor", "floor_divide", "remainder", "fmod", "xlogy", "atan2", "copysign", "logical_and", "logical_or",
      "logical_xor", "isin", "normal", "poisson", "binomial", "linspace", "logspace", "_fake_quantize_learnable_per_tensor_affine",
      "_fused_moving_avg_obs_fq_helper"};
  return known.count(op) != 0 || op.rfind("_foreach_", 0) == 0 || op.rfind("special_", 0) == 0;
}

bool waits_for_host(const std::string& op) {
  static const std::unordered_set<std::string> known = {
      "nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive", "equal",
      "bincount", "repeat_interleave", "is_set_to_value", "_linalg_check_errors",
      // torch_musa's transforms go through the CPU.
      "_fft_r2c", "_fft_c2c", "_fft_c2r", "fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "stft"};
  return known.count(op) != 0;
}

bool is_generator(const c10::Argument& argument) {
  const auto type = argument.type()->str();
  return type == "Generator" || type == "Generator?";
}

bool is_written(const std::string& op, const c10::Argument& argument) {
  const auto* alias = argument.alias_info();
  // Older versions of PyTorch do not say that the first writes its noise.
  return (alias != nullptr && alias->isWrite()) || (op == "rrelu_with_noise" && argument.name() == "noise") ||
      (op == "batch_norm_update_stats" && argument.name().compare(0, 8, "running_") == 0);
}

void read_arguments(const c10::FunctionSchema& schema, const std::string& op, Signature& into) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size() && i < 64; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    if (is_written(op, arguments[i])) {
      into.written |= bit;
    }
    if (op == "native_batch_norm" && arguments[i].name().compare(0, 8, "running_") == 0) {
      into.updated |= bit;
    }
    if (arguments[i].name() == "training") {
      into.training = i;
    }
    if (host_argument(op, arguments[i].name())) {
      into.host_allowed |= bit;
    }
    if (is_generator(arguments[i])) {
      into.generators |= bit;
    }
  }
}

bool is_of_tensors(const c10::Argument& result) {
  const auto& type = result.type();
  const auto* list = type->castRaw<c10::ListType>();
  return type->kind() == c10::TypeKind::TensorType ||
      (list != nullptr && list->getElementType()->kind() == c10::TypeKind::TensorType);
}

// An operator of PyTorch whose results are tensors of their own, and of which the shape says all. Those that use the CPU's generator
// stop the host for it.
bool may_wait(const c10::OperatorHandle& op, const Signature& known) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  const bool views = std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& each) {
    return each.alias_info() != nullptr && !each.alias_info()->isWrite();
  });
  const auto& results = schema.returns();
  return schema.name().compare(0, 6, "aten::") == 0 && !views && !known.synchronizes && (!known.seeded || known.draw != nullptr) &&
      !op.hasTag(at::Tag::inplace_view) && (!op.hasTag(at::Tag::dynamic_output_shape) || known.masks_shape_result) &&
      !op.hasTag(at::Tag::data_dependent_output) && std::all_of(results.begin(), results.end(), &is_of_tensors);
}

Signature read_signature(const c10::OperatorHandle& op) {
  Signature made;
  const auto& schema = op.schema();
  const auto name = without_inplace(base_name(schema));
  made.arguments = schema.arguments().size();
  read_arguments(schema, name, made);
  made.host_scalars = op.hasTag(at::Tag::pointwise) || takes_host_scalars(name);
  made.seeded = op.hasTag(at::Tag::nondeterministic_seeded) && made.generators == 0;
  const auto& overload = schema.overload_name();
  made.draw = draw_of(overload.empty() ? base_name(schema) : base_name(schema) + "." + overload);
  made.instead = division_of(schema, name);
  made.synchronizes = waits_for_host(name);
  made.samples = name == "multinomial"; // as torch_musa's Multinomial.cpp does
  made.indexes = name == "index" || name == "_unsafe_index" || name == "index_put" || name == "_index_put_impl";
  made.cpu_only = name == "_sparse_mm_reduce_impl" || is_unregistered(name); // GPUs do not support the first either
  made.not_of_dense = is_unregistered_of_dense(name);
  made.alert = alert_of(schema, name);
  made.dtypes = dtype_rules(schema, name);
  made.masks_shape_result = name == "index";
  made.may_wait = may_wait(op, made);
  made.has_cpu_kernel = op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  return made;
}

struct Entry {
  c10::OperatorName name;
  Signature signature;
};

bool is_of(const Entry* entry, const c10::OperatorHandle& op) {
  return entry != nullptr && entry->name == op.operator_name();
}

// Never freed: graphs, and work that waits in a stream, need a signature longer than the thread that has read it.
const Entry* entry_of(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  static auto* all = new std::unordered_map<const void*, const Entry*>();
  const std::lock_guard<std::mutex> lock(mutex);
  auto& entry = (*all)[&op.schema()];
  if (!is_of(entry, op)) {
    entry = new Entry{op.operator_name(), read_signature(op)};
  }
  return entry;
}

} // namespace

const Signature& signature_of(const c10::OperatorHandle& op) {
  // Per thread, so that the common case needs no lock. Schemas keep their address while their operator exists. A new one
  // at the same address has another name, hence the check.
  thread_local std::unordered_map<const void*, const Entry*> cache;
  auto& entry = cache[&op.schema()];
  if (C10_UNLIKELY(!is_of(entry, op))) {
    entry = entry_of(op);
  }
  return entry->signature;
}

uint64_t written_by(const Signature& signature, const c10::IValue* arguments) {
  const bool updates = signature.updated != 0 && arguments[signature.training].toBool();
  return signature.written | (updates ? signature.updated : 0);
}

} // namespace musasim
