// MUSASIM_THREADS: the OS threads that run blocks of a launch at the same time.
#pragma once

#include "running.h"

namespace musart {

// How many OS threads are to run the launch's blocks.
unsigned threads_of(const Launch& launch);

// Runs `work` on the calling OS thread with `the_launch`, and on others, each with a state of its own; returns when all are done.
void run_on_threads(unsigned threads, void (*work)(RunningLaunch& d, const RunningLaunch& like));

} // namespace musart
