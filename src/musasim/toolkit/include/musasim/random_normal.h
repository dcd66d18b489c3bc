// Normal, log-normal and Poisson numbers. The Box-Muller transform makes normal numbers in pairs. Poisson numbers are not bit for
// bit those of the real library.
#pragma once

namespace musasim {

inline float2 normal_pair(unsigned int x, unsigned int y) {
  const float radius = sqrtf(-2.0f * logf(uniform_of(x)));
  const float angle = static_cast<float>(y) * 1.4629180792671596e-9f + 0.7314590396335798e-9f;  // 2 pi / 2^32, and half of it
  return {sinf(angle) * radius, cosf(angle) * radius};
}
inline double2 normal_pair(double first, double second) {
  const double radius = std::sqrt(-2 * std::log(first));
  return {sinpi(2 * second) * radius, cospi(2 * second) * radius};
}

}  // namespace musasim

template <class State>
inline auto murand_normal2(State* state) -> decltype(murand(state), float2()) {
  const unsigned int x = murand(state);
  return musasim::normal_pair(x, murand(state));
}
inline float4 murand_normal4(murandStatePhilox4_32_10_t* state) {
  const float2 first = murand_normal2(state), second = murand_normal2(state);
  return {first.x, first.y, second.x, second.y};
}
template <class State>
inline auto murand_normal2_double(State* state) -> decltype(murand(state), double2()) {
  const double first = murand_uniform_double(state);
  return musasim::normal_pair(first, murand_uniform_double(state));
}
// The second of a pair is kept for the next call.
template <class State>
inline auto murand_normal(State* state) -> decltype(murand(state), float()) {
  if (state->boxmuller_flag != 0) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  const float2 pair = murand_normal2(state);
  state->boxmuller_flag = 1;
  state->boxmuller_extra = pair.y;
  return pair.x;
}
template <class State>
inline auto murand_normal_double(State* state) -> decltype(murand(state), double()) {
  return murand_normal2_double(state).x;
}
template <class State>
inline auto murand_log_normal(State* state, float mean, float deviation) -> decltype(murand(state), float()) {
  return expf(mean + deviation * murand_normal(state));
}
template <class State>
inline auto murand_log_normal_double(State* state, double mean, double deviation) -> decltype(murand(state), double()) {
  return std::exp(mean + deviation * murand_normal_double(state));
}

// By inversion where the mean is small, else by Hormann's transformed rejection (PTRS).
template <class State>
inline auto murand_poisson(State* state, double mean) -> decltype(murand(state)) {
  if (mean < 10) {
    double left = murand_uniform_double(state), probability = std::exp(-mean);
    unsigned int result = 0;
    for (; left > probability && probability > 0; ++result) {
      left -= probability;
      probability *= mean / (result + 1);
    }
    return result;
  }
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = murand_uniform_double(state) - 0.5, v = murand_uniform_double(state);
    const double distance = 0.5 - std::fabs(u), k = std::floor((2 * a / distance + b) * u + mean + 0.43);
    if (distance >= 0.07 && v <= v_r) return static_cast<unsigned int>(k);
    if (k < 0 || (distance < 0.013 && v > distance)) continue;
    const double accepted = std::log(v) + std::log(inverse_alpha) - std::log(a / (distance * distance) + b);
    if (accepted <= k * std::log(mean) - mean - std::lgamma(k + 1)) return static_cast<unsigned int>(k);
  }
}
