// Textures over linear memory and over rows with a pitch, by objects and by references, and memory of three dimensions.
#include <cstdint>
#include <cstring>

#include "on_device.h"

static musaTextureObject_t made(const musaResourceDesc& resource, musaTextureAddressMode mode, musaTextureFilterMode filter,
                                musaTextureReadMode read, int normalized) {
  musaTextureDesc description;
  std::memset(&description, 0, sizeof description);
  description.addressMode[0] = description.addressMode[1] = mode;
  description.filterMode = filter;
  description.readMode = read;
  description.normalizedCoords = normalized;
  musaTextureObject_t object = 0;
  musaCreateTextureObject(&object, &resource, &description, nullptr);
  return object;
}

static musaResourceDesc line(void* data, size_t bytes, const musaChannelFormatDesc& desc) {
  musaResourceDesc resource;
  std::memset(&resource, 0, sizeof resource);
  resource.resType = musaResourceTypeLinear;
  resource.res.linear.devPtr = data;
  resource.res.linear.desc = desc;
  resource.res.linear.sizeInBytes = bytes;
  return resource;
}

__global__ void fetch_objects(musaTextureObject_t floats, musaTextureObject_t bytes, musaTextureObject_t pairs, float* out) {
  out[0] = tex1Dfetch<float>(floats, 2);
  out[1] = tex1Dfetch<float>(floats, 4);
  out[2] = tex1Dfetch<float>(floats, -1);
  out[3] = tex1Dfetch<float>(bytes, 1);
  tex1Dfetch(&out[4], bytes, 0);
  const float2 pair = tex1Dfetch<float2>(pairs, 1);
  out[5] = pair.x;
  out[6] = pair.y;
}

// Floats 0 to 3; bytes 0 and 255 as floats from 0 to 1; pairs of the floats.
extern "C" int fetched(float* in, uint8_t* small, float* out) {
  Buffer<float> floats(in, 4), result(out, 7);
  Buffer<uint8_t> bytes(small, 2);
  const auto whole = made(line(floats.data(), 16, musaCreateChannelDesc<float>()), musaAddressModeClamp, musaFilterModePoint,
                          musaReadModeElementType, 0);
  const auto parts = made(line(bytes.data(), 2, musaCreateChannelDesc<unsigned char>()), musaAddressModeClamp,
                          musaFilterModePoint, musaReadModeNormalizedFloat, 0);
  const auto pairs = made(line(floats.data(), 16, musaCreateChannelDesc<float2>()), musaAddressModeClamp, musaFilterModePoint,
                          musaReadModeElementType, 0);
  fetch_objects<<<1, 1>>>(whole, parts, pairs, result.data());
  result.back();
  for (const auto object : {whole, parts, pairs}) musaDestroyTextureObject(object);
  return finished();
}

__global__ void sample(musaTextureObject_t texture, const float2* at, float* out) {
  const float2 place = at[threadIdx.x];
  out[threadIdx.x] = tex2D<float>(texture, place.x, place.y);
}

// A picture of 3 x 2 floats in rows with a pitch, read at `n` places.
extern "C" int sampled(float* picture, float* places, float* out, long n, long mode, long filter, long normalized) {
  float* rows;
  size_t pitch;
  musaMallocPitch(&rows, &pitch, 3 * sizeof(float), 2);
  musaMemcpy2D(rows, pitch, picture, 12, 12, 2, musaMemcpyHostToDevice);
  musaResourceDesc resource;
  std::memset(&resource, 0, sizeof resource);
  resource.resType = musaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = rows;
  resource.res.pitch2D.desc = musaCreateChannelDesc(32, 0, 0, 0, musaChannelFormatKindFloat);
  resource.res.pitch2D.width = 3;
  resource.res.pitch2D.height = 2;
  resource.res.pitch2D.pitchInBytes = pitch;
  const auto texture = made(resource, static_cast<musaTextureAddressMode>(mode), static_cast<musaTextureFilterMode>(filter),
                            musaReadModeElementType, static_cast<int>(normalized));
  Buffer<float> at(places, 2 * n), result(out, n);
  sample<<<1, static_cast<unsigned>(n)>>>(texture, reinterpret_cast<float2*>(at.data()), result.data());
  result.back();
  musaDestroyTextureObject(texture);
  musaFree(rows);
  return finished();
}

