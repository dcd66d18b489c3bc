// muSPARSE's handle, which both halves of the library know.
#pragma once

#include "cpu.h"
#include "musparse.h"

struct musparseContext {
  musaStream_t stream = nullptr;
  musparsePointerMode_t pointers = MUSPARSE_POINTER_MODE_HOST;
};

namespace musasim {

inline musparseStatus_t as_status(musaError_t error) {
  return error == musaSuccess ? MUSPARSE_STATUS_SUCCESS : MUSPARSE_STATUS_EXECUTION_FAILED;
}

}  // namespace musasim
