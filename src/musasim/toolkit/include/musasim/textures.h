// Creating, binding and reading textures. Included by musa_texture_types.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace musasim {

template <class T, class = void>
struct TextureElement {
  using Component = T;
};
template <class T>
struct TextureElement<T, std::void_t<decltype(T::x)>> {
  using Component = decltype(T::x);
};

inline int bytes_of(const musaChannelFormatDesc& desc) { return static_cast<int>(musasim_element(&desc)); }

inline void read_from(const textureReference& t, const musaArray& array) {
  t.musasim_data = static_cast<const char*>(array.memory.ptr);
  t.musasim_width = array.extent.width;
  t.musasim_height = array.memory.ysize;
  t.musasim_depth = musasim_at_least_one(array.extent.depth);
  t.musasim_pitch = array.memory.pitch;
  t.musasim_slice_pitch = array.memory.pitch * array.memory.ysize;
}

// Integers that are read as floats: 0 to 1, or -1 to 1.
template <class T>
float normalized(T value) {
  return std::max(static_cast<float>(value) / static_cast<float>(std::numeric_limits<T>::max()), -1.0f);
}

// The element at a place that is inside, as `Result`, whose components may be those of T as floats.
template <class Result, class T>
Result element(const T& value) {
  if constexpr (std::is_same_v<Result, T>) {
    return value;
  } else {
    using From = typename TextureElement<T>::Component;
    using To = typename TextureElement<Result>::Component;
    Result result;
    for (std::size_t i = 0; i < sizeof(T) / sizeof(From); ++i)
      reinterpret_cast<To*>(&result)[i] = normalized(reinterpret_cast<const From*>(&value)[i]);
    return result;
  }
}

// A coordinate within 0 .. size - 1, or -1 where the border is.
inline long place_of(long at, long size, musaTextureAddressMode mode) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
    case musaAddressModeWrap: return (at % size + size) % size;
    case musaAddressModeMirror: {
      const long twice = (at % (2 * size) + 2 * size) % (2 * size);
      return twice < size ? twice : 2 * size - 1 - twice;
    }
    case musaAddressModeBorder: return -1;
    default: return std::clamp(at, 0L, size - 1);
  }
}

// Wrapping and mirroring are for normalized coordinates alone, as in CUDA; otherwise they are clamped.
inline musaTextureAddressMode mode_of(const textureReference& t, int axis) {
  const auto mode = t.addressMode[axis];
  const bool needs_normalized = mode == musaAddressModeWrap || mode == musaAddressModeMirror;
  return needs_normalized && !t.normalized ? musaAddressModeClamp : mode;
}

// A texture has 1, 2 or 3 dimensions that a place is given in; what is left of a 3D one are layers, of which a read names one.
template <class Result, class T, int dimensions>
Result texel(const textureReference& t, const long (&at)[dimensions], std::size_t layer) {
  const std::size_t sizes[] = {t.musasim_width, t.musasim_height, t.musasim_depth};
  std::size_t inside[3] = {0, 0, layer};
  for (int axis = 0; axis < dimensions; ++axis) {
    const long place = place_of(at[axis], static_cast<long>(sizes[axis]), mode_of(t, axis));
    if (place < 0) return Result{};
    inside[axis] = static_cast<std::size_t>(place);
  }
  const auto* const row = t.musasim_data + inside[2] * t.musasim_slice_pitch + inside[1] * t.musasim_pitch;
  return element<Result>(reinterpret_cast<const T*>(row)[inside[0]]);
}

// Elements of linear memory are numbered. Beyond the last one there is zero.
template <class Result, class T>
Result fetch(const textureReference& t, int x) {
  if (x < 0 || static_cast<size_t>(x) >= t.musasim_width) return Result{};
  return element<Result>(reinterpret_cast<const T*>(t.musasim_data)[x]);
}

// The weights of a device have 8 bits.
inline float weight_of(float fraction) { return std::round(fraction * 256) / 256; }

