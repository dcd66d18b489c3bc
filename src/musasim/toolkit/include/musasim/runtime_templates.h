// The runtime's functions for C++, which take kernels by their own type and symbols by reference.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "musa_runtime_api.h"

template <class Kernel>
musaError_t musaLaunchKernel(
    Kernel* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0, musaStream_t stream = nullptr) {
  return musaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}

template <class Kernel>
musaError_t musaLaunchCooperativeKernel(
    Kernel* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared = 0, musaStream_t stream = nullptr) {
  return musaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel), grid, block, arguments, shared, stream);
}

// Arguments are converted to the kernel's parameters, as in a launch with <<<>>>.
template <class... Parameters, class... Arguments>
musaError_t musaLaunchKernelEx(const musaLaunchConfig_t* config, void (*kernel)(Parameters...), Arguments&&... arguments) {
  return [&](Parameters... values) {
    void* addresses[sizeof...(Parameters) + 1] = {const_cast<void*>(static_cast<const volatile void*>(&values))...};
    return musaLaunchKernelExC(config, reinterpret_cast<const void*>(kernel), addresses);
  }(std::forward<Arguments>(arguments)...);
}

template <class Kernel>
musaError_t musaFuncSetAttribute(Kernel* kernel, musaFuncAttribute attribute, int value) {
  return musaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class Kernel>
musaError_t musaFuncSetCacheConfig(Kernel* kernel, musaFuncCache config) {
  return musaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel), config);
}

template <class Kernel>
musaError_t musaFuncGetAttributes(musaFuncAttributes* attributes, Kernel* kernel) {
  return musaFuncGetAttributes(attributes, reinterpret_cast<const void*>(kernel));
}

template <class Kernel>
musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads, std::size_t shared) {
  return musaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel), threads, shared);
}

template <class Kernel>
musaError_t musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, Kernel kernel, int threads, std::size_t shared, unsigned int flags) {
  return musaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, reinterpret_cast<const void*>(kernel), threads, shared, flags);
}

// `shared_of(threads)` says how much dynamic shared memory a block of so many threads needs.
template <class SharedOf, class Kernel>
musaError_t musaOccupancyMaxPotentialBlockSizeVariableSMem(
    int* grid, int* block, Kernel kernel, SharedOf shared_of, int limit = 0) {
  const auto ask = [](int threads, const void* context) -> std::size_t {
    return (*static_cast<const SharedOf*>(context))(threads);
  };
  return musasim_occupancy_block_size(grid, block, reinterpret_cast<const void*>(kernel), ask, &shared_of, limit);
}

template <class Kernel>
musaError_t
musaOccupancyMaxPotentialBlockSize(int* grid, int* block, Kernel kernel, std::size_t shared = 0, int limit = 0) {
  return musaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, kernel, [shared](int) { return shared; }, limit);
}

// Pointers to constants are allocated as well.
template <class T>
void** musasim_untyped(T** pointer) {
  return reinterpret_cast<void**>(const_cast<std::remove_cv_t<T>**>(pointer));
}

template <class T>
musaError_t musaMalloc(T** pointer, std::size_t bytes) {
  return musaMalloc(musasim_untyped(pointer), bytes);
}

template <class T>
musaError_t musaMallocManaged(T** pointer, std::size_t bytes, unsigned int flags = musaMemAttachGlobal) {
  return musaMallocManaged(musasim_untyped(pointer), bytes, flags);
}

template <class T>
musaError_t musaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return musaMallocPitch(musasim_untyped(pointer), pitch, width, height);
}

template <class T>
musaError_t musaMallocAsync(T** pointer, std::size_t bytes, musaStream_t stream) {
  return musaMallocAsync(musasim_untyped(pointer), bytes, stream);
}

template <class T>
musaError_t musaMallocFromPoolAsync(T** pointer, std::size_t bytes, musaMemPool_t pool, musaStream_t stream) {
  return musaMallocFromPoolAsync(musasim_untyped(pointer), bytes, pool, stream);
}

// With a pool, in C++ alone.
template <class T>
musaError_t musaMallocAsync(T** pointer, std::size_t bytes, musaMemPool_t pool, musaStream_t stream) {
  return musaMallocFromPoolAsync(musasim_untyped(pointer), bytes, pool, stream);
}

template <class T>
musaError_t musaMallocHost(T** pointer, std::size_t bytes, unsigned int = 0) {
  return musaMallocHost(musasim_untyped(pointer), bytes);
}

template <class T>
musaError_t musaHostAlloc(T** pointer, std::size_t bytes, unsigned int flags) {
  return musaHostAlloc(musasim_untyped(pointer), bytes, flags);
}

template <class T>
musaError_t musaHostGetDevicePointer(T** device, void* host, unsigned int flags) {
  return musaHostGetDevicePointer(musasim_untyped(device), host, flags);
}

template <class T>
musaError_t musaGetSymbolAddress(void** address, const T& symbol) {
  return musaGetSymbolAddress(address, static_cast<const void*>(&symbol));
}

template <class T>
musaError_t musaGetSymbolSize(std::size_t* bytes, const T& symbol) {
  return musaGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}

template <class T>
musaError_t musaMemcpyToSymbol(
    const T& symbol, const void* from, std::size_t count, std::size_t offset = 0,
    musaMemcpyKind kind = musaMemcpyHostToDevice) {
  return musaMemcpyToSymbol(static_cast<const void*>(&symbol), from, count, offset, kind);
}

template <class T>
musaError_t musaMemcpyFromSymbol(
    void* to, const T& symbol, std::size_t count, std::size_t offset = 0, musaMemcpyKind kind = musaMemcpyDeviceToHost) {
  return musaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), count, offset, kind);
}

template <class T>
musaError_t musaMemcpyToSymbolAsync(
    const T& symbol, const void* from, std::size_t count, std::size_t offset = 0,
    musaMemcpyKind kind = musaMemcpyHostToDevice, musaStream_t stream = nullptr) {
  return musaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from, count, offset, kind, stream);
}

template <class T>
musaError_t musaMemcpyFromSymbolAsync(
    void* to, const T& symbol, std::size_t count, std::size_t offset = 0, musaMemcpyKind kind = musaMemcpyDeviceToHost,
    musaStream_t stream = nullptr) {
  return musaMemcpyFromSymbolAsync(to, static_cast<const void*>(&symbol), count, offset, kind, stream);
}

// Overloads with defaults, for C++.
static inline musaError_t musaEventCreate(musaEvent_t* event, unsigned int flags) {
  return musaEventCreateWithFlags(event, flags);
}

static inline musaError_t musaMemPrefetchAsync(const void* pointer, std::size_t count, int device) {
  return musaMemPrefetchAsync(pointer, count, device, nullptr);
}

static inline musaError_t musaGraphInstantiate(musaGraphExec_t* executable, musaGraph_t graph) {
  return musaGraphInstantiate(executable, graph, 0ULL);
}

// The signature before CUDA 12.
static inline musaError_t
musaGraphInstantiate(musaGraphExec_t* executable, musaGraph_t graph, musaGraphNode_t*, char*, std::size_t) {
  return musaGraphInstantiate(executable, graph, 0ULL);
}
