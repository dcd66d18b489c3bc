// MUSASIM_LEAKCHECK=1: memory that a program has not freed when it ends.
#pragma once

namespace musart {

// A program has got memory; `caller` is where it asked for it.
void remember_owner(const void* base, const void* caller);

} // namespace musart