template <class Result, class T, int dimensions>
Result sample(const textureReference& t, const float (&given)[dimensions], long layer = 0) {
  const std::size_t sizes[] = {t.musasim_width, t.musasim_height, t.musasim_depth};
  const auto slice = static_cast<std::size_t>(std::clamp(layer, 0L, static_cast<long>(t.musasim_depth) - 1));
  long first[dimensions];
  float weights[dimensions];
  for (int axis = 0; axis < dimensions; ++axis) {
    const float at = t.normalized ? given[axis] * static_cast<float>(sizes[axis]) : given[axis];
    const float begin = std::floor(t.filterMode == musaFilterModePoint ? at : at - 0.5f);
    first[axis] = static_cast<long>(begin);
    weights[axis] = weight_of(at - 0.5f - begin);
  }
  if (t.filterMode == musaFilterModePoint) return texel<Result, T>(t, first, slice);
  using Component = typename TextureElement<Result>::Component;
  Result result{};
  for (int corner = 0; corner < 1 << dimensions; ++corner) {
    long place[dimensions];
    float weight = 1;
    for (int axis = 0; axis < dimensions; ++axis) {
      const int further = corner >> axis & 1;
      place[axis] = first[axis] + further;
      weight *= further ? weights[axis] : 1 - weights[axis];
    }
    const auto value = texel<Result, T>(t, place, slice);
    for (std::size_t i = 0; i < sizeof(Result) / sizeof(Component); ++i)
      reinterpret_cast<Component*>(&result)[i] +=
          static_cast<Component>(weight * static_cast<float>(reinterpret_cast<const Component*>(&value)[i]));
  }
  return result;
}

// What a read gives: T itself, or floats in the place of its integers.
template <class T, musaTextureReadMode mode>
struct TextureResult {
  using type = T;
};
#define MUSASIM_AS_FLOATS(from, to)                          \
  template <>                                                \
  struct TextureResult<from, musaReadModeNormalizedFloat> {  \
    using type = to;                                         \
  };
MUSASIM_AS_FLOATS(char, float)
MUSASIM_AS_FLOATS(signed char, float)
MUSASIM_AS_FLOATS(unsigned char, float)
MUSASIM_AS_FLOATS(short, float)
MUSASIM_AS_FLOATS(unsigned short, float)
MUSASIM_AS_FLOATS(uchar2, float2)
MUSASIM_AS_FLOATS(uchar4, float4)
MUSASIM_AS_FLOATS(char4, float4)
MUSASIM_AS_FLOATS(ushort2, float2)
MUSASIM_AS_FLOATS(ushort4, float4)
#undef MUSASIM_AS_FLOATS
template <class T, musaTextureReadMode mode>
using TextureResultOf = typename TextureResult<T, mode>::type;

// A texture object is the address of one of these.
struct TextureObject : textureReference {
  musaTextureReadMode mode = musaReadModeElementType;
  musaResourceDesc resource = {};
  musaTextureDesc description = {};
};
inline const TextureObject& object_of(musaTextureObject_t object) {
  return *reinterpret_cast<const TextureObject*>(static_cast<std::uintptr_t>(object));
}

// Objects are read as what the call names; integers as floats, if the object says so.
template <class T, class Read>
T as_named(const TextureObject& object, Read read) {
  using Component = typename TextureElement<T>::Component;
  if constexpr (std::is_same_v<Component, float>) {
    const auto& desc = object.channelDesc;
    constexpr int count = sizeof(T) / sizeof(float);
    if (object.mode == musaReadModeNormalizedFloat && desc.f != musaChannelFormatKindFloat) {
      if constexpr (count == 1) {
        if (desc.x == 8) return desc.f == musaChannelFormatKindSigned ? read(T{}, (signed char)0) : read(T{}, (unsigned char)0);
        return desc.f == musaChannelFormatKindSigned ? read(T{}, short{}) : read(T{}, (unsigned short)0);
      } else if constexpr (count == 2) {
        return desc.x == 8 ? read(T{}, uchar2{}) : read(T{}, ushort2{});
      } else {
        return desc.x == 8 ? read(T{}, uchar4{}) : read(T{}, ushort4{});
      }
    }
  }
  return read(T{}, T{});
}

}  // namespace musasim

template <class T>
musaChannelFormatDesc musaCreateChannelDesc() {
  using Component = typename musasim::TextureElement<T>::Component;
  constexpr int bits = 8 * sizeof(Component), count = sizeof(T) / sizeof(Component);
  const auto kind = std::is_floating_point_v<Component> ? musaChannelFormatKindFloat
                    : std::is_signed_v<Component>       ? musaChannelFormatKindSigned
                                                        : musaChannelFormatKindUnsigned;
  return {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind};
}

// --- references -----------------------------------------------------------------------------------------------------------------

