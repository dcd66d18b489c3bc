#include "generator.h"

#include "capture.h"
#include "release.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>

#include <cstring>
#include <deque>
#include <mutex>

namespace musasim {
namespace {

constexpr size_t kStateBytes = 2 * sizeof(uint64_t);
constexpr uint64_t kOffsetPerOperation = 4; // as CUDA's generator counts

// Neighbouring offsets must give unrelated streams, and mt19937 uses only the low 32 bits of its seed.
uint64_t mix(uint64_t seed, uint64_t offset) {
  uint64_t z = seed + (offset + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

void check_offset(uint64_t offset) {
  TORCH_CHECK(offset % kOffsetPerOperation == 0, "offset must be a multiple of ", kOffsetPerOperation);
}

// What torch_musa 2.7.1 refuses while a graph is captured, as CUDA did in torch 2.9 and does not in 2.11. Of torch_musa 2.9.1 it is not known.
void refuse_in_a_capture(const char* attempt) {
  if (!since(Release::v2_9_1)) {
    assert_not_capturing(attempt);
  }
}

std::mutex& swap_mutex() {
  static auto* mutex = new std::mutex();
  return *mutex;
}

} // namespace

MusaGenerator::MusaGenerator(c10::DeviceIndex device)
    : at::MUSAGeneratorImpl(c10::Device(kMusa, device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      cpu_(at::detail::createCPUGenerator()) {}

void MusaGenerator::set_current_seed(uint64_t seed) {
  refuse_in_a_capture("Cannot call MUSAGeneratorImpl::set_current_seed");
  if (active_capture() == nullptr) {
    *state_ = State{seed, 0};
    return;
  }
  TORCH_CHECK(
      state_->seed == seed,
      "MUSAGeneratorImpl::set_current_seed can be called during stream capture only if new seed is the same as the "
      "original seed.");
}

uint64_t MusaGenerator::current_seed() const {
  refuse_in_a_capture("Cannot call MUSAGeneratorImpl::current_seed");
  return state_->seed;
}

uint64_t MusaGenerator::seed() {
  assert_not_capturing("Cannot call MUSAGeneratorImpl::seed");
  const auto fresh = c10::detail::getNonDeterministicRandom();
  set_current_seed(fresh);
  return fresh;
}

void MusaGenerator::set_offset(uint64_t offset) {
  assert_not_capturing("Cannot call MUSAGeneratorImpl::set_offset");
  set_philox_offset_per_thread(offset);
}

uint64_t MusaGenerator::get_offset() const {
  assert_not_capturing("Cannot call MUSAGeneratorImpl::get_offset");
  return state_->offset;
}

c10::intrusive_ptr<c10::TensorImpl> MusaGenerator::get_state() const {
  auto bytes = at::detail::empty_cpu({static_cast<int64_t>(kStateBytes)}, c10::ScalarType::Byte);
  const uint64_t words[2] = {current_seed(), state_->offset};
  std::memcpy(bytes.mutable_data_ptr(), words, kStateBytes);
  return bytes.getIntrusivePtr();
}

void MusaGenerator::set_state(const c10::TensorImpl& state) {
  refuse_in_a_capture(
      "Please ensure to utilize the MUSAGeneratorImpl::set_state_index method during capturing.");
  at::detail::check_rng_state(state);
  TORCH_CHECK(static_cast<size_t>(state.numel()) == kStateBytes, "RNG state is wrong size");
  uint64_t words[2];
  std::memcpy(words, state.data(), kStateBytes);
  check_offset(words[1]);
  if (words[0] != state_->seed || words[1] != state_->offset) {
    assert_not_capturing("Cannot call MUSAGeneratorImpl::set_state");
  }
  *state_ = State{words[0], words[1]};
}

void MusaGenerator::graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) {
  auto* other = dynamic_cast<MusaGenerator*>(state.get());
  TORCH_CHECK(other != nullptr, "graphsafe_set_state: expected a state of a MUSA generator");
  state_ = other->state_;
}

c10::intrusive_ptr<c10::GeneratorImpl> MusaGenerator::graphsafe_get_state() const {
  auto view = c10::make_intrusive<MusaGenerator>(device_.index());
  view->state_ = state_;
  return view;
}

MusaGenerator* MusaGenerator::clone_impl() const {
  auto* copy = new MusaGenerator(device_.index());
  *copy->state_ = *state_;
  return copy;
}

at::Generator MusaGenerator::draw() {
  std::lock_guard<std::mutex> lock(mutex_);
  TORCH_INTERNAL_ASSERT(state_->offset % kOffsetPerOperation == 0);
  auto* cpu = at::check_generator<at::CPUGeneratorImpl>(cpu_);
  std::lock_guard<std::mutex> cpu_lock(cpu->mutex_);
  cpu->set_current_seed(mix(state_->seed, state_->offset));
  state_->offset += kOffsetPerOperation;
  return cpu_;
}

std::pair<uint64_t, uint64_t> MusaGenerator::take(uint64_t words) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto offset = state_->offset;
  TORCH_INTERNAL_ASSERT(offset % kOffsetPerOperation == 0);
  state_->offset += (words + kOffsetPerOperation - 1) / kOffsetPerOperation * kOffsetPerOperation;
  return {state_->seed, offset};
}

// A capture runs no kernel, and a replay has another offset. So the kernel gets the address where the replay writes its offset.
at::PhiloxMusaState MusaGenerator::philox_musa_state(uint64_t increment) {
  const auto step = (increment + kOffsetPerOperation - 1) / kOffsetPerOperation * kOffsetPerOperation;
  if (auto* capture = active_capture()) {
    auto drawn = std::make_shared<State>();
    capture->add_at_once("musasim::draw", [state = state_, drawn, step] {
      *drawn = *state;
      state->offset += step;
    });
    return {reinterpret_cast<int64_t*>(&drawn->seed), reinterpret_cast<int64_t*>(&drawn->offset), 0};
  }
  const auto offset = state_->offset;
  TORCH_INTERNAL_ASSERT(offset % kOffsetPerOperation == 0);
  state_->offset += step;
  return {state_->seed, offset};
}

std::pair<uint64_t, uint64_t> MusaGenerator::philox_engine_inputs(uint64_t increment) {
  assert_not_capturing("Refactor this op to use MUSAGeneratorImpl::philox_musa_state. Cannot call philox_engine_inputs");
  const auto taken = philox_musa_state(increment);
  return {taken.seed_.val, taken.offset_.val};
}

void MusaGenerator::set_philox_offset_per_thread(uint64_t offset) {
  check_offset(offset);
  state_->offset = offset;
}

uint64_t MusaGenerator::philox_offset_per_thread() const {
  return state_->offset;
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  static auto* all = [] {
    auto* made = new std::deque<at::Generator>(); // never destroyed: Python holds references until the very end
    for (int i = 0; i < device_count(); ++i) {
      made->push_back(make_generator(static_cast<c10::DeviceIndex>(i)));
    }
    return made;
  }();
  return (*all)[resolve_device(device)];
}

at::Generator make_generator(c10::DeviceIndex device) {
  return at::make_generator<MusaGenerator>(resolve_device(device));
}

namespace {
thread_local const at::Generator* t_wanted = nullptr;
} // namespace

DrawFrom::DrawFrom(const at::Generator& generator) : previous_(t_wanted) {
  t_wanted = &generator;
}

DrawFrom::~DrawFrom() {
  t_wanted = previous_;
}

const at::Generator* wanted_generator() noexcept {
  return t_wanted;
}

SwapDefaultCpuGenerator::SwapDefaultCpuGenerator(c10::DeviceIndex device) {
  swap_mutex().lock();
  auto fresh = at::check_generator<MusaGenerator>(default_generator(device))->draw();
  const auto& cpu = at::detail::getDefaultCPUGenerator();
  std::lock_guard<std::mutex> lock(cpu.unsafeGetGeneratorImpl()->mutex_);
  saved_ = cpu.unsafeGetGeneratorImpl()->get_state();
  cpu.unsafeGetGeneratorImpl()->set_state(*fresh.unsafeGetGeneratorImpl()->get_state());
}

SwapDefaultCpuGenerator::~SwapDefaultCpuGenerator() {
  {
    const auto& cpu = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> lock(cpu.unsafeGetGeneratorImpl()->mutex_);
    cpu.unsafeGetGeneratorImpl()->set_state(*saved_);
  }
  swap_mutex().unlock();
}

} // namespace musasim

namespace at::musa::detail {

const Generator& getDefaultMUSAGenerator(c10::DeviceIndex device) {
  return musasim::default_generator(device);
}

Generator createMUSAGenerator(c10::DeviceIndex device) {
  return musasim::make_generator(device);
}

} // namespace at::musa::detail
