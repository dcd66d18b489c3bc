#include "dtypes.h"

#include "../runtime/release.h"

#include <ATen/core/Tensor.h>

#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <utility>

namespace musasim {
namespace {

constexpr uint64_t types(std::initializer_list<at::ScalarType> members) {
  uint64_t bits = 0;
  for (const auto member : members) {
    bits |= uint64_t{1} << static_cast<int>(member);
  }
  return bits;
}

constexpr uint64_t kSingle = types({at::kFloat});
constexpr uint64_t kOfLayers = types({at::kFloat, at::kHalf, at::kBFloat16});
constexpr uint64_t kOfRanges = kOfLayers | types({at::kInt, at::kLong});
constexpr uint64_t kOfElements = kOfRanges | types({at::kDouble});
// Complex and quantized tensors go other ways, and booleans are left to PyTorch's own words.
constexpr uint64_t kNotSmall = kOfElements |
    types({at::kBool, at::kComplexHalf, at::kComplexFloat, at::kComplexDouble, at::kQInt8, at::kQUInt8, at::kQInt32});
constexpr uint64_t kOfBuckets = types({at::kFloat, at::kInt, at::kLong});
constexpr uint64_t kOfTransforms = types({at::kFloat, at::kDouble});
constexpr uint64_t kNotComplex = ~types({at::kComplexHalf, at::kComplexFloat, at::kComplexDouble});

struct Row {
  const char* argument;
  uint64_t allowed;
  const char* message;
};

using Table = std::unordered_map<std::string, std::vector<Row>>;

const Table& table() {
  static const std::vector<Row> clamp = {
      {"self", kOfElements, "Now muDNN only support float64, float32, half, bfloat16, int32, and int64"},
      {"self", kOfRanges, "ClampScalar Unsupported tensor dtype: "}};
  static const std::vector<Row> batch_norm = {
      {"input", kOfLayers, "BatchNorm supports Float/Half/BFloat16 input dtype, now got: "}};
  static const std::vector<Row> batch_norm_backward = {
      {"grad_out",
       kOfLayers,
       "Dtype of grad_out tensor of BatchNormBackward only support Float32/Half/Bfloat16, but now it is "}};
  static const std::vector<Row> softmax_backward = {
      {"input_dtype", kOfLayers, "input_dtype of SoftmaxBwd only support Float/Half/BFloat16"}};
  static const std::vector<Row> not_small = {
      {"self", kNotSmall, "Now muDNN only support float64, float32, half, bfloat16, int32, and int64"}};
  static const Table known = {
      {"neg", not_small},
      {"relu", not_small},
      {"round", not_small},
      {"arange", {{"out", kOfRanges, "unsupported data type "}}},
      {"baddbmm", {{"self", kOfLayers, "BaaddBmm only supports fp16/fp32/bf16 dtype"}}},
      {"clamp", clamp},
      {"clamp_min", clamp},
      {"clamp_max", clamp},
      {"hardtanh", clamp},
      {"native_batch_norm", batch_norm},
      {"_native_batch_norm_legit", batch_norm},
      {"_native_batch_norm_legit_no_training", batch_norm},
      {"_native_batch_norm_legit_functional", batch_norm},
      {"_batch_norm_with_update", batch_norm},
      {"_batch_norm_with_update_functional", batch_norm},
      {"native_batch_norm_backward", batch_norm_backward},
      {"batch_norm_backward", batch_norm_backward},
      {"native_group_norm",
       {{"input", kOfLayers, "group norm supports Float and Half/BFloat16 tensor type, now got "}}},
      {"native_layer_norm",
       {{"input",
         kOfLayers,
         "Dtype of input tensor of LayerNorm only support Float32, Half and BFloat16 but now it is "},
        {"weight",
         kOfLayers,
         "Dtype of weight tensor of LayerNorm only support Float32, Half and BFloat16 but now it is "},
        {"bias",
         kOfLayers,
         "Dtype of bias tensor of LayerNorm only support Float32, Half and BFloat16 but now it is "}}},
      {"native_layer_norm_backward",
       {{"grad_out",
         kOfLayers,
         "Dtype of grad_out tensor of LayerNormBackward only support Float32/Half/BFloat16, but now it is "},
        {"input",
         kOfLayers,
         "Dtype of input tensor of LayerNormBackward only support Float32/Half/BFloat16, but now it is "}}},
      {"native_dropout",
       {{"input",
         kOfLayers,
         "Dtype of input tensor of NativeDropout only support Float, Half and BFloat16, but now it is "}}},
      {"native_dropout_backward",
       {{"grad_output",
         kOfLayers,
         "Dtype of input tensor of NativeDropoutBackward only support Float, Half and BFloat16, but now it is "}}},
      {"_softmax_backward_data", softmax_backward},
      {"_log_softmax_backward_data", softmax_backward},
      {"norm", {{"self", kOfLayers, "Norm only supports Float/Half/BFloat16 input, but now it is "}}},
      {"addcdiv",
       {{"self",
         kOfRanges,
         "Dtype of input tensor of addcdiv only support int32/64, fp32/fp16/bf16, but now it is "}}},
      {"avg_pool2d_backward",
       {{"grad_output",
         kSingle,
         "Dtype of grad_output tensor of AvgPool2dBackward only support Float32, but now it is "},
        {"self", kSingle, "Dtype of input tensor of AvgPool2dBackward only support Float32, but now it is "}}},
      {"bucketize",
       {{"self", kOfBuckets, "Bucketize supports dtypes of float32, int32 and int64, but now it is "}}},
      {"bincount", {{"weights", kSingle, "expected scalar type Float but found "}}},
      {"_embedding_bag", {{"weight", kSingle, "Unsupported output data type"}}},
      {"_fft_r2c",
       {{"self", kOfTransforms, "Expected dtype of input tensor is Float32 and Double, but now it is "}}},
  };
  return known;
}

constexpr const char* kUnchecked = "SetMUTensorDType Unsupported tensor dtype: ";

// Complex numbers: muDNN has none (utils/Utils.cpp), and kernels of indexing leave them out (musa/Index*.mu, Scatter.cpp).
struct OfReals {
  const char* message;
  std::optional<Release> until; // the release that has CUDA's kernel instead
};

std::unordered_map<std::string, OfReals> without_complex() {
  std::unordered_map<std::string, OfReals> made;
  const auto add = [&](std::initializer_list<const char*> names, const char* message, std::optional<Release> until) {
    for (const auto* name : names) {
      made[name] = {message, until};
    }
  };
  add({"acos", "atan", "cos", "exp", "log", "log10", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sqrt", "tan", "tanh",
       "silu", "sum", "cumsum", "cumprod"},
      kUnchecked,
      Release::v2_11_0);
  add({"pow", "eq", "ne", "logical_not", "logical_and", "logical_or", "logical_xor", "silu_backward",
       "sigmoid_backward", "tanh_backward", "mean", "prod", "any", "all", "where", "addcmul", "dot", "mv", "addmv", "addmm",
       "masked_select", "masked_scatter"},
      kUnchecked,
      std::nullopt);
  add({"index"}, "\"IndexMusa\" not implemented for '", Release::v2_9_1);
  add({"index_put", "_index_put_impl"}, "\"IndexPut\" not implemented for '", Release::v2_9_1);
  add({"index_select"}, "IndexSelect unsupported!", Release::v2_9_1);
  add({"index_add"}, "\"index_add\" not implemented for '", std::nullopt);
  add({"scatter"}, "scatter input unsupported complex tensor dtype", std::nullopt);
  add({"scatter_add"}, "scatter_add input unsupported complex tensor dtype", std::nullopt);
  return made;
}

bool is_typed(const c10::Argument& argument) {
  const auto type = argument.type()->str();
  return type == "Tensor" || type == "Tensor?" || argument.name() == "dtype";
}

// Binary.cpp compares complex tensors by a kernel of CUDA's, and scatter_reduce is one.
bool takes_complex(const c10::FunctionSchema& schema, const std::string& op) {
  const auto& overload = schema.overload_name();
  return (op == "eq" && overload.rfind("Tensor", 0) == 0) || (op == "scatter" && overload.find("reduce") != std::string::npos);
}

void refuse_complex(std::vector<DtypeRule>& rules, const c10::FunctionSchema& schema, const std::string& op) {
  static const auto known = without_complex();
  const auto found = known.find(op);
  if (found == known.end() || takes_complex(schema, op) || (found->second.until && since(*found->second.until))) {
    return;
  }
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    if (is_typed(schema.arguments()[i])) {
      rules.push_back({i, kNotComplex, found->second.message});
    }
  }
}

thread_local int unchecked = 0;

std::optional<at::ScalarType> dtype_of(const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined()) {
    return value.toTensor().scalar_type();
  }
  return value.isInt() ? std::optional<at::ScalarType>(static_cast<at::ScalarType>(value.toInt())) : std::nullopt;
}

} // namespace

