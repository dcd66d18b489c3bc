#pragma once

#include <new>
#include <utility>

CUB_NAMESPACE_BEGIN
namespace detail {

// Constructs a T in uninitialized memory.
template <class T, class U>
void uninitialized_copy(T* to, U&& value) {
  ::new (static_cast<void*>(to)) T(std::forward<U>(value));
}

}  // namespace detail
CUB_NAMESPACE_END
