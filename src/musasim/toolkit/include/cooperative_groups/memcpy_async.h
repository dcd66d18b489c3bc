// cooperative_groups::memcpy_async, which copies at once here, and the functions that wait for it.
#pragma once

#include <cstddef>

#include "cooperative_groups.h"

namespace cooperative_groups {

// Each thread of the group copies its share of `bytes`.
template <class Group>
void memcpy_async(const Group& group, void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = group.thread_rank(); i < bytes; i += group.size()) {
    static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  }
}
template <class Group, class T>
void memcpy_async(const Group& group, T* to, const T* from, std::size_t bytes) {
  memcpy_async(group, static_cast<void*>(to), static_cast<const void*>(from), bytes);
}
// At most as many elements as there is room for.
template <class Group, class T>
void memcpy_async(const Group& group, T* to, std::size_t room, const T* from, std::size_t count) {
  memcpy_async(group, to, from, (count < room ? count : room) * sizeof(T));
}

template <class Group>
void wait(const Group& group) {
  group.sync();
}
template <unsigned int Stages, class Group>
void wait_prior(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups
