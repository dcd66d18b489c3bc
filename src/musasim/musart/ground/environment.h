// What the environment asks for. Its variables and their values are those of musasim/base/settings.py. What is not understood is named
// on stderr, once, and counts as not set.
#pragma once

#include <limits>

#pragma GCC visibility push(default)
namespace musart {

long long read_number(const char* name, long long fallback, long long low, long long high = std::numeric_limits<long long>::max());
bool read_flag(const char* name); // off if it is not set

} // namespace musart
#pragma GCC visibility pop
