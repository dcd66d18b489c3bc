// What MUSASIM_STREAMCHECK=1 has found, on stderr: who did what, and where.
#pragma once

#include "stream.h"

#include <string>
#include <tuple>

#pragma GCC visibility push(default)
namespace musart::streamcheck {

// Where the program is, as "file:line"; empty if it does not say. PyTorch's side knows Python.
extern std::string (*program_place)();

} // namespace musart::streamcheck
#pragma GCC visibility pop

namespace musart::streamcheck {

struct Spot { // a line of Python, or an address in a library
  std::string line;
  const void* caller = nullptr;
  bool operator<(const Spot& other) const {
    return std::tie(line, caller) < std::tie(other.line, other.caller);
  }
};
Spot spot_of_program(); // not to be asked for under a lock, because Python has one, too

// Work of a stream at a place of the program, by a number; each is remembered once.
using Site = uint32_t;
Site site_of(const char* name, const Stream& stream, const Spot& spot);
std::string text_of_site(Site site);

// Each pair of places is told once.
void found_race(Site site, Site other, const std::string& what);
void found_on_host(const Spot& spot, const char* kind, Site other, const std::string& what);

} // namespace musart::streamcheck
