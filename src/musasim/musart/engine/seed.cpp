#include "seed.h"

#include "../ground/chosen_seed.h"
#include "configuration.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>

namespace musart {
namespace {

uint64_t g_launches = 0;
std::mt19937_64& numbers() {
  static auto* one = new std::mt19937_64();
  return *one;
}
uint64_t g_key = 0; // of the order of the running launch's blocks

// std::shuffle is another one in each C++ library.
template <class Item>
void shuffle(Item* items, size_t count) {
  for (size_t left = count; left > 1; --left) std::swap(items[left - 1], items[numbers()() % left]);
}

uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
  return x ^ x >> 33;
}

// A Feistel network: a permutation of the numbers of 2 * `bits` bits, without a table.
uint64_t permuted(uint64_t x, unsigned bits) {
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  uint64_t left = x >> bits, right = x & mask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t next = left ^ (mixed(right + g_key + (round << 60)) & mask);
    left = right;
    right = next;
  }
  return left << bits | right;
}

} // namespace

bool is_seeded() noexcept {
  return chosen_seed().given;
}

void begin_order() {
  if (!is_seeded()) return;
  numbers().seed(mixed(chosen_seed().number) + g_launches++);
  g_key = numbers()();
}

void tell_seed() {
  if (is_seeded()) std::fprintf(stderr, "musasim: MUSASIM_SEED=%llu repeats this order\n", static_cast<unsigned long long>(chosen_seed().number));
}

size_t block_of_turn(size_t turn, size_t count) {
  if (!is_seeded()) return turn;
  unsigned bits = 1;
  while (uint64_t{1} << 2 * bits < count) ++bits;
  uint64_t block = turn;
  do {
    block = permuted(block, bits);
  } while (block >= count);
  return block;
}

void shuffle_threads(std::vector<unsigned>& threads) {
  constexpr size_t warp = MUSASIM_WARP_SIZE;
  std::vector<size_t> warps((threads.size() + warp - 1) / warp);
  std::iota(warps.begin(), warps.end(), 0);
  shuffle(warps.data(), warps.size());
  const size_t count = threads.size();
  threads.clear();
  for (const size_t number : warps) {
    const size_t first = threads.size();
    for (size_t lane = number * warp; lane < std::min(count, (number + 1) * warp); ++lane) threads.push_back(static_cast<unsigned>(lane));
    shuffle(threads.data() + first, threads.size() - first);
  }
}

} // namespace musart
