// MUSASIM_STREAMCHECK=1: the memory that the running launch reads and writes, as far as mcc has compiled its kernel for a checker.
#pragma once

#include "../driver/streamcheck.h"

namespace musart::streamcheck {

void note(const void* address, size_t bytes, Kind kind, const void* caller);
void end_of_launch(Stream* stream, const char* kernel); // nullptr: nobody knows when the stream gets there

} // namespace musart::streamcheck
