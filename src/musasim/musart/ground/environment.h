// What the environment asks for.
#pragma once

#pragma GCC visibility push(default)
namespace musart {

// A number from the environment, at least `low`; `fallback` if it is not set, and with a warning if it is not such a number.
long long read_number(const char* name, long long fallback, long long low);

} // namespace musart
#pragma GCC visibility pop
