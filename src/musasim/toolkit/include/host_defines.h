// The words that say where a function runs. mcc reads them itself, and for other compilers they are empty.
#pragma once

#ifdef __MUSACC__
// They stand for themselves, so that a program can ask whether they are defined.
#define __global__ __global__
#define __device__ __device__
#define __host__ __host__
#define __constant__ __constant__
#define __shared__ __shared__
#define __managed__ __managed__
#define __grid_constant__ __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __noinline__
// A function of clang's, and so of mcc's, by which code says what holds. GCC gets nothing out of it.
#if !__has_builtin(__builtin_assume)
#define __builtin_assume(condition) static_cast<void>(0)
#endif
#else
#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__
#define __managed__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#endif

#define __align__(bytes) __attribute__((aligned(bytes)))
