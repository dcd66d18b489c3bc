// An override of an operator of PyTorch: write the kernel, then name it in one line, at the file's end:
//
//     #include "override.h"
//     #include <ATen/ops/log.h>
//
//     static at::Tensor log(const at::Tensor& self) { ... }
//     TORCHADA_OVERRIDE("log", log);              // or ("log", log, "2.11.0"): not needed from this torch_musa on
//
// One operator of `aten` per file, with the signature of its schema; docs/how-to/cpp-overrides.md has the rest. The loader
// registers what the macro records, as TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) would at once, and can take it back.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace torchada {

struct Override {
  const char* file; // the source file
  uint32_t line;
  const char* name; // "mm.dtype": an operator of aten, with its overload
  const char* until; // the first version of the device's adapter that no longer needs it; empty for none
  void (*impl)(torch::Library&, const char* name);
  void (*begin)(const c10::OperatorHandle&, c10::DispatchKey, const char* name, bool logged);
  std::unique_ptr<torch::Library> registered;
};

// Never destroyed, because the dispatcher may be gone already at the end of the process.
inline std::vector<Override>& overrides() {
  static auto* const all = new std::vector<Override>;
  return *all;
}

// The dispatcher gives no access to the kernel of a key. By the rules of C++, an explicit instantiation may name private members.
template <auto definition>
struct Reach {
  friend const c10::impl::OperatorEntry& entry_of(const c10::OperatorHandle& op) {
    return (op.*definition)->op;
  }
};
const c10::impl::OperatorEntry& entry_of(const c10::OperatorHandle& op);
template struct Reach<&c10::OperatorHandle::operatorDef_>;

// The wrapper of one kernel. The kernel's address is part of the type, so each kernel has its own wrapper.
template <auto kernel, class Function = decltype(kernel)>
struct Around;

template <auto kernel, class Result, class... Arguments>
struct Around<kernel, Result (*)(Arguments...)> {
  static inline const char* name = "";
  static inline bool logged = false;
  static inline std::optional<c10::OperatorHandle> op;
  static inline c10::DispatchKeySet keys;
  static inline c10::KernelFunction before;

  static Result call(Arguments... arguments) {
    if (logged) {
      std::fprintf(stderr, "torchada: aten::%s called\n", name);
    }
    // Autograd has run already, or is not concerned: what the kernel calls is not recorded. Nor does autocast convert it: most
    // operators have no rule, so that their calls pass by an autocast that stays in force.
    at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard below_autocast(c10::autocast_dispatch_keyset);
    return kernel(std::forward<Arguments>(arguments)...);
  }

  static Result call_before(Arguments... arguments) {
    TORCH_CHECK_NOT_IMPLEMENTED(before.isValid(), "aten::", name, " has no kernel but torchada's override");
    return before.template call<Result, Arguments...>(*op, keys, std::forward<Arguments>(arguments)...);
  }

  static void impl(torch::Library& library, const char* operator_name) {
    library.impl(operator_name, TORCH_FN(call));
  }

  static void begin(const c10::OperatorHandle& handle, c10::DispatchKey key, const char* operator_name, bool log) {
    name = operator_name;
    logged = log;
    op = handle;
    keys = c10::DispatchKeySet(key);
    const auto& entry = entry_of(handle);
    before = entry.hasComputedKernelForDispatchKey(key) ? entry.lookup(keys) : c10::KernelFunction();
  }
};

// Within a kernel: what the operator would do without it, whether by the adapter's kernel, PyTorch's composite one or a fallback.
template <auto kernel, class... Arguments>
decltype(auto) original(Arguments&&... arguments) {
  return Around<kernel>::call_before(std::forward<Arguments>(arguments)...);
}

template <auto kernel>
bool add(const char* file, uint32_t line, const char* name, const char* until = "") {
  overrides().push_back({file, line, name, until, &Around<kernel>::impl, &Around<kernel>::begin, nullptr});
  return true;
}

// The dispatcher warns, once in a process, when a kernel is put over another; here that is intended.
struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

inline c10::OperatorHandle find(const std::string& name) {
  const auto dot = name.find('.');
  const auto overload = dot == std::string::npos ? std::string() : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name.substr(0, dot)).c_str(), overload.c_str());
}

inline void enable(Override& override, const char* key_name, bool logged) {
  const auto key = c10::parseDispatchKey(key_name);
  override.begin(find(override.name), key, override.name, logged);
  Quiet quiet;
  c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  auto library = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", key, override.file, override.line);
  override.impl(*library, override.name);
  override.registered = std::move(library);
}

} // namespace torchada

#define TORCHADA_OVERRIDE(name, kernel, ...) \
  static const bool C10_CONCATENATE(torchada_override_, C10_UID) = torchada::add<&kernel>(__FILE__, __LINE__, name, ##__VA_ARGS__)

// Called by the loader. Each file is a library of its own, so these functions are, too.
extern "C" {

// The number of overrides in this library.
__attribute__((visibility("default"))) int torchada_count() {
  return static_cast<int>(torchada::overrides().size());
}

__attribute__((visibility("default"))) const char* torchada_name(int index) {
  return torchada::overrides().at(index).name;
}

__attribute__((visibility("default"))) const char* torchada_until(int index) {
  return torchada::overrides().at(index).until;
}

// Registers a kernel for a dispatch key. Returns null, or the error, which is valid until the next call.
__attribute__((visibility("default"))) const char* torchada_enable(int index, const char* key, int logged) {
  static std::string problem;
  try {
    torchada::enable(torchada::overrides().at(index), key, logged != 0);
    return nullptr;
  } catch (const std::exception& error) {
    problem = error.what();
    return problem.c_str();
  }
}

// Takes it back: the kernel that was in force before is in force again.
__attribute__((visibility("default"))) void torchada_disable(int index) {
  torchada::overrides().at(index).registered.reset();
}

} // extern "C"
