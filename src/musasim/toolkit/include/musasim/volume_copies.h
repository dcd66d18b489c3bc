/* Copies of three-dimensional memory and of arrays. An extent's width, and places in an array, are in elements where an array takes part,
   and in bytes otherwise. */
#pragma once

#include "musasim/arrays.h"

typedef struct musaMemcpy3DParms {
  musaArray_t srcArray;
  musaPos srcPos;
  musaPitchedPtr srcPtr;
  musaArray_t dstArray;
  musaPos dstPos;
  musaPitchedPtr dstPtr;
  musaExtent extent;
  musaMemcpyKind kind;
} musaMemcpy3DParms;

/* One side of a copy, in bytes: `at` is the place in `memory`, whose slices have so many rows. */
typedef struct musasim_Side {
  musaPitchedPtr memory;
  musaPos at;
} musasim_Side;

static inline musasim_Side musasim_side(musaArray_const_t array, musaPitchedPtr memory, musaPos at) {
  musasim_Side side = {memory, at};
  if (array != NULL) {
    side.memory = array->memory;
    side.at.x *= musasim_element(&array->channels);
  }
  return side;
}
static inline int musasim_is_within(musaArray_const_t array, const musasim_Side* side, musaExtent bytes) {
  return array == NULL || (side->at.x + bytes.width <= side->memory.xsize && side->at.y + bytes.height <= side->memory.ysize &&
                           side->at.z + bytes.depth <= musasim_at_least_one(array->extent.depth));
}

static inline musaError_t musasim_copy_volume(const musaMemcpy3DParms* copy, musaStream_t stream, int is_async) {
  if (copy == NULL) return musaErrorInvalidValue;
  const size_t from_element = copy->srcArray == NULL ? 0 : musasim_element(&copy->srcArray->channels);
  const size_t to_element = copy->dstArray == NULL ? 0 : musasim_element(&copy->dstArray->channels);
  if (from_element != 0 && to_element != 0 && from_element != to_element) return musaErrorInvalidValue;
  const size_t element = from_element != 0 ? from_element : to_element;
  const musaExtent bytes = {copy->extent.width * musasim_at_least_one(element), copy->extent.height, copy->extent.depth};
  const musasim_Side from = musasim_side(copy->srcArray, copy->srcPtr, copy->srcPos);
  const musasim_Side to = musasim_side(copy->dstArray, copy->dstPtr, copy->dstPos);
  if (!musasim_is_within(copy->srcArray, &from, bytes) || !musasim_is_within(copy->dstArray, &to, bytes))
    return musaErrorInvalidValue;
  for (size_t z = 0; z < bytes.depth; ++z) {
    char* const target = musasim_slice(&to.memory, to.at, z);
    const char* const source = musasim_slice(&from.memory, from.at, z);
    const musaError_t error =
        is_async
            ? musaMemcpy2DAsync(target, to.memory.pitch, source, from.memory.pitch, bytes.width, bytes.height, copy->kind, stream)
            : musaMemcpy2D(target, to.memory.pitch, source, from.memory.pitch, bytes.width, bytes.height, copy->kind);
    if (error != musaSuccess) return error;
  }
  return musaSuccess;
}
static inline musaError_t musaMemcpy3DAsync(const musaMemcpy3DParms* copy, musaStream_t stream MUSART_DEFAULT(0)) {
  return musasim_copy_volume(copy, stream, 1);
}
static inline musaError_t musaMemcpy3D(const musaMemcpy3DParms* copy) { return musasim_copy_volume(copy, 0, 0); }
