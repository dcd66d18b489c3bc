#pragma once

#include <c10/musa/MUSAMacros.h>

#include <c10/util/Exception.h>
#include <musa_runtime_api.h>

#include <cstdint>

// Raises when a call of the MUSA runtime fails, and clears its last error.
#define C10_MUSA_CHECK(EXPR)                    \
  do {                                          \
    ::c10::musa::c10_musa_check_implementation( \
        static_cast<int32_t>(EXPR), __FILE__, __func__, static_cast<int>(__LINE__), true); \
  } while (0)

#define C10_MUSA_CHECK_WARN(EXPR)                                   \
  do {                                                              \
    const musaError_t musa_error_ = (EXPR);                         \
    if (C10_UNLIKELY(musa_error_ != musaSuccess)) {                 \
      (void)musaGetLastError();                                     \
      TORCH_WARN("MUSA warning: ", musaGetErrorString(musa_error_)); \
    }                                                               \
  } while (0)

#define C10_MUSA_ERROR_HANDLED(EXPR) EXPR

#define C10_MUSA_IGNORE_ERROR(EXPR)  \
  do {                               \
    if ((EXPR) != musaSuccess) {     \
      (void)musaGetLastError();      \
    }                                \
  } while (0)

#define C10_MUSA_CLEAR_ERROR() ((void)musaGetLastError())

// Use it after every launch of a kernel. It reports a bad configuration.
#define C10_MUSA_KERNEL_LAUNCH_CHECK() C10_MUSA_CHECK(musaGetLastError())

#define TORCH_MUSA_CHECK(EXPR) C10_MUSA_CHECK(EXPR)
#define TORCH_MUSA_CHECK_WARN(EXPR) C10_MUSA_CHECK_WARN(EXPR)
#define TORCH_MUSA_WARN(EXPR) C10_MUSA_CHECK_WARN(EXPR)
#define TORCH_MUSA_ERROR_HANDLE(EXPR) EXPR

namespace c10 {

// Programs can catch this class. As in the real package, errors are raised as c10::Error.
class MUSAError : public c10::Error {
  using Error::Error;
};

namespace musa {

C10_MUSA_API void c10_musa_check_implementation(
    int32_t error,
    const char* file,
    const char* function,
    int line,
    bool include_device_assertions);

} // namespace musa
} // namespace c10
