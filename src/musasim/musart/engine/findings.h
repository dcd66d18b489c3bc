// What MUSASIM_MEMCHECK=1 has found. A finding is kept until the launch has ended, because the program that knows lines of source
// cannot be started from a thread's small stack.
#pragma once

#include <string>

#include "running.h"

namespace musart::memcheck {

std::string thread_text(unsigned thread); // its indices, in blocks of the running launch
std::string block_text(unsigned block);

// At two places in the code, of which the second may be missing. Each place is named once for each kind of fault.
void found(const CheckedThread& by, const char* kind, const std::string& what, const void* caller, const void* other = nullptr);
void found(const char* kind, const std::string& what, const void* caller); // by the running thread
// Where the program itself says its place, as "file:line".
void found_at(const CheckedThread& by, const char* kind, const std::string& what, const std::string& place);

void write_findings(); // to stderr

} // namespace musart::memcheck
