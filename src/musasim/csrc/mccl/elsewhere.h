#pragma once

#include <functional>

namespace musasim::mccl {

// Runs `job` on a thread that does nothing else meanwhile, so it may block for as long as it likes: what completes a future
// runs the callbacks of the program, and those may wait for further collectives.
void run_elsewhere(std::function<void()> job);

} // namespace musasim::mccl
