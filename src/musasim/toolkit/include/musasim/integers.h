// The integer functions of device code: bits, bytes, high products, funnel shifts, dot products of bytes.
#pragma once

#include <cstdint>

#include "vector_types.h"

static inline int __popc(unsigned int value) { return __builtin_popcount(value); }
static inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
static inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned int>(value)); }
static inline int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value)); }
static inline int __ffs(int value) { return __builtin_ffs(value); }
static inline int __ffsll(long long value) { return __builtin_ffsll(value); }

static inline unsigned long long __brevll(unsigned long long value) {
  value = (value >> 1 & 0x5555555555555555ull) | (value & 0x5555555555555555ull) << 1;
  value = (value >> 2 & 0x3333333333333333ull) | (value & 0x3333333333333333ull) << 2;
  value = (value >> 4 & 0x0f0f0f0f0f0f0f0full) | (value & 0x0f0f0f0f0f0f0f0full) << 4;
  return __builtin_bswap64(value);
}
static inline unsigned int __brev(unsigned int value) { return static_cast<unsigned int>(__brevll(value) >> 32); }

// The place of the `offset`-th set bit of `mask`, counted from bit `base` (upwards, or downwards where offset is negative), or
// 0xffffffff.
static inline unsigned int __fns(unsigned int mask, unsigned int base, int offset) {
  if (offset == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
  const int step = offset > 0 ? 1 : -1;
  for (int bit = static_cast<int>(base), left = offset * step; bit >= 0 && bit < 32; bit += step) {
    if ((mask >> bit & 1) && --left == 0) return static_cast<unsigned int>(bit);
  }
  return 0xffffffffu;
}

// Four bytes out of the eight of x (0 .. 3) and y (4 .. 7), selected by the lower three bits of the selector's nibbles. The fourth bit
// repeats the sign in PTX's prmt only: an H100 does not look at it here.
static inline unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned int result = 0;
  for (int i = 0; i < 4; ++i) {
    result |= (static_cast<unsigned int>(bytes >> 8 * (selector >> 4 * i & 7)) & 0xff) << 8 * i;
  }
  return result;
}

static inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
static inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<uint64_t>(a) * b >> 32);
}
static inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline int mulhi(int a, int b) { return __mulhi(a, b); }
static inline unsigned int mulhi(unsigned int a, unsigned int b) { return __umulhi(a, b); }
static inline long long mul64hi(long long a, long long b) { return __mul64hi(a, b); }
static inline unsigned long long mul64hi(unsigned long long a, unsigned long long b) { return __umul64hi(a, b); }
static inline unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffff) * (b & 0xffffff); }
static inline int __mul24(int a, int b) {
  const auto low = [](int value) { return static_cast<int>(static_cast<unsigned int>(value) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned int>(low(a)) * static_cast<unsigned int>(low(b)));
}

static inline unsigned int __usad(unsigned int a, unsigned int b, unsigned int sum) { return sum + (a > b ? a - b : b - a); }
static inline unsigned int __sad(int a, int b, unsigned int sum) {
  const int64_t difference = static_cast<int64_t>(a) - b;
  return sum + static_cast<unsigned int>(difference < 0 ? -difference : difference);
}
static inline int __hadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b) >> 1); }
static inline int __rhadd(int a, int b) { return static_cast<int>((static_cast<int64_t>(a) + b + 1) >> 1); }
static inline unsigned int __uhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<uint64_t>(a) + b) >> 1);
}
static inline unsigned int __urhadd(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>((static_cast<uint64_t>(a) + b + 1) >> 1);
}

// hi:lo shifted. The plain functions take the amount modulo 32, those ending in c limit it to 32.
static inline unsigned int __funnelshift_lc(unsigned int lo, unsigned int hi, unsigned int shift) {
  const uint64_t both = static_cast<uint64_t>(hi) << 32 | lo;
  return static_cast<unsigned int>(both << (shift < 32 ? shift : 32) >> 32);
}
static inline unsigned int __funnelshift_rc(unsigned int lo, unsigned int hi, unsigned int shift) {
  const uint64_t both = static_cast<uint64_t>(hi) << 32 | lo;
  return static_cast<unsigned int>(both >> (shift < 32 ? shift : 32));
}
static inline unsigned int __funnelshift_l(unsigned int lo, unsigned int hi, unsigned int shift) {
  return __funnelshift_lc(lo, hi, shift & 31);
}
static inline unsigned int __funnelshift_r(unsigned int lo, unsigned int hi, unsigned int shift) {
  return __funnelshift_rc(lo, hi, shift & 31);
}

static inline int __dp4a(char4 a, char4 b, int sum) { return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
static inline unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int sum) {
  return sum + static_cast<unsigned int>(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w);
}
static inline int __dp4a(int a, int b, int sum) {
  for (int i = 0; i < 4; ++i) sum += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
  return sum;
}
static inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) {
  for (int i = 0; i < 4; ++i) sum += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
  return sum;
}
// Two halves of a with two bytes of b, its lower or its upper ones.
static inline int __dp2a_lo(int a, int b, int sum) {
  return sum + static_cast<int16_t>(a) * static_cast<int8_t>(b) + (a >> 16) * static_cast<int8_t>(b >> 8);
}
static inline int __dp2a_hi(int a, int b, int sum) { return __dp2a_lo(a, b >> 16, sum); }
static inline unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int sum) {
  return sum + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
}
static inline unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int sum) { return __dp2a_lo(a, b >> 16, sum); }
