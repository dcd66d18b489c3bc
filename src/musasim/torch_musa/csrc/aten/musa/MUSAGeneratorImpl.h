#pragma once

#include <cstdint> // before the raw definition, which includes nothing

#include "torch_musa/csrc/aten/musa/PhiloxMusaStateRaw.muh"
#include "torch_musa/csrc/aten/utils/Utils.h"
#include <c10/musa/MUSAMacros.h>

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <utility>

namespace at {

// A generator of a MUSA device. It counts the random numbers that kernels have used. Code that launches a kernel with random
// numbers takes a state from it while it holds the generator's mutex.
struct MUSAGeneratorImpl : public c10::GeneratorImpl {
  // The state for one kernel whose threads draw at most `increment` numbers each. The next kernel's state begins after them.
  virtual PhiloxMusaState philox_musa_state(uint64_t increment) = 0;
  virtual std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment) = 0;
  virtual void set_philox_offset_per_thread(uint64_t offset) = 0;
  virtual uint64_t philox_offset_per_thread() const = 0;

  static c10::DeviceType device_type() {
    return at::musa::kMUSA;
  }

 protected:
  using c10::GeneratorImpl::GeneratorImpl;
};

namespace musa::detail {

C10_MUSA_API const Generator& getDefaultMUSAGenerator(c10::DeviceIndex device = -1);
C10_MUSA_API Generator createMUSAGenerator(c10::DeviceIndex device = -1);

} // namespace musa::detail
} // namespace at
