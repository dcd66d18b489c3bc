// A gate in front of the kernel that the device has for an operator: it sends the calls that the kernel may refuse or get wrong to
// torchada's kernel in Python, and hands all others on, unboxed. Only tensors of the device come to it.
//
// `source.py` writes the file that names the operators. A gate that is opened is registered for PrivateUse1. Python's kernel waits at
// PrivateUse2, and the device's own can be called at PrivateUse3: no tensor has these keys.
#pragma once

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/result_type.h>
#include <c10/core/WrapDimMinimal.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace torchada {

constexpr auto kDevice = c10::DispatchKey::PrivateUse1;
constexpr auto kPython = c10::DispatchKey::PrivateUse2;
constexpr auto kOwn = c10::DispatchKey::PrivateUse3;

// Which calls are Python's, as bits; `gates.py` has the same numbers. None: a probe has found the device's kernel right.
constexpr int kAlways = 1;
constexpr int kRefused = 2; // those that the device's kernel refuses, which it is asked first
constexpr int kOfIntegers = 4; // those of integers or booleans alone
constexpr int kOfDoubles = 8; // those whose operands have double precision as their common type
constexpr int kSliced = 16; // those with a matrix of eight bytes or more an element, which BLAS would read with the stride between rows alone
constexpr int kScaled = 32; // elu with other scales than 1
constexpr int kFractional = 64; // those of integers with a number that is none
constexpr int kOfComplex = 128; // those of complex numbers
constexpr int kOfNothing = 256; // those whose first tensor has no elements
constexpr int kScattered = 512; // those that write to a tensor that is not contiguous
constexpr int kIntoFloats = 1024; // those of int64 that ask for a floating type
constexpr int kEvaluated = 2048; // gradients of a batch normalization that is not trained
// Into `out`, which the device's kernel takes as it is, so that the gate gives it the size of the result: of what is computed for each
// pair of elements, of a product of matrices, of a reduction.
constexpr int kPairwise = 4096;
constexpr int kProduct = 8192;
constexpr int kReduced = 16384;
constexpr int kSized = kPairwise | kProduct | kReduced;
constexpr int kRefusedComplex = 32768; // as kRefused, of complex numbers alone
constexpr int kWaiting = 65536; // those of booleans, and those in double precision alone
// With a number of the device in front of a tensor, which the device's kernel reads on the host: the gate makes it a row of one element.
constexpr int kNumberFirst = 131072;
constexpr int kOthers = ~(kRefused | kRefusedComplex | kSized | kNumberFirst);

constexpr uint64_t bits(std::initializer_list<at::ScalarType> types) {
  uint64_t made = 0;
  for (const auto type : types) {
    made |= uint64_t{1} << static_cast<int>(type);
  }
  return made;
}

constexpr uint64_t kComplex = bits({at::kComplexHalf, at::kComplexFloat, at::kComplexDouble});
constexpr uint64_t kComplexNumber = uint64_t{1} << 63; // no type: a complex number among the arguments, of the host or the device
constexpr uint64_t kIntegers = bits({at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong});
// Refused for another reason, such as nine dimensions, and tried again the next time.
constexpr uint64_t kCommon = bits({at::kFloat, at::kLong, at::kInt, at::kBool});

inline uint64_t bit(const at::Tensor& tensor) {
  return uint64_t{1} << static_cast<int>(tensor.scalar_type());
}

inline bool is_ours(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_privateuseone();
}

// The types of the device's tensors among the arguments, as bits.
template <class T>
uint64_t types_of(const T& /*value*/) {
  return 0;
}
inline uint64_t types_of(const at::Tensor& tensor) {
  return is_ours(tensor) ? bit(tensor) : 0;
}
inline uint64_t types_of(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? types_of(*tensor) : 0;
}

template <class T>
bool is_sliced(const T& /*value*/) {
  return false;
}
inline bool is_sliced(const at::Tensor& matrix) {
  if (!is_ours(matrix) || matrix.dim() != 2 || matrix.element_size() < 8 || matrix.is_contiguous()) {
    return false;
  }
  return matrix.stride(1) != 1 && (matrix.stride(0) != 1 || matrix.stride(1) != matrix.size(0));
}

