#pragma once

#include "device.h"

#include "torch_musa/csrc/aten/musa/MUSAGeneratorImpl.h"

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <memory>
#include <utility>

namespace musasim {

// A counter-based generator like CUDA's: its state is a seed and an offset, and every random operation takes the next
// offset. CPU kernels refuse a generator of another device, so it holds a CPU generator, reseeded for each operation.
class MusaGenerator final : public at::MUSAGeneratorImpl {
 public:
  explicit MusaGenerator(c10::DeviceIndex device);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) override;
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override;

  // A CPU generator for one operation.
  at::Generator draw();

  // The seed, and the offset of the next `words` numbers of a thread, which are taken.
  std::pair<uint64_t, uint64_t> take(uint64_t words);

  // For the kernels of extensions, see the base class.
  at::PhiloxMusaState philox_musa_state(uint64_t increment) override;
  std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment) override;
  void set_philox_offset_per_thread(uint64_t offset) override;
  uint64_t philox_offset_per_thread() const override;

 private:
  struct State {
    uint64_t seed = c10::default_rng_seed_val;
    uint64_t offset = 0;
  };

  MusaGenerator* clone_impl() const override;

  std::shared_ptr<State> state_ = std::make_shared<State>();
  at::Generator cpu_;
};

const at::Generator& default_generator(c10::DeviceIndex device);
at::Generator make_generator(c10::DeviceIndex device);

// While it lives, this thread's operators draw from this generator, whichever they are given.
class DrawFrom {
 public:
  explicit DrawFrom(const at::Generator& generator);
  ~DrawFrom();
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;

 private:
  const at::Generator* previous_;
};
const at::Generator* wanted_generator() noexcept; // null: the one that is given, or the device's

// Lets kernels run that always use the CPU's default generator, without changing the CPU's sequence of numbers.
class SwapDefaultCpuGenerator {
 public:
  explicit SwapDefaultCpuGenerator(c10::DeviceIndex device);
  ~SwapDefaultCpuGenerator();
  SwapDefaultCpuGenerator(const SwapDefaultCpuGenerator&) = delete;
  SwapDefaultCpuGenerator& operator=(const SwapDefaultCpuGenerator&) = delete;

 private:
  c10::intrusive_ptr<c10::TensorImpl> saved_;
};

} // namespace musasim
