// PyTorch 2.7 has this header under c10's name only; with the stable ABI, newer ones refuse that name.
#pragma once
#if __has_include_next(<torch/headeronly/util/Half.h>)
#include_next <torch/headeronly/util/Half.h>
#else
#include <c10/util/Half.h>
#endif

// PyTorch's own is for __CUDA_ARCH__ alone, which no compiler of MUSA's defines.
#if defined(__MUSACC__) && !defined(__CUDA_ARCH__) && !(defined(__clang__) && defined(__CUDA__))
namespace c10 {
inline C10_DEVICE Half __ldg(const Half* pointer) {
  return *pointer;
}
} // namespace c10
#endif
