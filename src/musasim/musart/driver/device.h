// Devices: how many, what they are, and which one the thread works on.
#pragma once

#include <cstddef>
#include <string>

#pragma GCC visibility push(default)
namespace musart {

constexpr int kMaxDevices = 64;

struct DeviceProperties {
  // Figures and results are the CPU's, so the name says "simulated".
  std::string name = "MTT S5000 (simulated)";
  int major = 3;
  int minor = 1;
  bool is_multi_gpu_board = false;
  bool is_integrated = false;
  int multi_processor_count = 56;
  size_t total_memory = 0;
};

// Devices are counted once per process, as a driver does, so the environment is read at the first call only.
int device_count() noexcept;
int physical_device(int device); // its number among all devices of the machine, hidden ones too
const DeviceProperties& device_properties();

inline bool is_device(int device) noexcept {
  return device >= 0 && device < device_count();
}

int current_device() noexcept; // of the calling thread
void set_current_device(int device) noexcept;

// The number of what a kernel failed with on the device, 0 for nothing. It stays until the process ends.
int device_fault(int device) noexcept;
void fail_device(int device, int error) noexcept;

// A driver does not survive a fork. After `arm_fork_guard`, a forked child cannot do any device work.
void arm_fork_guard();
bool in_bad_fork() noexcept;

} // namespace musart
#pragma GCC visibility pop
