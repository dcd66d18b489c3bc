// muBLAS's handle, and how its functions refuse arguments.
#pragma once

#include <functional>
#include <utility>

#include "cpu.h"
#include "mublas.h"

struct mublasContext {
  musaStream_t stream = nullptr;
  mublasPointerMode_t pointers = MUBLAS_POINTER_MODE_HOST;
  mublasAtomicsMode_t atomics = MUBLAS_ATOMICS_NOT_ALLOWED;
  mublasMath_t math = MUBLAS_DEFAULT_MATH;

  bool on_device() const { return pointers == MUBLAS_POINTER_MODE_DEVICE; }
  template <class T>
  musasim::Scalar<T> scalar(const T* place) const { return {place, on_device()}; }
  mublasStatus_t run(std::function<void()> work) const {
    return musasim::in_stream(stream, std::move(work)) == musaSuccess ? MUBLAS_STATUS_SUCCESS : MUBLAS_STATUS_INTERNAL_ERROR;
  }
};

#define MUBLAS_REQUIRE(handle) \
  if ((handle) == nullptr) return MUBLAS_STATUS_INVALID_HANDLE
#define MUBLAS_SIZES(condition) \
  if (!(condition)) return MUBLAS_STATUS_INVALID_SIZE
#define MUBLAS_POINTERS(condition) \
  if (!(condition)) return MUBLAS_STATUS_INVALID_POINTER
#define MUBLAS_ROUTINE(variable, expression) \
  void* const variable = expression;         \
  if (variable == nullptr) return MUBLAS_STATUS_NOT_IMPLEMENTED
