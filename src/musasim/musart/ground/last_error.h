// The error that a program reads with musaGetLastError: each thread's last one.
#pragma once

#include "../include/musasim/errors.h"

namespace musart {

// Remembers an error and passes it on; success changes nothing.
musaError_t remember(musaError_t error) noexcept;

musaError_t last_error() noexcept;
void forget_last_error() noexcept;

} // namespace musart
