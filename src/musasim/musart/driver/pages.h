// Pages of the host behind memory of a device.
#pragma once

#include <cstddef>

namespace musart {

constexpr size_t kPage = 4096;

// Writes to `file`, at `at`, the pages that are not all zero, as a new file is. Untouched pages cost nothing and stay untouched.
bool copy_touched_pages(const char* from, size_t bytes, int file, size_t at);

void close_off(char* address, size_t bytes); // leaves addresses that nothing may touch

} // namespace musart
