// __device__, __constant__ and __managed__ variables. All devices share one copy, although each should have its own.
#pragma once

#include <cstddef>

namespace musart {

void add_symbol(void* address, size_t bytes);

// Bytes from `pointer` to the end of the device's variable that it lies in; 0 when it lies in none.
size_t room_in_symbol(const void* pointer);

} // namespace musart
