// Bad addresses, divisions by zero and the like in kernels: the process' signals, while a kernel runs.
#pragma once

#include <csignal>
#include <cstddef>
#include <iterator>

namespace musart {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

struct Handlers {
  struct sigaction before[std::size(kSignals)];
  stack_t stack_before;
};

void catch_signals(Handlers& handlers);
void restore_signals(const Handlers& handlers);
void receive_faults(); // on an OS thread that runs blocks for another, which has caught them

} // namespace musart
