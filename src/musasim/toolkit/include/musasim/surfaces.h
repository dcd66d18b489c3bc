// Surface objects: elements of an array that kernels read and write, at a byte of a row. Included by musa_texture_types.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "musasim/arrays.h"

typedef unsigned long long musaSurfaceObject_t;
enum musaSurfaceBoundaryMode { musaBoundaryModeZero = 0, musaBoundaryModeClamp = 1, musaBoundaryModeTrap = 2 };

// An object is the address of its array. Only one that was made for it can be written to by kernels.
static inline musaError_t musaCreateSurfaceObject(musaSurfaceObject_t* made, const musaResourceDesc* resource) {
  if (made == nullptr || resource == nullptr || resource->resType != musaResourceTypeArray) return musaErrorInvalidValue;
  const musaArray* const array = resource->res.array.array;
  if (array == nullptr || (array->flags & musaArraySurfaceLoadStore) == 0) return musaErrorInvalidValue;
  *made = static_cast<musaSurfaceObject_t>(reinterpret_cast<std::uintptr_t>(array));
  return musaSuccess;
}
static inline musaError_t musaDestroySurfaceObject(musaSurfaceObject_t) { return musaSuccess; }
static inline musaError_t musaGetSurfaceObjectResourceDesc(musaResourceDesc* resource, musaSurfaceObject_t object) {
  if (resource == nullptr || object == 0) return musaErrorInvalidValue;
  *resource = {};
  resource->resType = musaResourceTypeArray;
  resource->res.array.array = reinterpret_cast<musaArray_t>(static_cast<std::uintptr_t>(object));
  return musaSuccess;
}

#ifdef __MUSACC__
#include "musasim/engine.h"

namespace musasim {

// A coordinate that is inside, or -1 for one that is not.
inline long surface_place(long at, std::size_t size, musaSurfaceBoundaryMode mode) {
  if (at >= 0 && static_cast<std::size_t>(at) < size) return at;
  if (mode == musaBoundaryModeTrap) musasim_fault(700, "a surface was read or written outside of its array");
  return mode == musaBoundaryModeZero ? -1 : at < 0 ? 0 : static_cast<long>(size) - 1;
}

// Where an element lies; null beyond the array, which reads as zero and is not written to.
template <class T>
T* on_surface(musaSurfaceObject_t object, long x, long y, long z, musaSurfaceBoundaryMode mode) {
  const auto& array = *reinterpret_cast<const musaArray*>(static_cast<std::uintptr_t>(object));
  const long size = static_cast<long>(sizeof(T));
  const long column = surface_place(x < 0 ? -1 : x / size, array.memory.xsize / sizeof(T), mode);
  const long row = surface_place(y, array.memory.ysize, mode);
  const long slice = surface_place(z, musasim_at_least_one(array.extent.depth), mode);
  if (column < 0 || row < 0 || slice < 0) return nullptr;
  auto* const rows = static_cast<char*>(array.memory.ptr) + slice * array.memory.ysize * array.memory.pitch;
  return reinterpret_cast<T*>(rows + row * array.memory.pitch) + column;
}

template <class T>
T read_surface(musaSurfaceObject_t object, long x, long y, long z, musaSurfaceBoundaryMode mode) {
  const T* const place = on_surface<T>(object, x, y, z, mode);
  return place == nullptr ? T{} : *place;
}
template <class T>
void write_surface(const T& value, musaSurfaceObject_t object, long x, long y, long z, musaSurfaceBoundaryMode mode) {
  T* const place = on_surface<T>(object, x, y, z, mode);
  if (place != nullptr) *place = value;
}

}  // namespace musasim

// The functions of a kind: PLACE are its parameters, and XYZ what they are in three dimensions.
#define MUSASIM_SURFACE(kind, PLACE, XYZ, NAMES)                                                              \
  template <class T>                                                                                          \
  T kind##read(musaSurfaceObject_t object, PLACE, musaSurfaceBoundaryMode mode = musaBoundaryModeTrap) {      \
    return musasim::read_surface<T>(object, XYZ, mode);                                                       \
  }                                                                                                           \
  template <class T>                                                                                          \
  void kind##read(T* value, musaSurfaceObject_t object, PLACE, musaSurfaceBoundaryMode mode = musaBoundaryModeTrap) { \
    *value = kind##read<T>(object, NAMES, mode);                                                              \
  }                                                                                                           \
  template <class T>                                                                                          \
  void kind##write(T value, musaSurfaceObject_t object, PLACE, musaSurfaceBoundaryMode mode = musaBoundaryModeTrap) { \
    musasim::write_surface(value, object, XYZ, mode);                                                         \
  }
#define MUSASIM_AND ,
MUSASIM_SURFACE(surf1D, int x, x MUSASIM_AND 0 MUSASIM_AND 0, x)
MUSASIM_SURFACE(surf2D, int x MUSASIM_AND int y, x MUSASIM_AND y MUSASIM_AND 0, x MUSASIM_AND y)
MUSASIM_SURFACE(surf3D, int x MUSASIM_AND int y MUSASIM_AND int z, x MUSASIM_AND y MUSASIM_AND z, x MUSASIM_AND y MUSASIM_AND z)
MUSASIM_SURFACE(
    surf2DLayered, int x MUSASIM_AND int y MUSASIM_AND int z, x MUSASIM_AND y MUSASIM_AND z, x MUSASIM_AND y MUSASIM_AND z)
#undef MUSASIM_SURFACE
#undef MUSASIM_AND
#endif
