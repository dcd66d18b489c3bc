#pragma once

#include "alerts.h"
#include "division.h"
#include "dtypes.h"
#include "random.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

namespace musasim {

// The facts about an operator that the fallback needs, determined once from its schema.
struct Signature {
  size_t arguments;
  uint64_t written = 0;        // arguments (by bit) that the operator writes to
  uint64_t updated = 0;        // those that it writes to where its argument `training` is true, which its schema does not say
  size_t training = 0;
  uint64_t host_allowed = 0;   // arguments that CUDA accepts from the CPU in any size
  uint64_t generators = 0;     // generator arguments
  bool host_scalars = false;   // 0-dim CPU tensors may be mixed with device tensors
  bool seeded = false;         // draws from the default generator without naming it
  Draw draw = nullptr;         // draws as CUDA's kernel does
  Computation instead = nullptr; // computes where the CPU's kernel would raise an error, which no kernel of a device can
  bool synchronizes = false;   // its result depends on values, so the host waits for it
  bool samples = false;        // reads its input on the host unless it draws with replacement, its third argument
  bool indexes = false;        // takes a list of indices as its second argument, and those may be masks
  bool has_cpu_kernel = true;
  bool not_of_dense = false;   // nor is it used for dense tensors
  bool cpu_only = false;       // has a CPU kernel that is not used here
  bool may_wait = false;       // in its stream, with MUSASIM_SEED
  bool masks_shape_result = false; // where an argument is one: what it chooses has a size that depends on its values
  Alert alert = nullptr;       // says which calls are not deterministic
  std::vector<DtypeRule> dtypes; // what torch_musa's kernel refuses
};

const Signature& signature_of(const c10::OperatorHandle& op);

// Arguments (by bit) that a call writes to.
uint64_t written_by(const Signature& signature, const c10::IValue* arguments);

} // namespace musasim
