// libmurand.so: random numbers on request of the host. Element i is the first number of Philox's i-th subsequence, so that it does not
// depend on how many were asked for at once; a second call goes on where the first one ended.
#include "murand.h"

#include <cmath>
#include <random>

#include "cpu.h"
#include "vector_types.h"

using namespace musasim;

struct murandGenerator_st {
  unsigned long long seed = 0, offset = 0;
  musaStream_t stream = nullptr;
};

namespace {

// Philox4x32-10, bit for bit as published: four words for a counter and a key.
uint4 philox(unsigned long long counter, unsigned long long key) {
  uint4 x{static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32), 0, 0};
  unsigned k0 = static_cast<unsigned>(key), k1 = static_cast<unsigned>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const unsigned long long a = 0xD2511F53ull * x.x, b = 0xCD9E8D57ull * x.z;
    x = {static_cast<unsigned>(b >> 32) ^ x.y ^ k0, static_cast<unsigned>(b), static_cast<unsigned>(a >> 32) ^ x.w ^ k1,
         static_cast<unsigned>(a)};
  }
  return x;
}

// In (0, 1], like the device's functions.
double uniform(unsigned high, unsigned low) {
  const unsigned long long bits = (static_cast<unsigned long long>(high) << 21) ^ (low >> 11);
  return (static_cast<double>(bits) + 1) * 0x1p-53;
}
float uniform(unsigned bits) {
  return static_cast<float>((static_cast<double>(bits) + 0.5) * 0x1p-32);
}
double normal(uint4 x) {
  return std::sqrt(-2 * std::log(uniform(x.x, x.y))) * std::sin(2 * M_PI * uniform(x.z, x.w));
}

template <class T, class Function>
murandStatus_t fill(murandGenerator_t generator, T* out, size_t n, Function function) {
  if (generator == nullptr) return MURAND_STATUS_NOT_INITIALIZED;
  if (out == nullptr && n != 0) return MURAND_STATUS_OUT_OF_RANGE;
  const auto seed = generator->seed, first = generator->offset;
  generator->offset += n;
  const auto error = in_stream(generator->stream, [=] {
    for (size_t i = 0; i < n; ++i) out[i] = function(philox(first + i, seed));
  });
  return error == musaSuccess ? MURAND_STATUS_SUCCESS : MURAND_STATUS_LAUNCH_FAILURE;
}

}  // namespace

murandStatus_t murandCreateGenerator(murandGenerator_t* generator, murandRngType_t type) {
  if (generator == nullptr) return MURAND_STATUS_NOT_INITIALIZED;
  if (type >= MURAND_RNG_QUASI_DEFAULT || type < MURAND_RNG_PSEUDO_DEFAULT) return MURAND_STATUS_TYPE_ERROR;  // Sobol is absent
  *generator = new murandGenerator_st;
  return MURAND_STATUS_SUCCESS;
}
murandStatus_t murandCreateGeneratorHost(murandGenerator_t* generator, murandRngType_t type) {
  return murandCreateGenerator(generator, type);
}
murandStatus_t murandDestroyGenerator(murandGenerator_t generator) {
  delete generator;
  return generator ? MURAND_STATUS_SUCCESS : MURAND_STATUS_NOT_INITIALIZED;
}
murandStatus_t murandGetVersion(int* version) {
  *version = MUSART_VERSION;
  return MURAND_STATUS_SUCCESS;
}

#define MURAND_PROPERTY(name, type, statement)                                \
  murandStatus_t name(murandGenerator_t generator, type value) {              \
    if (generator == nullptr) return MURAND_STATUS_NOT_INITIALIZED;           \
    statement;                                                                \
    return MURAND_STATUS_SUCCESS;                                             \
  }
MURAND_PROPERTY(murandSetStream, musaStream_t, generator->stream = value)
MURAND_PROPERTY(murandSetPseudoRandomGeneratorSeed, unsigned long long, (generator->seed = value, generator->offset = 0))
MURAND_PROPERTY(murandSetGeneratorOffset, unsigned long long, generator->offset = value)

murandStatus_t murandSetGeneratorOrdering(murandGenerator_t generator, murandOrdering_t order) {
  if (generator == nullptr) return MURAND_STATUS_NOT_INITIALIZED;
  const bool pseudo = order >= MURAND_ORDERING_PSEUDO_BEST && order <= MURAND_ORDERING_PSEUDO_LEGACY;
  return pseudo ? MURAND_STATUS_SUCCESS : MURAND_STATUS_OUT_OF_RANGE;
}

murandStatus_t murandGenerate(murandGenerator_t generator, unsigned int* out, size_t n) {
  return fill(generator, out, n, [](uint4 x) { return x.x; });
}
murandStatus_t murandGenerateUniform(murandGenerator_t generator, float* out, size_t n) {
  return fill(generator, out, n, [](uint4 x) { return uniform(x.x); });
}
murandStatus_t murandGenerateUniformDouble(murandGenerator_t generator, double* out, size_t n) {
  return fill(generator, out, n, [](uint4 x) { return uniform(x.x, x.y); });
}
murandStatus_t murandGenerateNormal(murandGenerator_t generator, float* out, size_t n, float mean, float deviation) {
  return fill(generator, out, n, [=](uint4 x) { return static_cast<float>(mean + deviation * normal(x)); });
}
murandStatus_t murandGenerateNormalDouble(murandGenerator_t generator, double* out, size_t n, double mean, double deviation) {
  return fill(generator, out, n, [=](uint4 x) { return mean + deviation * normal(x); });
}
murandStatus_t murandGenerateLogNormal(murandGenerator_t generator, float* out, size_t n, float mean, float deviation) {
  return fill(generator, out, n, [=](uint4 x) { return static_cast<float>(std::exp(mean + deviation * normal(x))); });
}
murandStatus_t murandGenerateLogNormalDouble(murandGenerator_t generator, double* out, size_t n, double mean, double deviation) {
  return fill(generator, out, n, [=](uint4 x) { return std::exp(mean + deviation * normal(x)); });
}
murandStatus_t murandGeneratePoisson(murandGenerator_t generator, unsigned int* out, size_t n, double lambda) {
  if (!(lambda > 0)) return MURAND_STATUS_OUT_OF_RANGE;
  return fill(generator, out, n, [=](uint4 x) {
    std::minstd_rand engine(x.x % 2147483646u + 1);
    return static_cast<unsigned>(std::poisson_distribution<long long>(lambda)(engine));
  });
}
