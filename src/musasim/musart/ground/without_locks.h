// For work that waits for a lock: those that another thread may need to release it, such as Python's, are free meanwhile.
#pragma once

#include <functional>

#pragma GCC visibility push(default)
namespace musart {

// What PyTorch's side adds. Without it a program has no such locks.
extern void (*release_locks_for)(const std::function<void()>& work);
void without_locks(const std::function<void()>& work);

} // namespace musart
#pragma GCC visibility pop
