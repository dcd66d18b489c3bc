// Textures over linear memory, rows with a pitch and arrays: their types, texture objects, and the references of CUDA before version 12;
// surface objects over arrays. Absent: mipmaps, cubes, gathering, halves as elements, which creating a texture refuses; references of surfaces.
#pragma once

#include <climits>
#include <cstddef>

#include "musa_runtime_api.h"

enum musaTextureAddressMode {
  musaAddressModeWrap = 0,
  musaAddressModeClamp = 1,
  musaAddressModeMirror = 2,
  musaAddressModeBorder = 3
};
enum musaTextureFilterMode { musaFilterModePoint = 0, musaFilterModeLinear = 1 };
enum musaTextureReadMode { musaReadModeElementType = 0, musaReadModeNormalizedFloat = 1 };
enum musaResourceType {
  musaResourceTypeArray = 0,
  musaResourceTypeMipmappedArray = 1,
  musaResourceTypeLinear = 2,
  musaResourceTypePitch2D = 3
};

typedef struct musaMipmappedArray* musaMipmappedArray_t;
typedef unsigned long long musaTextureObject_t;
struct musaResourceViewDesc;

struct musaResourceDesc {
  musaResourceType resType;
  union {
    struct {
      musaArray_t array;
    } array;
    struct {
      musaMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      musaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      musaChannelFormatDesc desc;
      size_t width, height, pitchInBytes;
    } pitch2D;
  } res;
};
struct musaTextureDesc {
  musaTextureAddressMode addressMode[3];
  musaTextureFilterMode filterMode;
  musaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  musaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};

// What a reference and an object have in common. A program sets the settings of a reference itself.
struct textureReference {
  int normalized = 0;
  musaTextureFilterMode filterMode = musaFilterModePoint;
  musaTextureAddressMode addressMode[3] = {musaAddressModeClamp, musaAddressModeClamp, musaAddressModeClamp};
  musaChannelFormatDesc channelDesc = {};
  // The memory that it is bound to: rows of `width` elements.
  mutable const char* musasim_data = nullptr;
  mutable size_t musasim_width = 0, musasim_height = 0, musasim_pitch = 0;
  mutable size_t musasim_depth = 1, musasim_slice_pitch = 0;  // of slices, or of layers
};
#ifdef __MUSACC__  // projects' own C++ sources may have a class of this name
template <class T, int dimensions = 1, musaTextureReadMode mode = musaReadModeElementType>
struct texture : textureReference {};
#endif

static inline musaChannelFormatDesc musaCreateChannelDesc(int x, int y, int z, int w, musaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

#include "musasim/textures.h"
#include "musasim/surfaces.h"