template <class T>
void promote(at::native::ResultTypeState& /*state*/, const T& /*value*/) {}
inline void promote(at::native::ResultTypeState& state, const at::Tensor& operand) {
  state = at::native::update_result_type_state(operand, state);
}
inline void promote(at::native::ResultTypeState& state, const at::Scalar& operand) {
  state = at::native::update_result_type_state(operand, state);
}

template <class... Arguments>
bool is_scaled(const at::Tensor& /*self*/, const at::Scalar& /*alpha*/, const at::Scalar& scale, const at::Scalar& input_scale, const Arguments&...) {
  return !scale.equal(1) || !input_scale.equal(1);
}
template <class... Arguments>
bool is_scaled(const Arguments&...) {
  return true;
}

template <class T>
bool is_fraction(const T& /*value*/) {
  return false;
}
inline bool is_fraction(const at::Scalar& number) {
  return number.isFloatingPoint();
}
inline bool is_fraction(const std::optional<at::Scalar>& number) {
  return number.has_value() && number->isFloatingPoint();
}

template <class... Arguments>
bool is_of_nothing(const at::Tensor& first, const Arguments&...) {
  return first.numel() == 0;
}
template <class... Arguments>
bool is_of_nothing(const Arguments&...) {
  return false;
}

// `Declared` is the type in the schema: a reference to a tensor that is not constant is written to.
template <class Declared, class T>
bool is_scattered(const T& value) {
  if constexpr (std::is_same_v<Declared, at::Tensor&>) {
    return !value.is_contiguous();
  }
  return false;
}

// native_batch_norm_backward and batch_norm_backward have `train` in front of `eps`.
inline bool is_evaluated(bool train, double /*eps*/, const std::array<bool, 3>& /*mask*/) {
  return !train;
}
inline bool is_evaluated(bool train, double /*eps*/, const std::array<bool, 3>& /*mask*/, const at::Tensor& /*reserve*/) {
  return !train;
}
template <class First, class... Rest>
bool is_evaluated(const First& /*first*/, const Rest&... rest) {
  if constexpr (sizeof...(Rest) > 2) {
    return is_evaluated(rest...);
  }
  return false;
}

template <class T>
bool is_floating(const T& /*value*/) {
  return false;
}
inline bool is_floating(const std::optional<at::ScalarType>& type) {
  return type.has_value() && at::isFloatingType(*type);
}

// With CUDA's warning, where `out` has elements.
inline void fit(const at::Tensor& out, at::IntArrayRef size) {
  if (C10_UNLIKELY(is_ours(out) && out.sizes() != size)) {
    at::native::resize_output(out, size);
  }
}

template <class... Arguments>
void fit_pair(const Arguments&...) {}
inline void fit_pair(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
  if (C10_UNLIKELY(a.sizes() != out.sizes() || b.sizes() != out.sizes())) {
    fit(out, at::infer_size_dimvector(a.sizes(), b.sizes()));
  }
}
inline void fit_pair(const at::Tensor& a, const at::Scalar& /*b*/, const at::Tensor& out) {
  fit(out, a.sizes());
}

template <class... Arguments>
void fit_product(const Arguments&...) {}
inline void fit_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& out) {
  if (b.dim() == 0 || a.dim() < b.dim() || a.size(-1) != b.size(b.dim() == 1 ? 0 : -2)) {
    return; // the kernel says what is wrong
  }
  at::DimVector size(a.sizes().begin(), a.sizes().end() - 1); // of a product with a vector
  if (b.dim() > 1) {
    size.push_back(b.size(-1));
  }
  fit(out, size);
}
inline void fit_product(
    const at::Tensor& /*added*/, const at::Tensor& a, const at::Tensor& b, const at::Scalar&, const at::Scalar&, const at::Tensor& out) {
  fit_product(a, b, out);
}

