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
  out[0] = properties.deviceOverlap;
  out[1] = static_cast<int>(properties.textureAlignment);
  out[2] = properties.computeMode;
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
