// The short vectors of CUDA and MUSA: char1 .. double4, with the alignment that lets a device load them at once, and dim3.
#pragma once

#define MUSASIM_VECTORS_OF(scalar, name, align2, align4)                    \
  struct name##1 {                                                          \
    scalar x;                                                               \
  };                                                                        \
  struct alignas(align2) name##2 {                                          \
    scalar x, y;                                                            \
  };                                                                        \
  struct name##3 {                                                          \
    scalar x, y, z;                                                         \
  };                                                                        \
  struct alignas(align4) name##4 {                                          \
    scalar x, y, z, w;                                                      \
  };

MUSASIM_VECTORS_OF(signed char, char, 2, 4)
MUSASIM_VECTORS_OF(unsigned char, uchar, 2, 4)
MUSASIM_VECTORS_OF(short, short, 4, 8)
MUSASIM_VECTORS_OF(unsigned short, ushort, 4, 8)
MUSASIM_VECTORS_OF(int, int, 8, 16)
MUSASIM_VECTORS_OF(unsigned int, uint, 8, 16)
MUSASIM_VECTORS_OF(long, long, 16, 16)
MUSASIM_VECTORS_OF(unsigned long, ulong, 16, 16)
MUSASIM_VECTORS_OF(long long, longlong, 16, 16)
MUSASIM_VECTORS_OF(unsigned long long, ulonglong, 16, 16)
MUSASIM_VECTORS_OF(float, float, 8, 16)
MUSASIM_VECTORS_OF(double, double, 16, 16)

#undef MUSASIM_VECTORS_OF

// The extent of a grid or a block. Missing values are 1.
struct dim3 {
  unsigned int x, y, z;

  constexpr dim3(unsigned int width = 1, unsigned int height = 1, unsigned int depth = 1) : x(width), y(height), z(depth) {}
  constexpr dim3(uint3 extent) : x(extent.x), y(extent.y), z(extent.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
