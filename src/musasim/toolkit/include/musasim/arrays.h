/* Arrays, which textures and surfaces read: here rows with a pitch, in slices or layers. Extents and places are in elements, but for
   the functions that copy rows, where they are in bytes. Absent: mipmaps and cubes, which are refused. */
#pragma once

#include <stdlib.h>

#include "musasim/volumes.h"

typedef enum musaChannelFormatKind {
  musaChannelFormatKindSigned = 0,
  musaChannelFormatKindUnsigned = 1,
  musaChannelFormatKindFloat = 2,
  musaChannelFormatKindNone = 3
} musaChannelFormatKind;
typedef struct musaChannelFormatDesc {
  int x, y, z, w;
  musaChannelFormatKind f;
} musaChannelFormatDesc;

#define musaArrayDefault 0x00
#define musaArrayLayered 0x01
#define musaArraySurfaceLoadStore 0x02
#define musaArrayCubemap 0x04
#define musaArrayTextureGather 0x08

/* A program has but pointers to it. The height and the depth of `extent` are 0 where an array has fewer dimensions. */
struct musaArray {
  musaChannelFormatDesc channels;
  musaExtent extent;
  unsigned int flags;
  musaPitchedPtr memory;
};
typedef struct musaArray* musaArray_t;
typedef const struct musaArray* musaArray_const_t;

static inline size_t musasim_element(const musaChannelFormatDesc* channels) {
  return (size_t)((channels->x + channels->y + channels->z + channels->w) / 8);
}
static inline size_t musasim_at_least_one(size_t size) { return size == 0 ? 1 : size; }

static inline musaError_t musaMalloc3DArray(
    musaArray_t* made, const musaChannelFormatDesc* channels, musaExtent extent, unsigned int flags MUSART_DEFAULT(0)) {
  if (made == NULL || channels == NULL || extent.width == 0) return musaErrorInvalidValue;
  if (musasim_element(channels) == 0) return musaErrorInvalidValue;
  if (flags & ~(unsigned int)(musaArrayLayered | musaArraySurfaceLoadStore)) return musaErrorNotSupported;
  const int has_layers = (flags & musaArrayLayered) != 0;
  if ((has_layers && extent.depth == 0) || (!has_layers && extent.depth != 0 && extent.height == 0)) return musaErrorInvalidValue;
  struct musaArray* array = (struct musaArray*)malloc(sizeof(struct musaArray));
  if (array == NULL) return musaErrorMemoryAllocation;
  array->channels = *channels;
  array->extent = extent;
  array->flags = flags;
  const musaError_t error = musaMalloc3D(
      &array->memory, make_musaExtent(extent.width * musasim_element(channels), musasim_at_least_one(extent.height),
                                      musasim_at_least_one(extent.depth)));
  if (error != musaSuccess) {
    free(array);
    return error;
  }
  *made = array;
  return musaSuccess;
}
static inline musaError_t musaMallocArray(
    musaArray_t* made, const musaChannelFormatDesc* channels, size_t width, size_t height MUSART_DEFAULT(0),
    unsigned int flags MUSART_DEFAULT(0)) {
  if (flags & musaArrayLayered) return musaErrorInvalidValue;
  return musaMalloc3DArray(made, channels, make_musaExtent(width, height, 0), flags);
}
static inline musaError_t musaFreeArray(musaArray_t array) {
  if (array == NULL) return musaSuccess;
  const musaError_t error = musaFree(array->memory.ptr);
  free(array);
  return error;
}
static inline musaError_t
musaArrayGetInfo(musaChannelFormatDesc* channels, musaExtent* extent, unsigned int* flags, musaArray_t array) {
  if (array == NULL) return musaErrorInvalidResourceHandle;
  if (channels != NULL) *channels = array->channels;
  if (extent != NULL) *extent = array->extent;
  if (flags != NULL) *flags = array->flags;
  return musaSuccess;
}
static inline musaError_t musaGetChannelDesc(musaChannelFormatDesc* channels, musaArray_const_t array) {
  return channels == NULL ? musaErrorInvalidValue : musaArrayGetInfo(channels, NULL, NULL, (musaArray_t)array);
}

