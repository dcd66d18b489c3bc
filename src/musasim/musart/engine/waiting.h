// Threads that wait: for the block's barrier, for lanes of their warp, or because they let others run.
#pragma once

#include "running.h"

namespace musart {

void make_ready(Block& block, Thread& thread);
void wait(RunningLaunch& d, Wait what, const char* place, int line); // of the running thread, until it is made ready

void finish_barrier(Block& block);

// Rounds, in which lanes of a warp give each other values.
Round& open_round(RunningLaunch& d, Warp& warp, unsigned mask, const char* what);
Round* find_round(Warp& warp, unsigned mask);
bool is_complete(const Warp& warp, const Round& round);
void close_round(RunningLaunch& d, Warp& warp, Round& round);
void let_go(RunningLaunch& d, Thread& thread); // of the round that it was in last

} // namespace musart