#if !defined(__CUDACC__) || CUDART_VERSION < 12000  // references are gone in CUDA 12
texture<float, 1, musaReadModeElementType> referred;
texture<uchar4, 1, musaReadModeNormalizedFloat> colours;

__global__ void fetch_references(float* out) {
  out[0] = tex1Dfetch(referred, 3);
  out[1] = tex1Dfetch(colours, 0).y;
  out[2] = tex1Dfetch(referred, 4);
}

extern "C" int fetched_by_reference(float* in, uint8_t* small, float* out) {
  Buffer<float> floats(in, 4), result(out, 3);
  Buffer<uint8_t> bytes(small, 4);
  size_t offset = 7;
  musaBindTexture(&offset, referred, floats.data(), 16);
  const musaChannelFormatDesc desc = musaCreateChannelDesc<uchar4>();
  musaBindTexture(nullptr, &colours, bytes.data(), &desc, 4);
  fetch_references<<<1, 1>>>(result.data());
  result.back();
  musaUnbindTexture(referred);
  return offset == 0 ? finished() : 1;
}

// What the helpers of CUDA's samples name: all errors, and synchronizing as before CUDA 4.
static_assert(musaErrorStartupFailure == 127 && musaErrorApiFailureBase == 10000, "errors that are not raised");
#if !defined(__DRIVER_TYPES_H__) || !defined(__MUSA_RUNTIME_H__)
#error the helpers look for these
#endif
extern "C" int synchronized() { return musaThreadSynchronize(); }
#endif

extern "C" int described(int* out) {
  musaDeviceProp properties;
  if (const auto error = musaGetDeviceProperties(&properties, 0)) return error;
  out[1] = static_cast<int>(properties.textureAlignment);
#if MUSART_VERSION >= 13000  // CUDA 13 has taken two fields away; MUSA's toolkit has them, and another number
  out[0] = 1;
  out[2] = 0;
#else
  out[0] = properties.deviceOverlap;
  out[2] = properties.computeMode;
#endif
  if (const auto error = musaDeviceGetAttribute(out + 3, musaDevAttrTextureAlignment, 0)) return error;
  return musaDeviceGetAttribute(out + 4, musaDevAttrComputeMode, 0);
}

// A box of 4 x 3 x 2 bytes within memory of 8 x 5 x 3, filled with 7, is written and read back.
extern "C" int box(uint8_t* in, uint8_t* out, uint8_t* whole) {
  musaPitchedPtr memory;
  if (const auto error = musaMalloc3D(&memory, make_musaExtent(8, 5, 3))) return error;
  musaMemset3D(memory, 7, make_musaExtent(8, 5, 3));
  musaMemcpy3DParms copy = {};
  copy.srcPtr = make_musaPitchedPtr(in, 4, 4, 3);
  copy.dstPtr = memory;
  copy.dstPos = make_musaPos(2, 1, 1);
  copy.extent = make_musaExtent(4, 3, 2);
  copy.kind = musaMemcpyHostToDevice;
  if (const auto error = musaMemcpy3D(&copy)) return error;
  musaMemcpy3DParms again = {};
  again.srcPtr = memory;
  again.srcPos = copy.dstPos;
  again.dstPtr = make_musaPitchedPtr(out, 4, 4, 3);
  again.extent = copy.extent;
  again.kind = musaMemcpyDeviceToHost;
  if (const auto error = musaMemcpy3D(&again)) return error;
  again.srcPos = make_musaPos(0, 0, 0);
  again.dstPtr = make_musaPitchedPtr(whole, 8, 8, 5);
  again.extent = make_musaExtent(8, 5, 3);
  if (const auto error = musaMemcpy3D(&again)) return error;
  const uint8_t* constants = nullptr;
  if (musaMalloc(&constants, 4) != musaSuccess || musaFree(const_cast<uint8_t*>(constants)) != musaSuccess) return 1;
  again.extent = make_musaExtent(9, 5, 3);
  if (musaMemcpy3D(&again) == musaSuccess) return 1;  // wider than the rows of the host's memory
  musaGetLastError();
  musaFree(memory.ptr);
  return finished();
}

