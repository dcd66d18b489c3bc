#include "fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>

// ucontext would work, but it makes a system call for each switch (to save the signal mask), which is 50 times as slow.
#if defined(__x86_64__)

asm(R"(
.text
.p2align 4
.type musart_switch_stacks, @function
musart_switch_stacks:
  endbr64
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size musart_switch_stacks, .-musart_switch_stacks
)");

#elif defined(__aarch64__)

asm(R"(
.text
.p2align 4
.type musart_switch_stacks, %function
musart_switch_stacks:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size musart_switch_stacks, .-musart_switch_stacks
)");

#else
#error "musasim: kernels need a context switch for this processor; see musart/engine/fiber.cpp"
#endif

namespace musart {
namespace {

constexpr size_t kGuard = 4096;
// Stacks lie at equal distances, so frames at the same depth would share a few lines of the processor's cache.
constexpr size_t kStep = 128;
constexpr size_t kSteps = 32;

bool allocate_stack(Fiber& fiber) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* base = mmap(nullptr, kFiberStack + kGuard, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (base == MAP_FAILED) {
    return false;
  }
  mprotect(base, kGuard, PROT_NONE);
  static std::atomic<size_t> number{0};
  fiber.stack = static_cast<char*>(base) + kGuard;
  fiber.top = fiber.stack + kFiberStack - number++ % kSteps * kStep;
  return true;
}

} // namespace

bool prepare(Fiber& fiber, void (*entry)()) {
  if (fiber.stack == nullptr && !allocate_stack(fiber)) {
    return false;
  }
  char* top = fiber.top;
#if defined(__x86_64__)
  // Six registers, the entry point, and an unused return address, because functions start with the stack 8 off a multiple of 16.
  auto** frame = reinterpret_cast<void**>(top) - 8;
  std::memset(frame, 0, 8 * sizeof(void*));
  frame[6] = reinterpret_cast<void*>(entry);
#else
  auto** frame = reinterpret_cast<void**>(top - 160);
  std::memset(frame, 0, 160);
  frame[11] = reinterpret_cast<void*>(entry);
#endif
  fiber.stack_pointer = frame;
  return true;
}

} // namespace musart
