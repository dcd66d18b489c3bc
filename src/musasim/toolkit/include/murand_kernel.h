// muRAND's generators for kernels: Philox4x32-10 and XORWOW, bit for bit as published, and the distributions.
//
// Absent: MRG32k3a, MTGP32, the Sobol generators and the discrete distributions.
#pragma once

#include <cstdint>
#include <vector>

#include "musasim/device_functions.h"

// --- Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3") -----------------------------------------------

struct murandStatePhilox4_32_10 {
  uint4 ctr;
  uint4 output;  // of ctr; STATE of its words have been used
  uint2 key;
  unsigned int STATE;
  int boxmuller_flag;
  float boxmuller_extra;
};
typedef murandStatePhilox4_32_10 murandStatePhilox4_32_10_t;
typedef murandStatePhilox4_32_10 murand_state_philox4x32_10;  // what the vendor's tools call it in ported code

inline uint4 murand_Philox4x32_10(uint4 counter, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53u} * counter.x, second = uint64_t{0xCD9E8D57u} * counter.z;
    counter = {static_cast<uint32_t>(second >> 32) ^ counter.y ^ key.x, static_cast<uint32_t>(second),
               static_cast<uint32_t>(first >> 32) ^ counter.w ^ key.y, static_cast<uint32_t>(first)};
    key.x += 0x9E3779B9u;
    key.y += 0xBB67AE85u;
  }
  return counter;
}

namespace musasim {
inline void add_to_pair(unsigned int& low, unsigned int& high, uint64_t n, bool& carry) {
  const uint64_t before = static_cast<uint64_t>(high) << 32 | low, after = before + n;
  carry = after < before;
  low = static_cast<unsigned int>(after);
  high = static_cast<unsigned int>(after >> 32);
}
}  // namespace musasim

// The counter is one number of 128 bits: its upper half is the subsequence.
inline void Philox_State_Incr(murandStatePhilox4_32_10_t* state, unsigned long long n = 1) {
  bool carry;
  musasim::add_to_pair(state->ctr.x, state->ctr.y, n, carry);
  if (carry) musasim::add_to_pair(state->ctr.z, state->ctr.w, 1, carry);
}
inline void skipahead(unsigned long long n, murandStatePhilox4_32_10_t* state) {
  const unsigned int place = state->STATE + static_cast<unsigned int>(n & 3);
  state->STATE = place & 3;
  Philox_State_Incr(state, n / 4 + place / 4);
  state->output = murand_Philox4x32_10(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long n, murandStatePhilox4_32_10_t* state) {
  bool carry;
  musasim::add_to_pair(state->ctr.z, state->ctr.w, n, carry);
  state->output = murand_Philox4x32_10(state->ctr, state->key);
}
inline void murand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        murandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {static_cast<unsigned int>(seed), static_cast<unsigned int>(seed >> 32)};
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline unsigned int murand(murandStatePhilox4_32_10_t* state) {
  const unsigned int words[4] = {state->output.x, state->output.y, state->output.z, state->output.w};
  const unsigned int result = words[state->STATE];
  skipahead(1, state);
  return result;
}
inline uint4 murand4(murandStatePhilox4_32_10_t* state) {
  const unsigned int x = murand(state), y = murand(state), z = murand(state);
  return {x, y, z, murand(state)};
}

// --- XORWOW (Marsaglia, "Xorshift RNGs") -------------------------------------------------------------------------------------------

struct murandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef murandStateXORWOW murandStateXORWOW_t;
typedef murandStateXORWOW murandState;
typedef murandStateXORWOW murandState_t;

inline unsigned int murand(murandStateXORWOW_t* state) {
  unsigned int* const v = state->v;
  const unsigned int t = v[0] ^ v[0] >> 2;
  v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
  v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
  state->d += 362437;
  return v[4] + state->d;
}

namespace musasim {

// A step of XORWOW's five words is linear over bits. power(k) is 2^k steps.
class XorwowSteps {
 public:
  static constexpr int bits = 160;
  struct Matrix {
    unsigned int rows[bits][5];  // what each bit of the state becomes

    void apply(unsigned int (&v)[5]) const {
      unsigned int result[5] = {};
      for (int bit = 0; bit < bits; ++bit) {
        if (v[bit / 32] >> bit % 32 & 1) {
          for (int word = 0; word < 5; ++word) result[word] ^= rows[bit][word];
        }
      }
      for (int word = 0; word < 5; ++word) v[word] = result[word];
    }
  };

  static const Matrix& power(std::size_t k) {
    static std::vector<Matrix> powers;
    if (powers.empty()) {
      powers.reserve(131);
      powers.push_back(one_step());
    }
    while (powers.size() <= k) powers.push_back(squared(powers.back()));
    return powers[k];
  }
  static void advance(unsigned int (&v)[5], unsigned long long n, std::size_t exponent) {
    for (; n != 0; n >>= 1, ++exponent) {
      if (n & 1) power(exponent).apply(v);
    }
  }

 private:
  static Matrix one_step() {
    Matrix result;
    for (int bit = 0; bit < bits; ++bit) {
      murandStateXORWOW_t state = {};
      state.v[bit / 32] = 1u << bit % 32;
      murand(&state);
      for (int word = 0; word < 5; ++word) result.rows[bit][word] = state.v[word];
    }
    return result;
  }
  static Matrix squared(const Matrix& matrix) {
    Matrix result = matrix;
    for (auto& row : result.rows) matrix.apply(row);
    return result;
  }
};

}  // namespace musasim

inline void skipahead(unsigned long long n, murandStateXORWOW_t* state) {
  musasim::XorwowSteps::advance(state->v, n, 0);
  state->d += 362437 * static_cast<unsigned int>(n);
}
// A subsequence has 2^67 numbers, after which d has its old value again.
inline void skipahead_sequence(unsigned long long n, murandStateXORWOW_t* state) { musasim::XorwowSteps::advance(state->v, n, 67); }
inline void murand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset, murandStateXORWOW_t* state) {
  const unsigned int t0 = 1099087573u * (static_cast<unsigned int>(seed) ^ 0xaad26b49u);
  const unsigned int t1 = 2591861531u * (static_cast<unsigned int>(seed >> 32) ^ 0xf7dcefddu);
  *state = {};
  state->d = 6615241 + t1 + t0;
  const unsigned int v[5] = {123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0};
  for (int i = 0; i < 5; ++i) state->v[i] = v[i];
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}

// These need what stands above.
#include "musasim/random_uniform.h"

#include "musasim/random_normal.h"