// --- arrays and surfaces --------------------------------------------------------------------------------------------------------

template <class Description>
musaTextureObject_t texture_of(musaArray_t array, const Description& description) {
  musaResourceDesc resource = {};
  resource.resType = musaResourceTypeArray;
  resource.res.array.array = array;
  musaTextureObject_t object = 0;
  musaCreateTextureObject(&object, &resource, &description, nullptr);
  return object;
}

__global__ void sample_arrays(musaTextureObject_t line, musaTextureObject_t volume, musaTextureObject_t layers, float* out) {
  out[0] = tex1D<float>(line, 1.0f);  // between the first two
  out[1] = tex1D<float>(line, 9.0f);
  out[2] = tex3D<float>(volume, 1.0f, 1.0f, 1.0f);  // between all eight
  out[3] = tex3D<float>(volume, 1.5f, 0.5f, 1.5f);
  out[4] = tex2DLayered<float>(layers, 1.0f, 0.5f, 1);  // never between layers
  out[5] = tex2DLayered<float>(layers, 1.5f, 1.5f, 9);
}

// `line` has 3 floats; `volume` 2 x 2 x 2 of them, which are 2 layers as well.
extern "C" int sampled_arrays(const float* line, const float* volume, float* out) {
  const auto channels = musaCreateChannelDesc<float>();
  musaTextureDesc description = {};
  description.addressMode[0] = description.addressMode[1] = description.addressMode[2] = musaAddressModeClamp;
  description.filterMode = musaFilterModeLinear;
  musaArray_t one, three, layered;
  if (const auto error = musaMallocArray(&one, &channels, 3)) return error;
  if (const auto error = musaMalloc3DArray(&three, &channels, make_musaExtent(2, 2, 2))) return error;
  if (const auto error = musaMalloc3DArray(&layered, &channels, make_musaExtent(2, 2, 2), musaArrayLayered)) return error;
  musaMemcpy2DToArray(one, 0, 0, line, 12, 12, 1, musaMemcpyHostToDevice);
  musaMemcpy3DParms copy = {};
  copy.srcPtr = make_musaPitchedPtr(const_cast<float*>(volume), 2 * sizeof(float), 2, 2);
  copy.extent = make_musaExtent(2, 2, 2);
  copy.kind = musaMemcpyHostToDevice;
  for (const auto array : {three, layered}) {
    copy.dstArray = array;
    if (const auto error = musaMemcpy3D(&copy)) return error;
  }
  Buffer<float> result(out, 6);
  const musaTextureObject_t objects[] = {
      texture_of(one, description), texture_of(three, description), texture_of(layered, description)};
  sample_arrays<<<1, 1>>>(objects[0], objects[1], objects[2], result.data());
  result.back();
  for (const auto object : objects) musaDestroyTextureObject(object);
  for (const auto array : {one, three, layered}) musaFreeArray(array);
  return finished();
}

__global__ void turn(musaSurfaceObject_t from, musaSurfaceObject_t to, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  uchar4 value;
  surf2Dread(&value, from, x * 4, y);
  surf2Dwrite(make_uchar4(value.w, value.z, value.y, value.x), to, y * 4, x);
  if (x == 0 && y == 0) {  // outside: what is read is zero or the nearest element, and nothing is written
    const auto outside = surf2Dread<uchar4>(from, width * 4, 0, musaBoundaryModeZero);
    const auto clamped = surf2Dread<uchar4>(from, -4, height, musaBoundaryModeClamp);
    surf2Dwrite(make_uchar4(outside.x, clamped.x, clamped.y, 1), to, 0, width, musaBoundaryModeClamp);
    surf2Dwrite(make_uchar4(9, 9, 9, 9), to, -4, 0, musaBoundaryModeZero);
  }
}

