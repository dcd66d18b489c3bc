// The host API of muRAND: pseudo-random numbers. Its sequences are Philox's or XORWOW's as kernels get them, thread by thread.
#pragma once

#include "musa_runtime_api.h"

#define MURANDAPI __attribute__((visibility("default")))

enum murandStatus {
  MURAND_STATUS_SUCCESS = 0,
  MURAND_STATUS_VERSION_MISMATCH = 100,
  MURAND_STATUS_NOT_INITIALIZED = 101,
  MURAND_STATUS_ALLOCATION_FAILED = 102,
  MURAND_STATUS_TYPE_ERROR = 103,
  MURAND_STATUS_OUT_OF_RANGE = 104,
  MURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  MURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  MURAND_STATUS_LAUNCH_FAILURE = 201,
  MURAND_STATUS_PREEXISTING_FAILURE = 202,
  MURAND_STATUS_INITIALIZATION_FAILED = 203,
  MURAND_STATUS_ARCH_MISMATCH = 204,
  MURAND_STATUS_INTERNAL_ERROR = 999
};
typedef murandStatus murandStatus_t;
enum murandRngType {
  MURAND_RNG_TEST = 0,
  MURAND_RNG_PSEUDO_DEFAULT = 100,
  MURAND_RNG_PSEUDO_XORWOW = 101,
  MURAND_RNG_PSEUDO_MRG32K3A = 121,
  MURAND_RNG_PSEUDO_MTGP32 = 141,
  MURAND_RNG_PSEUDO_MT19937 = 142,
  MURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  MURAND_RNG_QUASI_DEFAULT = 200,
  MURAND_RNG_QUASI_SOBOL32 = 201
};
typedef murandRngType murandRngType_t;

// In which order the numbers of a device's threads are written. Here there is one order for each generator.
enum murandOrdering {
  MURAND_ORDERING_PSEUDO_BEST = 100,
  MURAND_ORDERING_PSEUDO_DEFAULT = 101,
  MURAND_ORDERING_PSEUDO_SEEDED = 102,
  MURAND_ORDERING_PSEUDO_LEGACY = 103,
  MURAND_ORDERING_QUASI_DEFAULT = 201
};
typedef murandOrdering murandOrdering_t;

struct murandGenerator_st;
typedef struct murandGenerator_st* murandGenerator_t;

extern "C" {

MURANDAPI murandStatus_t murandCreateGenerator(murandGenerator_t* generator, murandRngType_t type);
MURANDAPI murandStatus_t murandCreateGeneratorHost(murandGenerator_t* generator, murandRngType_t type);
MURANDAPI murandStatus_t murandDestroyGenerator(murandGenerator_t generator);
MURANDAPI murandStatus_t murandGetVersion(int* version);
MURANDAPI murandStatus_t murandSetStream(murandGenerator_t generator, musaStream_t stream);
MURANDAPI murandStatus_t murandSetPseudoRandomGeneratorSeed(murandGenerator_t generator, unsigned long long seed);
MURANDAPI murandStatus_t murandSetGeneratorOffset(murandGenerator_t generator, unsigned long long offset);
MURANDAPI murandStatus_t murandSetGeneratorOrdering(murandGenerator_t generator, murandOrdering_t order);
MURANDAPI murandStatus_t murandGenerate(murandGenerator_t generator, unsigned int* out, size_t n);
MURANDAPI murandStatus_t murandGenerateUniform(murandGenerator_t generator, float* out, size_t n);
MURANDAPI murandStatus_t murandGenerateUniformDouble(murandGenerator_t generator, double* out, size_t n);
MURANDAPI murandStatus_t murandGenerateNormal(murandGenerator_t generator, float* out, size_t n, float mean, float deviation);
MURANDAPI murandStatus_t murandGenerateNormalDouble(murandGenerator_t generator, double* out, size_t n, double mean,
                                                    double deviation);
MURANDAPI murandStatus_t murandGenerateLogNormal(murandGenerator_t generator, float* out, size_t n, float mean,
                                                 float deviation);
MURANDAPI murandStatus_t murandGenerateLogNormalDouble(murandGenerator_t generator, double* out, size_t n, double mean,
                                                       double deviation);
MURANDAPI murandStatus_t murandGeneratePoisson(murandGenerator_t generator, unsigned int* out, size_t n, double lambda);
}
