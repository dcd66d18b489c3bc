// torch::headeronly::HeaderOnlyArrayRef, which PyTorch 2.9 has under c10's name only.
#pragma once
#if __has_include_next(<torch/headeronly/util/HeaderOnlyArrayRef.h>)
#include_next <torch/headeronly/util/HeaderOnlyArrayRef.h>
#else

#include <c10/util/ArrayRef.h>

#include <cstdint>

namespace torch::headeronly {
template <class T>
using HeaderOnlyArrayRef = c10::ArrayRef<T>;
using IntHeaderOnlyArrayRef = HeaderOnlyArrayRef<int64_t>;
} // namespace torch::headeronly

#endif
