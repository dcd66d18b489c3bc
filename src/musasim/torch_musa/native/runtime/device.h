#pragma once

#include "musart/driver.h"

#include <c10/core/Device.h>

#include <string>

namespace musasim {

constexpr c10::DeviceType kMusa = c10::DeviceType::PrivateUse1;
using musart::kMaxDevices;
constexpr const char* kSdkVersion = "50100";

using musart::DeviceProperties;

// The simulated driver's (musart/driver.h), in PyTorch's types and with PyTorch's exceptions.
c10::DeviceIndex device_count() noexcept;
using musart::device_properties;

c10::DeviceIndex current_device() noexcept;
void set_device(c10::DeviceIndex index);
void set_device_unchecked(c10::DeviceIndex index) noexcept;
c10::DeviceIndex exchange_device(c10::DeviceIndex index);

void check_device(c10::DeviceIndex index);

// Raises the error of a kernel that has failed on the device, if there is one. It never goes away. Before that, what an operator has
// raised that waited in its stream.
void check_fault(c10::DeviceIndex index);
void check_postponed();

// Index -1 means the current device everywhere in PyTorch.
c10::DeviceIndex resolve_device(c10::DeviceIndex index);

using musart::arm_fork_guard;
using musart::in_bad_fork;
void refuse_after_fork();


[[noreturn]] void raise_musa_error(const std::string& what);

} // namespace musasim
