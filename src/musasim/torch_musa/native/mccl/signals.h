#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace musasim::mccl {

// A number that two ranks share: it is 1 while a signal is on its way. Both wait on the host, because kernels run there at once.
// A `timeout` of zero waits for ever. Each returns whether it came to its end in time.
bool put_signal(uint32_t* place, std::chrono::milliseconds timeout);
bool take_signal(uint32_t* place, std::chrono::milliseconds timeout);

} // namespace musasim::mccl
