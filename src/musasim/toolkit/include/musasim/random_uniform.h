// Uniform numbers in (0, 1], of any of murand_kernel.h's generators.
#pragma once

namespace musasim {
inline float uniform_of(unsigned int bits) { return static_cast<float>(bits) * 2.3283064365386963e-10f + 1.1641532182693481e-10f; }
inline double uniform_of(unsigned int low, unsigned int high) {
  const uint64_t bits = static_cast<uint64_t>(low) ^ static_cast<uint64_t>(high) << 21;
  return static_cast<double>(bits) * 0x1p-53 + 0x1p-54;
}
}  // namespace musasim

template <class State>
inline auto murand_uniform(State* state) -> decltype(murand(state), float()) {
  return musasim::uniform_of(murand(state));
}
template <class State>
inline auto murand_uniform_double(State* state) -> decltype(murand(state), double()) {
  const unsigned int low = murand(state);
  return musasim::uniform_of(low, murand(state));
}
inline float4 murand_uniform4(murandStatePhilox4_32_10_t* state) {
  const uint4 bits = murand4(state);
  return {musasim::uniform_of(bits.x), musasim::uniform_of(bits.y), musasim::uniform_of(bits.z), musasim::uniform_of(bits.w)};
}
inline double2 murand_uniform2_double(murandStatePhilox4_32_10_t* state) {
  const uint4 bits = murand4(state);
  return {musasim::uniform_of(bits.x, bits.y), musasim::uniform_of(bits.z, bits.w)};
}
