#include "protected_memory.h"

#include "../ground/environment.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace musart {

const bool protects_memory = read_flag("MUSASIM_PROTECT");
std::optional<TensorMemory> (*tensor_memory_at)(const void* address) = nullptr;
MemoryTable memory_table;

namespace {

std::mutex g_mutex;
int g_works = 0; // pieces of work that are under way
struct sigaction g_before; // what a program, or Python's faulthandler, does of a segmentation fault

const char* what_it_did(const void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrites = 2; // in the processor's code of a page fault
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrites ? "wrote to" : "read";
#else
  static_cast<void>(context);
  return "read or wrote to";
#endif
}

int describe(char* text, size_t room, const char* address, const MemoryPlace& in) {
  const auto tensor = tensor_memory_at == nullptr ? std::nullopt : tensor_memory_at(address);
  if (tensor) {
    return std::snprintf(text, room, "byte %zu of the %zu that were allocated for a tensor at %p",
                         static_cast<size_t>(address - tensor->base), tensor->bytes, static_cast<const void*>(tensor->base));
  }
  if (in.of_framework) {
    return std::snprintf(text, room, "memory that belongs to no tensor");
  }
  return std::snprintf(text, room, "byte %zu of an allocation of %zu bytes at %p", static_cast<size_t>(address - in.base), in.bytes,
                       static_cast<const void*>(in.base));
}

void report_access(const char* address, const MemoryPlace& in, const void* context) {
  char where[160];
  describe(where, sizeof(where), address, in);
  char text[512];
  const int length = std::snprintf(
      text, sizeof(text),
      "musasim: the host %s memory of device %d, at address %p: %s. On a GPU this is a segmentation fault, too. "
      "Copy the tensor to the host first (MUSASIM_PROTECT=1 is set).\n",
      what_it_did(context), in.device, static_cast<const void*>(address), where);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, static_cast<size_t>(length));
}

// The program ends by the signal, as whoever handled it before decides: raised again, because by now the memory may be open.
void on_fault(int number, siginfo_t* fault, void* context) {
  const auto* address = static_cast<const char*>(fault->si_addr);
  const auto in = fault->si_code == SEGV_ACCERR ? memory_table.find(address) : std::nullopt;
  sigaction(number, &g_before, nullptr);
  if (in) {
    report_access(address, *in, context);
    raise(number);
  }
}

bool watch_faults() {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  return sigaction(SIGSEGV, &action, &g_before) == 0;
}

} // namespace

void DeviceWork::begin() {
  [[maybe_unused]] static const bool watched = watch_faults();
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_works++ == 0) {
    memory_table.permit_host(PROT_READ | PROT_WRITE);
  }
}

void DeviceWork::end() {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (--g_works == 0) {
    memory_table.permit_host(PROT_NONE);
  }
}

} // namespace musart
