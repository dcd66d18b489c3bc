#include "without_locks.h"

namespace musart {

void (*release_locks_for)(const std::function<void()>& work) = nullptr;

void without_locks(const std::function<void()>& work) {
  release_locks_for == nullptr ? work() : release_locks_for(work);
}

} // namespace musart