/* Where a row begins, or NULL if so many rows of so many bytes are not in the array. */
static inline char* musasim_rows(musaArray_const_t array, size_t x, size_t y, size_t width, size_t height) {
  if (array == NULL || x + width > array->memory.xsize || y + height > array->memory.ysize) return NULL;
  return (char*)array->memory.ptr + y * array->memory.pitch + x;
}

static inline musaError_t musaMemcpy2DToArrayAsync(
    musaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, musaMemcpyKind kind,
    musaStream_t stream MUSART_DEFAULT(0)) {
  char* const rows = musasim_rows(to, x, y, width, height);
  if (rows == NULL) return musaErrorInvalidValue;
  return musaMemcpy2DAsync(rows, to->memory.pitch, from, pitch, width, height, kind, stream);
}
static inline musaError_t musaMemcpy2DToArray(
    musaArray_t to, size_t x, size_t y, const void* from, size_t pitch, size_t width, size_t height, musaMemcpyKind kind) {
  char* const rows = musasim_rows(to, x, y, width, height);
  if (rows == NULL) return musaErrorInvalidValue;
  return musaMemcpy2D(rows, to->memory.pitch, from, pitch, width, height, kind);
}
static inline musaError_t musaMemcpy2DFromArrayAsync(
    void* to, size_t pitch, musaArray_const_t from, size_t x, size_t y, size_t width, size_t height, musaMemcpyKind kind,
    musaStream_t stream MUSART_DEFAULT(0)) {
  const char* const rows = musasim_rows(from, x, y, width, height);
  if (rows == NULL) return musaErrorInvalidValue;
  return musaMemcpy2DAsync(to, pitch, rows, from->memory.pitch, width, height, kind, stream);
}
static inline musaError_t musaMemcpy2DFromArray(
    void* to, size_t pitch, musaArray_const_t from, size_t x, size_t y, size_t width, size_t height, musaMemcpyKind kind) {
  const char* const rows = musasim_rows(from, x, y, width, height);
  if (rows == NULL) return musaErrorInvalidValue;
  return musaMemcpy2D(to, pitch, rows, from->memory.pitch, width, height, kind);
}
static inline musaError_t musaMemcpy2DArrayToArray(
    musaArray_t to, size_t to_x, size_t to_y, musaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
    musaMemcpyKind kind MUSART_DEFAULT(musaMemcpyDeviceToDevice)) {
  const char* const rows = musasim_rows(from, x, y, width, height);
  if (rows == NULL) return musaErrorInvalidValue;
  return musaMemcpy2DToArray(to, to_x, to_y, rows, from->memory.pitch, width, height, kind);
}

/* Bytes that fill rows one after the other, from a place in one of them. */
static inline musaError_t musasim_copy_flat(
    musaArray_t array, size_t x, size_t y, char* other, size_t bytes, musaMemcpyKind kind, int is_source) {
  if (array == NULL) return musaErrorInvalidValue;
  while (bytes > 0) {
    const size_t room = x < array->memory.xsize ? array->memory.xsize - x : 0, part = bytes < room ? bytes : room;
    if (part == 0) return musaErrorInvalidValue;
    const musaError_t error = is_source ? musaMemcpy2DFromArray(other, part, array, x, y, part, 1, kind)
                                        : musaMemcpy2DToArray(array, x, y, other, part, part, 1, kind);
    if (error != musaSuccess) return error;
    other += part;
    bytes -= part;
    x = 0;
    ++y;
  }
  return musaSuccess;
}
static inline musaError_t
musaMemcpyToArray(musaArray_t to, size_t x, size_t y, const void* from, size_t bytes, musaMemcpyKind kind) {
  return musasim_copy_flat(to, x, y, (char*)from, bytes, kind, 0);
}
static inline musaError_t
musaMemcpyFromArray(void* to, musaArray_const_t from, size_t x, size_t y, size_t bytes, musaMemcpyKind kind) {
  return musasim_copy_flat((musaArray_t)from, x, y, (char*)to, bytes, kind, 1);
}