inline at::DimVector reduced(const at::Tensor& self, at::OptionalIntArrayRef dims, bool keepdim) {
  uint64_t gone = !dims.has_value() || dims->empty() ? ~uint64_t{0} : 0;
  for (const auto dim : dims.value_or(at::IntArrayRef())) {
    gone |= uint64_t{1} << c10::maybe_wrap_dim(dim, self.dim());
  }
  at::DimVector size;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if ((gone >> dim & 1) == 0) {
      size.push_back(self.size(dim));
    } else if (keepdim) {
      size.push_back(1);
    }
  }
  return size;
}

template <class... Arguments>
void fit_reduction(const Arguments&...) {}
inline void fit_reduction(const at::Tensor& /*self*/, const at::Tensor& out) {
  fit(out, {});
}
inline void fit_reduction(const at::Tensor& self, int64_t dim, bool keepdim, const at::Tensor& out) {
  fit(out, reduced(self, at::IntArrayRef(dim), keepdim));
}
inline void fit_reduction(const at::Tensor& self, int64_t dim, bool keepdim, const at::Tensor& out, const at::Tensor& indices) {
  fit_reduction(self, dim, keepdim, out);
  fit_reduction(self, dim, keepdim, indices);
}
template <class Dims>
void fit_reduction(const at::Tensor& self, const Dims& dims, bool keepdim, const std::optional<at::ScalarType>&, const at::Tensor& out) {
  fit(out, reduced(self, dims, keepdim));
}

template <class... Arguments>
bool is_number_first(const Arguments&...) {
  return false;
}
template <class... Out>
bool is_number_first(const at::Tensor& first, const at::Tensor& second, const Out&...) {
  return first.dim() == 0 && second.dim() > 0 && is_ours(first);
}

// Of the type that it has beside the other as a number; as a row it would count for more.
inline at::Tensor as_row(const at::Tensor& number, const at::Tensor& other) {
  return number.to(at::result_type(number, other)).unsqueeze(0);
}

template <class T>
bool has_complex(const T& /*value*/) {
  return false;
}
inline bool has_complex(const at::Tensor& tensor) {
  if (is_ours(tensor)) {
    return (bit(tensor) & kComplex) != 0;
  }
  // A number of the host's beside a tensor of the device, which makes the result complex.
  return tensor.defined() && tensor.dim() == 0 && at::isComplexType(tensor.scalar_type());
}
inline bool has_complex(const std::optional<at::ScalarType>& type) {
  return type.has_value() && at::isComplexType(*type);
}
inline bool has_complex(const at::Scalar& number) {
  return number.isComplex();
}

// The combinations of types that a kernel has refused, as bits, so that it need not be asked again. Never more than a few.
class Refusals {
 public:
  bool has(uint64_t types) const {
    const auto count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      if (known_[i] == types) {
        return true;
      }
    }
    return false;
  }

  void add(uint64_t types) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto count = count_.load(std::memory_order_relaxed);
    if (count < known_.size() && !has(types)) {
      known_[count] = types;
      count_.store(count + 1, std::memory_order_release);
    }
  }

  bool empty() const {
    return count_.load(std::memory_order_relaxed) == 0;
  }

 private:
  std::array<uint64_t, 16> known_{};
  std::atomic<size_t> count_{0};
  std::mutex mutex_;
};

// Adds the types to the refusals at the end of a block that no exception ends.
struct Remembered {
  Refusals& refusals;
  uint64_t types;
  int exceptions;

  ~Remembered() {
    if (std::uncaught_exceptions() == exceptions && (types & ~kCommon) != 0) {
      refusals.add(types);
    }
  }
};

struct State {
  std::atomic<int> rule{0};
  std::optional<c10::OperatorHandle> op;
  c10::KernelFunction own;
  Refusals refusals;
  std::optional<c10::RegistrationHandleRAII> gate, own_registered;
};

