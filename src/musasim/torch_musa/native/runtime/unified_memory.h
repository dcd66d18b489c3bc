#pragma once

#include "pluggable.h"

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

namespace musasim {

// Lets tensors on the host lie in memory that the device can use as well, or no more. Those that exist keep their memory.
void use_unified_host_memory();
void use_own_host_memory();

// The allocator of tensors on the host while they lie in unified memory, otherwise nullptr.
c10::Allocator* unified_host_memory() noexcept;
PluggableAllocator unified_allocator(); // provides unified memory for tensors on a device
bool free_unified_memory(void* address); // false if it is other memory

// Says that a storage is on another device. Its memory stays where it is, so it has to be unified memory.
void say_device(c10::StorageImpl& storage, c10::Device device);

} // namespace musasim