static inline musaError_t musaBindTexture(
    size_t* offset, const textureReference* t, const void* pointer, const musaChannelFormatDesc* desc, size_t bytes = UINT_MAX) {
  if (t == nullptr || pointer == nullptr || desc == nullptr || musasim::bytes_of(*desc) == 0) return musaErrorInvalidValue;
  if (offset != nullptr) *offset = 0;
  t->musasim_data = static_cast<const char*>(pointer);
  t->musasim_width = bytes / musasim::bytes_of(*desc);
  t->musasim_height = t->musasim_depth = 1;
  t->musasim_pitch = t->musasim_slice_pitch = 0;
  return musaSuccess;
}
static inline musaError_t musaBindTexture2D(
    size_t* offset, const textureReference* t, const void* pointer, const musaChannelFormatDesc* desc, size_t width,
    size_t height, size_t pitch) {
  if (const auto error = musaBindTexture(offset, t, pointer, desc)) return error;
  t->musasim_width = width;
  t->musasim_height = height;
  t->musasim_pitch = pitch;
  return musaSuccess;
}
static inline musaError_t
musaBindTextureToArray(const textureReference* t, musaArray_const_t array, const musaChannelFormatDesc* desc) {
  if (t == nullptr || array == nullptr || desc == nullptr) return musaErrorInvalidValue;
  if (musasim_element(desc) != musasim_element(&array->channels)) return musaErrorInvalidValue;
  musasim::read_from(*t, *array);
  return musaSuccess;
}
static inline musaError_t musaUnbindTexture(const textureReference* t) {
  if (t == nullptr) return musaErrorInvalidValue;
  t->musasim_width = t->musasim_height = 0;
  return musaSuccess;
}

