// What MUSASIM_SEED says: a number, one that is chosen here and told, or nothing.
#pragma once

#include <cstdint>

namespace musart {

struct Seed {
  bool given = false;
  uint64_t number = 0;
};

const Seed& chosen_seed();

} // namespace musart
