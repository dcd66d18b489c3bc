#pragma once

#include <c10/core/Device.h>

#include <string>

namespace musasim {

constexpr c10::DeviceType kMusa = c10::DeviceType::PrivateUse1;
constexpr int kMaxDevices = 64;
constexpr const char* kSdkVersion = "50100";

struct DeviceProperties {
  // Figures and results are the CPU's, so whatever prints the name says so.
  std::string name = "MTT S5000 (simulated)";
  int major = 3;
  int minor = 1;
  bool is_multi_gpu_board = false;
  bool is_integrated = false;
  int multi_processor_count = 56;
  size_t total_memory = 0;
};

// Devices are counted once per process, as a driver does, so the environment is read at the first call only.
c10::DeviceIndex device_count() noexcept;
const DeviceProperties& device_properties();

c10::DeviceIndex current_device() noexcept;
void set_device(c10::DeviceIndex index);
void set_device_unchecked(c10::DeviceIndex index) noexcept;
c10::DeviceIndex exchange_device(c10::DeviceIndex index);

void check_device(c10::DeviceIndex index);

// Index -1 means the current device everywhere in PyTorch.
c10::DeviceIndex resolve_device(c10::DeviceIndex index);

// A driver does not survive a fork. After `arm_fork_guard` a forked child is refused any device work.
void arm_fork_guard();
bool in_bad_fork() noexcept;
void refuse_after_fork();

// A number from the environment, at least `low`; `fallback` where there is none, and with a warning where it is no such number.
long long read_number(const char* name, long long fallback, long long low);

[[noreturn]] void raise_musa_error(const std::string& what);

} // namespace musasim
