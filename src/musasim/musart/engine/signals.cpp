#include "signals.h"

#include "../driver/pinned_guard.h"
#include "../ground/on_device.h"
#include "running.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace musart {
namespace {

std::atomic<const Handlers*> g_handlers{nullptr}; // of the kernel that is running

// A signal of another thread does not concern us. It comes again, and then the previous handler gets it.
void hand_on(int number) {
  const auto* handlers = g_handlers.load();
  const auto at = std::find(std::begin(kSignals), std::end(kSignals), number) - std::begin(kSignals);
  if (handlers == nullptr) {
    signal(number, SIG_DFL);
  } else {
    sigaction(number, &handlers->before[at], nullptr);
  }
}

void on_signal(int number, siginfo_t* information, void*) {
  if (!on_device()) {
    hand_on(number);
    return;
  }
  if (number == SIGSEGV && streamcheck::reach_pinned(information->si_addr)) {
    return;
  }
  sigset_t these;
  sigemptyset(&these);
  sigaddset(&these, number);
  pthread_sigmask(SIG_UNBLOCK, &these, nullptr); // this handler is never returned from
  if (number == SIGFPE) {
    report("an integer was divided by zero: a device continues, with an undefined result");
    abandon_launch(musaErrorLaunchFailure);
  }
  if (number == SIGILL) {
    report("an instruction that this processor lacks");
    abandon_launch(musaErrorLaunchFailure);
  }
  char text[96];
  const char* format = is_stack_overflow(information->si_addr) ? "the thread's stack is full, at address %p"
                                                               : "no memory of the device at address %p";
  std::snprintf(text, sizeof(text), format, information->si_addr);
  report(text);
  abandon_launch(musaErrorIllegalAddress);
}

// A full stack needs a separate stack for handlers.
stack_t own_stack() {
  thread_local static char* stack = static_cast<char*>(std::malloc(64 << 10));
  stack_t own = {};
  own.ss_sp = stack;
  own.ss_size = 64 << 10;
  return own;
}

} // namespace

void receive_faults() {
  const stack_t own = own_stack();
  sigaltstack(&own, nullptr);
  sigset_t faults;
  sigemptyset(&faults);
  for (const int number : kSignals) sigaddset(&faults, number);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

// Handlers belong to the process, so they are installed only while a kernel runs.
void catch_signals(Handlers& handlers) {
  const stack_t own = own_stack();
  sigaltstack(&own, &handlers.stack_before);
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (size_t at = 0; at < std::size(kSignals); ++at) {
    sigaction(kSignals[at], &action, &handlers.before[at]);
  }
  g_handlers = &handlers;
}

void restore_signals(const Handlers& handlers) {
  g_handlers = nullptr;
  for (size_t at = 0; at < std::size(kSignals); ++at) {
    sigaction(kSignals[at], &handlers.before[at], nullptr);
  }
  sigaltstack(&handlers.stack_before, nullptr);
}

} // namespace musart
