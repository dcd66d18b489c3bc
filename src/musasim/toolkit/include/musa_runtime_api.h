// The runtime's functions in libmusart.so, for C.
#pragma once

#include "host_defines.h" // declarations say __host__, whichever compiler reads them
#include "vector_types.h"

// By these, programs see which headers there are, as the helpers of CUDA's samples do.
#define __DRIVER_TYPES_H__
#define __MUSA_RUNTIME_API_H__

#define MUSART_EXTENT dim3
#include "musasim/runtime_api.h"
#include "musasim/unraised_errors.h"
#include "musasim/volume_copies.h"

/* The names of these functions before CUDA 4, which CUDA 12 still has. */
static inline musaError_t musaThreadSynchronize(void) {
  return musaDeviceSynchronize();
}
static inline musaError_t musaThreadExit(void) {
  return musaDeviceReset();
}
static inline musaError_t musaThreadSetCacheConfig(musaFuncCache config) {
  return musaDeviceSetCacheConfig(config);
}
static inline musaError_t musaThreadSetLimit(musaLimit limit, size_t value) {
  return musaDeviceSetLimit(limit, value);
}
static inline musaError_t musaThreadGetLimit(size_t* value, musaLimit limit) {
  return musaDeviceGetLimit(value, limit);
}
