// Which line of source an address in a program's code belongs to.
#pragma once

#include <string>

namespace musart {

std::string line_of(const void* caller);
const void* caller_outside(); // where the program, and not this library, is; nullptr if nobody knows

} // namespace musart