#ifdef __MUSACC__
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTexture(
    size_t* offset, const texture<T, dimensions, mode>& t, const void* pointer, const musaChannelFormatDesc& desc,
    size_t bytes = UINT_MAX) {
  return musaBindTexture(offset, static_cast<const textureReference*>(&t), pointer, &desc, bytes);
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTexture(
    size_t* offset, const texture<T, dimensions, mode>& t, const void* pointer, size_t bytes = UINT_MAX) {
  return musaBindTexture(offset, t, pointer, musaCreateChannelDesc<T>(), bytes);
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTexture2D(
    size_t* offset, const texture<T, dimensions, mode>& t, const void* pointer, const musaChannelFormatDesc& desc,
    size_t width, size_t height, size_t pitch) {
  return musaBindTexture2D(offset, static_cast<const textureReference*>(&t), pointer, &desc, width, height, pitch);
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTexture2D(
    size_t* offset, const texture<T, dimensions, mode>& t, const void* pointer, size_t width, size_t height, size_t pitch) {
  return musaBindTexture2D(offset, t, pointer, musaCreateChannelDesc<T>(), width, height, pitch);
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTextureToArray(
    const texture<T, dimensions, mode>& t, musaArray_const_t array, const musaChannelFormatDesc& desc) {
  return musaBindTextureToArray(static_cast<const textureReference*>(&t), array, &desc);
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaBindTextureToArray(const texture<T, dimensions, mode>& t, musaArray_const_t array) {
  return musaBindTextureToArray(t, array, musaCreateChannelDesc<T>());
}
template <class T, int dimensions, musaTextureReadMode mode>
musaError_t musaUnbindTexture(const texture<T, dimensions, mode>& t) {
  return musaUnbindTexture(static_cast<const textureReference*>(&t));
}

template <class T, musaTextureReadMode mode>
musasim::TextureResultOf<T, mode> tex1Dfetch(const texture<T, 1, mode>& t, int x) {
  return musasim::fetch<musasim::TextureResultOf<T, mode>, T>(t, x);
}
template <class T, musaTextureReadMode mode>
musasim::TextureResultOf<T, mode> tex1D(const texture<T, 1, mode>& t, float x) {
  return musasim::sample<musasim::TextureResultOf<T, mode>, T>(t, {x});
}
template <class T, musaTextureReadMode mode>
musasim::TextureResultOf<T, mode> tex2D(const texture<T, 2, mode>& t, float x, float y) {
  return musasim::sample<musasim::TextureResultOf<T, mode>, T>(t, {x, y});
}
template <class T, musaTextureReadMode mode>
musasim::TextureResultOf<T, mode> tex3D(const texture<T, 3, mode>& t, float x, float y, float z) {
  return musasim::sample<musasim::TextureResultOf<T, mode>, T>(t, {x, y, z});
}

#endif

// --- objects --------------------------------------------------------------------------------------------------------------------

namespace musasim {

// Where an object reads; false for what cannot be read, of which its description says nothing that fits.
inline bool read_from(TextureObject& object, const musaResourceDesc& resource) {
  const auto& line = resource.res.linear;
  const auto& rows = resource.res.pitch2D;
  if (resource.resType == musaResourceTypeArray) {
    const musaArray* const array = resource.res.array.array;
    if (array == nullptr) return false;
    object.channelDesc = array->channels;
    read_from(object, *array);
    return true;
  }
  const bool linear = resource.resType == musaResourceTypeLinear;
  object.channelDesc = linear ? line.desc : rows.desc;
  const int bytes = bytes_of(object.channelDesc);
  if (bytes == 0 || (linear ? line.devPtr : rows.devPtr) == nullptr) return false;
  object.musasim_data = static_cast<const char*>(linear ? line.devPtr : rows.devPtr);
  object.musasim_width = linear ? line.sizeInBytes / bytes : rows.width;
  object.musasim_height = linear ? 1 : rows.height;
  object.musasim_pitch = linear ? 0 : rows.pitchInBytes;
  return true;
}

}  // namespace musasim

static inline musaError_t musaCreateTextureObject(
    musaTextureObject_t* made, const musaResourceDesc* resource, const musaTextureDesc* description,
    const musaResourceViewDesc* view = nullptr) {
  if (made == nullptr || resource == nullptr || description == nullptr) return musaErrorInvalidValue;
  if (view != nullptr || resource->resType == musaResourceTypeMipmappedArray) return musaErrorNotSupported;
  musasim::TextureObject object;
  if (!musasim::read_from(object, *resource)) return musaErrorInvalidValue;
  if (object.channelDesc.f == musaChannelFormatKindFloat && object.channelDesc.x == 16) return musaErrorNotSupported;
  object.normalized = description->normalizedCoords;
  object.filterMode = description->filterMode;
  std::copy_n(description->addressMode, 3, object.addressMode);
  object.mode = description->readMode;
  object.resource = *resource;
  object.description = *description;
  *made = static_cast<musaTextureObject_t>(reinterpret_cast<std::uintptr_t>(new musasim::TextureObject(object)));
  return musaSuccess;
}
static inline musaError_t musaDestroyTextureObject(musaTextureObject_t object) {
  delete reinterpret_cast<musasim::TextureObject*>(static_cast<std::uintptr_t>(object));
  return musaSuccess;
}
static inline musaError_t musaGetTextureObjectResourceDesc(musaResourceDesc* resource, musaTextureObject_t object) {
  if (resource == nullptr || object == 0) return musaErrorInvalidValue;
  *resource = musasim::object_of(object).resource;
  return musaSuccess;
}
static inline musaError_t musaGetTextureObjectTextureDesc(musaTextureDesc* description, musaTextureObject_t object) {
  if (description == nullptr || object == 0) return musaErrorInvalidValue;
  *description = musasim::object_of(object).description;
  return musaSuccess;
}

template <class T>
T tex1Dfetch(musaTextureObject_t object, int x) {
  const auto& t = musasim::object_of(object);
  return musasim::as_named<T>(t, [&](auto as, auto from) { return musasim::fetch<decltype(as), decltype(from)>(t, x); });
}
namespace musasim {
template <class T, int dimensions>
T sample_object(musaTextureObject_t object, const float (&at)[dimensions], long layer = 0) {
  const auto& t = object_of(object);
  return as_named<T>(t, [&](auto as, auto from) { return sample<decltype(as), decltype(from)>(t, at, layer); });
}
}  // namespace musasim

template <class T>
T tex1D(musaTextureObject_t object, float x) {
  return musasim::sample_object<T>(object, {x});
}
template <class T>
T tex2D(musaTextureObject_t object, float x, float y) {
  return musasim::sample_object<T>(object, {x, y});
}
template <class T>
T tex3D(musaTextureObject_t object, float x, float y, float z) {
  return musasim::sample_object<T>(object, {x, y, z});
}
template <class T>
T tex1DLayered(musaTextureObject_t object, float x, int layer) {
  return musasim::sample_object<T>(object, {x}, layer);
}
template <class T>
T tex2DLayered(musaTextureObject_t object, float x, float y, int layer) {
  return musasim::sample_object<T>(object, {x, y}, layer);
}
template <class T>
void tex1Dfetch(T* value, musaTextureObject_t object, int x) {
  *value = tex1Dfetch<T>(object, x);
}
template <class T>
void tex1D(T* value, musaTextureObject_t object, float x) {
  *value = tex1D<T>(object, x);
}
template <class T>
void tex2D(T* value, musaTextureObject_t object, float x, float y) {
  *value = tex2D<T>(object, x, y);
}
template <class T>
void tex3D(T* value, musaTextureObject_t object, float x, float y, float z) {
  *value = tex3D<T>(object, x, y, z);
}
