/* Three-dimensional memory: slices of rows with a pitch, over the runtime's functions for rows. An extent's width is in bytes. */
#pragma once

#include <stddef.h>

#include "musasim/runtime_api.h"

typedef struct musaExtent {
  size_t width, height, depth;
} musaExtent;
typedef struct musaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
} musaPitchedPtr;
typedef struct musaPos {
  size_t x, y, z;
} musaPos;
static inline musaExtent make_musaExtent(size_t width, size_t height, size_t depth) {
  const musaExtent made = {width, height, depth};
  return made;
}
static inline musaPitchedPtr make_musaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
  const musaPitchedPtr made = {pointer, pitch, width, height};
  return made;
}
static inline musaPos make_musaPos(size_t x, size_t y, size_t z) {
  const musaPos made = {x, y, z};
  return made;
}

static inline musaError_t musaMalloc3D(musaPitchedPtr* memory, musaExtent extent) {
  if (memory == NULL) return musaErrorInvalidValue;
  memory->xsize = extent.width;
  memory->ysize = extent.height;
  return musaMallocPitch(&memory->ptr, &memory->pitch, extent.width, extent.height * extent.depth);
}

static inline char* musasim_slice(const musaPitchedPtr* memory, musaPos at, size_t z) {
  return (char*)memory->ptr + ((at.z + z) * memory->ysize + at.y) * memory->pitch + at.x;
}

static inline musaError_t
musaMemset3DAsync(musaPitchedPtr memory, int value, musaExtent extent, musaStream_t stream MUSART_DEFAULT(0)) {
  const musaPos begin = {0, 0, 0};
  for (size_t z = 0; z < extent.depth; ++z) {
    const musaError_t error =
        musaMemset2DAsync(musasim_slice(&memory, begin, z), memory.pitch, value, extent.width, extent.height, stream);
    if (error != musaSuccess) return error;
  }
  return musaSuccess;
}
static inline musaError_t musaMemset3D(musaPitchedPtr memory, int value, musaExtent extent) {
  const musaPos begin = {0, 0, 0};
  for (size_t z = 0; z < extent.depth; ++z) {
    const musaError_t error = musaMemset2D(musasim_slice(&memory, begin, z), memory.pitch, value, extent.width, extent.height);
    if (error != musaSuccess) return error;
  }
  return musaSuccess;
}
