// MUSASIM_STREAMCHECK=1, or MUSASIM_SEED: which work of streams is over before which begins. A stream counts its work, and knows of every stream how much
// of that one's work came before. An event carries this to other streams, and the host learns it where it waits. All threads of the host
// count as one, because how they tell each other what they know is not seen.
#pragma once

#include "stream.h"

#include <mutex>

#pragma GCC visibility push(default)
namespace musart::streamcheck {

bool enabled() noexcept;
bool orders_for_seed() noexcept; // MUSASIM_SEED, where there is no checker: postponed.h
bool is_order_kept() noexcept; // for either

void record_known(Known& known, Stream& stream); // what is over when the stream gets here
void stream_learns(Stream& stream, const Known& known);

} // namespace musart::streamcheck
#pragma GCC visibility pop

namespace musart::streamcheck {

struct Moment { // a piece of work, or none
  int stream = -1;
  uint32_t work = 0;
};

// Everything below, and in the other files of the checker, happens under this lock.
std::recursive_mutex& order_lock();

Moment begin_work(Stream& stream);
bool is_over(const Moment& earlier, const Known& known);
const Known& known_to_host();
void host_learns(const Known& known);
void host_learns_all_of(int device);

} // namespace musart::streamcheck