// The dispatcher gives no access to the kernel of a key. By the rules of C++, an explicit instantiation may name private members.
template <auto definition>
struct Reach {
  friend const c10::impl::OperatorEntry& entry_of(const c10::OperatorHandle& op) {
    return (op.*definition)->op;
  }
};
const c10::impl::OperatorEntry& entry_of(const c10::OperatorHandle& op);
template struct Reach<&c10::OperatorHandle::operatorDef_>;

template <class Operator, class Function = typename Operator::schema>
struct Gate;

template <class Operator, class Result, class... Arguments>
struct Gate<Operator, Result(Arguments...)> {
  static State& state() {
    // Never destroyed, because the dispatcher may be gone already at the end of the process.
    static auto* const one = new State;
    return *one;
  }

  static Result call(c10::DispatchKeySet keys, Arguments... arguments) {
    auto& gate = state();
    const int rule = gate.rule.load(std::memory_order_relaxed);
    if (C10_UNLIKELY((rule & kSized) != 0)) {
      fit_out(rule, arguments...);
    }
    if (C10_UNLIKELY((rule & kOthers) != 0 && concerns(rule, arguments...))) {
      return in_python(gate, arguments...);
    }
    if ((rule & kRefused) != 0 || C10_UNLIKELY((rule & kRefusedComplex) != 0 && (has_complex(arguments) || ...))) {
      return attempt(gate, keys, arguments...);
    }
    if (C10_UNLIKELY((rule & kNumberFirst) != 0 && is_number_first(arguments...))) {
      return with_row(gate, keys, arguments...);
    }
    return gate.own.template call<Result, Arguments...>(*gate.op, keys, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class... Out>
  static Result with_row(State& gate, c10::DispatchKeySet keys, const at::Tensor& first, const at::Tensor& second, Out&... out) {
    return gate.own.template call<Result, Arguments...>(*gate.op, keys, as_row(first, second), second, out...);
  }
  template <class... Others>
  static Result with_row(State& gate, c10::DispatchKeySet keys, Others&... others) {
    return gate.own.template call<Result, Arguments...>(*gate.op, keys, others...);
  }

  static bool concerns(int rule, const Arguments&... arguments) {
    return (rule & kAlways) != 0 || (types_concern(rule, arguments...)) || ((rule & kSliced) != 0 && (is_sliced(arguments) || ...)) ||
        ((rule & kScaled) != 0 && is_scaled(arguments...)) || ((rule & kOfNothing) != 0 && is_of_nothing(arguments...)) ||
        ((rule & kScattered) != 0 && (is_scattered<Arguments>(arguments) || ...)) ||
        ((rule & kEvaluated) != 0 && is_evaluated(arguments...));
  }

  static void fit_out(int rule, const Arguments&... arguments) {
    if ((rule & kPairwise) != 0) {
      fit_pair(arguments...);
    } else if ((rule & kProduct) != 0) {
      fit_product(arguments...);
    } else {
      fit_reduction(arguments...);
    }
  }

  static bool types_concern(int rule, const Arguments&... arguments) {
    if ((rule & (kOfIntegers | kFractional | kOfComplex | kIntoFloats)) != 0) {
      const auto types = (types_of(arguments) | ...);
      const bool are_integers = (types & ~kIntegers) == 0;
      return ((rule & kOfIntegers) != 0 && are_integers) || ((rule & kOfComplex) != 0 && (types & kComplex) != 0) ||
          ((rule & kFractional) != 0 && are_integers && (is_fraction(arguments) || ...)) ||
          ((rule & kIntoFloats) != 0 && (types & bits({at::kLong})) != 0 && (is_floating(arguments) || ...));
    }
    if ((rule & kWaiting) != 0) {
      const auto types = (types_of(arguments) | ...);
      return (types & bits({at::kBool})) != 0 || types == bits({at::kDouble});
    }
    if ((rule & kOfDoubles) != 0) {
      at::native::ResultTypeState state = {};
      (promote(state, arguments), ...);
      return at::native::result_type(state) == at::kDouble;
    }
    return false;
  }

  // What a refusal is remembered by. That of a complex number says nothing about calls without one.
  static uint64_t combination_of(const Arguments&... arguments) {
    return (types_of(arguments) | ...) | ((has_complex(arguments) || ...) ? kComplexNumber : 0);
  }

  static Result attempt(State& gate, c10::DispatchKeySet keys, Arguments... arguments) {
    if (C10_LIKELY(gate.refusals.empty() || !gate.refusals.has(combination_of(arguments...)))) {
      try {
        return gate.own.template call<Result, Arguments...>(*gate.op, keys, arguments...);
      } catch (const c10::OutOfMemoryError&) {
        throw;
      } catch (const c10::Error&) {
      } catch (const std::runtime_error&) {
      }
    }
    // Python asks once more, so that the program gets the kernel's own words where the type was not the reason.
    const Remembered refused{gate.refusals, combination_of(arguments...), std::uncaught_exceptions()};
    return in_python(gate, arguments...);
  }

  static Result in_python(State& gate, Arguments... arguments) {
    const auto op = gate.op->template typed<Result(Arguments...)>();
    return op.redispatch(c10::DispatchKeySet(kPython), std::forward<Arguments>(arguments)...);
  }
};

struct Entry {
  State* state;
  c10::KernelFunction (*kernel)();
};

inline std::unordered_map<std::string, Entry>& entries() {
  static auto* const all = new std::unordered_map<std::string, Entry>;
  return *all;
}

template <class Operator>
c10::KernelFunction kernel_of() {
  return c10::KernelFunction::makeFromUnboxedRuntimeFunction(&Gate<Operator>::call);
}

template <class Operator>
bool add(const char* name) {
  entries()[name] = {&Gate<Operator>::state(), &kernel_of<Operator>};
  return true;
}

// The dispatcher warns, once in a process, when a kernel is put over another; here that is intended.
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

inline c10::OperatorName operator_name(const std::string& name) {
  const auto dot = name.find('.');
  return {"aten::" + name.substr(0, dot), dot == std::string::npos ? std::string() : name.substr(dot + 1)};
}

inline void open(const std::string& name, int rule) {
  const auto op_name = operator_name(name);
  auto& dispatcher = c10::Dispatcher::singleton();
  const auto& entry = entries().at(name);
  auto& gate = *entry.state;
  gate.op = dispatcher.findSchemaOrThrow(op_name.name.c_str(), op_name.overload_name.c_str());
  const auto& of_op = entry_of(*gate.op);
  const bool has_own = of_op.hasComputedKernelForDispatchKey(kDevice);
  gate.own = has_own ? of_op.lookup(c10::DispatchKeySet(kDevice)) : c10::KernelFunction();
  gate.rule = has_own ? rule : kAlways;
  Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  if (has_own) {
    gate.own_registered = dispatcher.registerImpl(op_name, kOwn, gate.own, std::nullopt, nullptr, "the device's own kernel");
  }
  gate.gate = dispatcher.registerImpl(op_name, kDevice, entry.kernel(), std::nullopt, nullptr, "torchada's gate");
}

} // namespace torchada

// Called by library.py.
extern "C" {

__attribute__((visibility("default"))) int torchada_gate_has(const char* name) {
  return static_cast<int>(torchada::entries().count(name));
}

// Returns null, or the error, which is valid until the next call.
__attribute__((visibility("default"))) const char* torchada_gate_open(const char* name, int rule) {
  static std::string problem;
  try {
    torchada::open(name, rule);
    return nullptr;
  } catch (const std::exception& error) {
    problem = error.what();
    return problem.c_str();
  }
}

// Other calls are Python's from now on; none by the rule 0.
__attribute__((visibility("default"))) void torchada_gate_rule(const char* name, int rule) {
  torchada::entries().at(name).state->rule = rule;
}

__attribute__((visibility("default"))) void torchada_gate_close(const char* name) {
  auto& gate = *torchada::entries().at(name).state;
  gate.gate.reset();
  gate.own_registered.reset();
}

} // extern "C"
