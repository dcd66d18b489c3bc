#pragma once

namespace musasim {

// Gives Kineto the records of a profile (trace.h), if this PyTorch has Kineto's headers.
void register_timeline();

} // namespace musasim