// 3 x 2 elements of four bytes become 2 x 4 of them: turned, and in the last row what lies outside.
extern "C" int turned(const uint8_t* in, uint8_t* out) {
  const auto channels = musaCreateChannelDesc<uchar4>();
  musaArray_t arrays[2];
  if (const auto error = musaMallocArray(arrays, &channels, 3, 2, musaArraySurfaceLoadStore)) return error;
  if (const auto error = musaMallocArray(arrays + 1, &channels, 2, 4, musaArraySurfaceLoadStore)) return error;
  if (const auto error = musaMemcpyToArray(arrays[0], 0, 0, in, 24, musaMemcpyHostToDevice)) return error;
  musaSurfaceObject_t surfaces[2];
  for (int i = 0; i < 2; ++i) {
    musaResourceDesc resource = {};
    resource.resType = musaResourceTypeArray;
    resource.res.array.array = arrays[i];
    if (const auto error = musaCreateSurfaceObject(surfaces + i, &resource)) return error;
  }
  turn<<<1, dim3(3, 2)>>>(surfaces[0], surfaces[1], 3, 2);
  if (const auto error = musaMemcpyFromArray(out, arrays[1], 0, 0, 32, musaMemcpyDeviceToHost)) return error;
  for (int i = 0; i < 2; ++i) {
    musaDestroySurfaceObject(surfaces[i]);
    musaFreeArray(arrays[i]);
  }
  return finished();
}

// What an array says of itself, and what is refused: 1 where it is.
extern "C" int refused_of_arrays(int* out) {
  const auto channels = musaCreateChannelDesc<short2>();
  const musaChannelFormatDesc nothing = {};
  musaArray_t array, other;
  if (const auto error = musaMallocArray(&array, &channels, 5, 3)) return error;
  musaChannelFormatDesc described;
  musaExtent extent;
  unsigned int flags = 7;
  if (const auto error = musaArrayGetInfo(&described, &extent, &flags, array)) return error;
  out[0] = described.x;
  out[1] = described.y;
  out[2] = static_cast<int>(extent.width * 100 + extent.height * 10 + extent.depth + flags);
  uint8_t bytes[64] = {};
  out[3] = musaMallocArray(&other, &nothing, 4) != musaSuccess;
  out[4] = musaMallocArray(&other, &channels, 4, 4, musaArrayCubemap) != musaSuccess;
  out[5] = musaMemcpy2DToArray(array, 4, 0, bytes, 20, 20, 1, musaMemcpyHostToDevice) == musaErrorInvalidValue;
  out[6] = musaMemcpyToArray(array, 0, 2, bytes, 21, musaMemcpyHostToDevice) == musaErrorInvalidValue;
  musaResourceDesc resource = {};
  resource.resType = musaResourceTypeArray;
  resource.res.array.array = array;
  musaSurfaceObject_t surface;
  out[7] = musaCreateSurfaceObject(&surface, &resource) == musaErrorInvalidValue;  // not made to be written to
  musaMemcpy3DParms copy = {};
  copy.dstArray = array;
  copy.srcPtr = make_musaPitchedPtr(bytes, 20, 20, 3);
  copy.extent = make_musaExtent(6, 1, 1);
  copy.kind = musaMemcpyHostToDevice;
  out[8] = musaMemcpy3D(&copy) == musaErrorInvalidValue;
  musaGetLastError();
  return musaFreeArray(array);
}

__global__ void write_outside(musaSurfaceObject_t surface) { surf1Dwrite(1, surface, 16); }
extern "C" int trapped() {
  const auto channels = musaCreateChannelDesc<int>();
  musaArray_t array;
  if (const auto error = musaMallocArray(&array, &channels, 4, 0, musaArraySurfaceLoadStore)) return error;
  musaResourceDesc resource = {};
  resource.resType = musaResourceTypeArray;
  resource.res.array.array = array;
  musaSurfaceObject_t surface;
  if (const auto error = musaCreateSurfaceObject(&surface, &resource)) return error;
  write_outside<<<1, 1>>>(surface);
  return musaDeviceSynchronize();
}
