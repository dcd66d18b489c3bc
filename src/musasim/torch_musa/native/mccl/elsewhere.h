#pragma once

#include <functional>

namespace musasim::mccl {

// Runs `job` on a thread that does nothing else meanwhile, so the job may block. Completing a future runs the program's
// callbacks, and those may wait for further collectives.
void run_elsewhere(std::function<void()> job);

} // namespace musasim::mccl
