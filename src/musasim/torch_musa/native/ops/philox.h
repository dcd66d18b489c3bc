// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") and the numbers that cuRAND makes of its words.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace musasim {

using Words = std::array<uint32_t, 4>;

// The words of a thread: `position` counts its calls from the beginning, four words each.
inline Words philox(uint64_t seed, uint64_t thread, uint64_t position) {
  Words counter = {
      static_cast<uint32_t>(position),
      static_cast<uint32_t>(position >> 32),
      static_cast<uint32_t>(thread),
      static_cast<uint32_t>(thread >> 32)};
  uint32_t key0 = static_cast<uint32_t>(seed);
  uint32_t key1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t second = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key0,
        static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key1,
        static_cast<uint32_t>(first)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

// In (0, 1].
inline float uniform_of(uint32_t word) {
  constexpr float unit = 0x1p-32f;
  return static_cast<float>(word) * unit + unit / 2;
}

inline double uniform_of(uint32_t low, uint32_t high) {
  constexpr double unit = 0x1p-53;
  return static_cast<double>(uint64_t{low} ^ uint64_t{high} << 21) * unit + unit / 2;
}

// The transform of Box and Muller, which makes a pair of two uniform numbers.
inline std::array<float, 2> normal_of(uint32_t x, uint32_t y) {
  constexpr float unit = 0x1p-32f * 6.2831855f;
  const float radius = std::sqrt(-2.0f * std::log(uniform_of(x)));
  const float angle = static_cast<float>(y) * unit + unit / 2;
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

inline std::array<double, 2> normal_of(const Words& words) {
  constexpr double pi = 3.14159265358979323846;
  const double radius = std::sqrt(-2.0 * std::log(uniform_of(words[0], words[1])));
  const double angle = 2 * pi * uniform_of(words[2], words[3]);
  return {std::sin(angle) * radius, std::cos(angle) * radius};
}

inline std::array<float, 4> uniform4(const Words& words) {
  return {uniform_of(words[0]), uniform_of(words[1]), uniform_of(words[2]), uniform_of(words[3])};
}

inline std::array<double, 2> uniform2(const Words& words) {
  return {uniform_of(words[0], words[1]), uniform_of(words[2], words[3])};
}

inline std::array<float, 4> normal4(const Words& words) {
  const auto first = normal_of(words[0], words[1]);
  const auto second = normal_of(words[2], words[3]);
  return {first[0], first[1], second[0], second[1]};
}

inline std::array<uint64_t, 2> wide2(const Words& words) {
  return {uint64_t{words[0]} << 32 | words[1], uint64_t{words[2]} << 32 | words[3]};
}

} // namespace musasim
