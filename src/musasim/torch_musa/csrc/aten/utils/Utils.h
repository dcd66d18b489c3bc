#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/DispatchKey.h>

namespace at::musa {

constexpr c10::DeviceType kMUSA = c10::DeviceType::PrivateUse1;
constexpr c10::DispatchKey kMUSAKey = c10::DispatchKey::PrivateUse1;

} // namespace at::musa