std::vector<DtypeRule> dtype_rules(const c10::FunctionSchema& schema, const std::string& op) {
  std::vector<DtypeRule> made;
  refuse_complex(made, schema, op);
  const auto found = table().find(op);
  const bool by_tensors = op.rfind("clamp", 0) == 0 && schema.overload_name().rfind("Tensor", 0) == 0;
  // Activation.cpp checks the types of these where it makes the result, and those of `neg` always. It checks `abs` too, which PyTorch has
  // turned into `abs.out` before the simulator sees it.
  const bool unchecked = (op == "relu" || op == "round") && (schema.is_mutable() || !schema.overload_name().empty());
  // Bounds that are tensors go another way.
  if (by_tensors || unchecked || found == table().end()) {
    return made;
  }
  for (const auto& row : found->second) {
    const auto index = schema.argumentIndexWithName(row.argument);
    if (index.has_value() && schema.arguments()[*index].type()->str() != "Scalar") {
      made.push_back({static_cast<size_t>(*index), row.allowed, row.message});
    }
  }
  return made;
}

void check_dtypes(const std::vector<DtypeRule>& rules, const c10::IValue* arguments) {
  if (C10_UNLIKELY(unchecked != 0)) {
    return;
  }
  for (const auto& rule : rules) {
    const auto type = dtype_of(arguments[rule.argument]);
    if (!type.has_value() || (rule.allowed >> static_cast<int>(*type) & 1) != 0) {
      continue;
    }
    const std::string message = rule.message;
    const auto last = message.back();
    TORCH_CHECK(false, message, last == ' ' || last == '\'' ? toString(*type) : "", last == '\'' ? "'" : "");
  }
}

AnyType::AnyType() {
  ++unchecked;
}

AnyType::~AnyType() {
  --unchecked;
}

} // namespace musasim
