#include "alerts.h"

#include <ATen/core/Reduction.h>

#include <string>
#include <unordered_map>

namespace musasim {
namespace {

using c10::FunctionSchema;
using c10::IValue;

// Kernels that always give the alert, by operator and overload. Those of CUDA keep their names when they are ported.
const char* constant_name(const FunctionSchema& schema, const std::string& op) {
  static const std::unordered_map<std::string, const char*> known = {
      {"index_reduce", "index_reduce_musa"},
      {"index_reduce.out", "index_reduce_musa"},
      {"histc", "_histc_musa"},
      {"histc.out", "_histc_musa"},
      {"bincount", "_bincount_musa"},
      {"kthvalue.values", "kthvalue CUDA"},
      {"median.dim_values", "median CUDA with indices output"},
      {"nanmedian.dim_values", "median CUDA with indices output"},
      {"avg_pool3d_backward", "avg_pool3d_backward_cuda"},
      {"avg_pool3d_backward.grad_input", "avg_pool3d_backward_cuda"},
      {"max_pool3d_with_indices_backward", "max_pool3d_with_indices_backward_cuda"},
      {"max_pool3d_with_indices_backward.grad_input", "max_pool3d_with_indices_backward_out_cuda"},
      {"fractional_max_pool2d_backward", "fractional_max_pool2d_backward_cuda"},
      {"fractional_max_pool2d_backward.grad_input", "fractional_max_pool2d_backward_cuda"},
      {"fractional_max_pool3d_backward", "fractional_max_pool3d_backward_cuda"},
      {"fractional_max_pool3d_backward.grad_input", "fractional_max_pool3d_backward_out_cuda"},
      {"reflection_pad1d_backward", "reflection_pad1d_backward_out_cuda"},
      {"reflection_pad1d_backward.grad_input", "reflection_pad1d_backward_out_cuda"},
      {"reflection_pad2d_backward", "reflection_pad2d_backward_cuda"},
      {"reflection_pad2d_backward.grad_input", "reflection_pad2d_backward_out_cuda"},
      {"reflection_pad3d_backward", "reflection_pad3d_backward_out_cuda"},
      {"reflection_pad3d_backward.grad_input", "reflection_pad3d_backward_out_cuda"},
      {"replication_pad1d_backward", "replication_pad1d_backward_cuda"},
      {"replication_pad1d_backward.grad_input", "replication_pad1d_backward_cuda"},
      {"replication_pad2d_backward", "replication_pad2d_backward_cuda"},
      {"replication_pad2d_backward.grad_input", "replication_pad2d_backward_out_cuda"},
      {"replication_pad3d_backward", "replication_pad3d_backward_cuda"},
      {"replication_pad3d_backward.grad_input", "replication_pad3d_backward_out_cuda"},
  };
  const auto& overload = schema.overload_name();
  const auto found = known.find(overload.empty() ? op : op + "." + overload);
  return found == known.end() ? nullptr : found->second;
}

const char* always(const FunctionSchema& schema, const IValue* /*arguments*/) {
  const auto& name = schema.name();
  const auto op = name.substr(name.find("::") + 2);
  return constant_name(schema, op.back() == '_' ? op.substr(0, op.size() - 1) : op);
}

const IValue& argument(const FunctionSchema& schema, const IValue* arguments, const char* name) {
  return arguments[*schema.argumentIndexWithName(name)];
}

const char* nll_loss2d(const FunctionSchema& schema, const IValue* arguments) {
  const bool adds = argument(schema, arguments, "reduction").toInt() != at::Reduction::None;
  return adds ? "nll_loss2d_forward_out_cuda_template" : nullptr;
}

const char* embedding_bag_backward(const FunctionSchema& schema, const IValue* arguments) {
  constexpr int64_t max = 2;
  return argument(schema, arguments, "mode").toInt() == max ? "embedding_bag_backward_cuda_max" : nullptr;
}

const char* scatter_reduce(const FunctionSchema& schema, const IValue* arguments) {
  const auto& reduce = argument(schema, arguments, "reduce").toStringRef();
  if (schema.overload_name().rfind("two", 0) != 0) {
    return "scatter_reduce_cuda_kernel";
  }
  return reduce == "sum" ? "scatter_reduce_cuda_sum_"
      : reduce == "prod" ? "scatter_reduce_cuda_prod_"
      : reduce == "mean" ? "scatter_reduce_cuda_mean_"
                         : nullptr;
}

} // namespace

Alert alert_of(const FunctionSchema& schema, const std::string& op) {
  if (constant_name(schema, op) != nullptr) {
    return always;
  }
  if (op == "nll_loss2d_forward") {
    return nll_loss2d;
  }
  // torch_musa's kernel for the second calls the first; the CPU's computes by itself.
  if (op == "_embedding_bag_dense_backward" || op == "_embedding_bag_backward") {
    return embedding_bag_backward;
  }
  // scatter_ with one number writes the same in any order.
  const auto& overload = schema.overload_name();
  const bool reduces = op == "scatter" && overload.rfind("reduce", 0) == 0;
  return reduces || op == "scatter_reduce" ? scatter_reduce : nullptr;
}

} // namespace musasim
