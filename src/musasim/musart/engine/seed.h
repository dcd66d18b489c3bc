// MUSASIM_SEED: in which order blocks begin, and threads run. Without it, in the order of their numbers.
#pragma once

#include <cstddef>
#include <vector>

namespace musart {

bool is_seeded() noexcept;
void begin_order(); // of a launch: what follows depends on the seed and on how many launches there were before
void tell_seed(); // on stderr, how this order is repeated

// The block that runs as the `turn`-th of `count`.
size_t block_of_turn(size_t turn, size_t count);

// The threads of a block, in the order in which they go on: warp by warp, in any order, and within a warp.
void shuffle_threads(std::vector<unsigned>& threads);

} // namespace musart
