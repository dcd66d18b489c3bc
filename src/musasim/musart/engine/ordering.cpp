#include "ordering.h"

#include <unordered_map>
#include <vector>

namespace musart::memcheck {
namespace {

struct WarpSyncs {
  uint32_t last = 0, met = 0; // of a lane; of a lane before lanes met
  unsigned rounds = 0; // at the last one
};

// The atomic functions and fences of a block.
struct BlockSyncs {
  std::vector<uint32_t> of_thread;
  std::vector<uint32_t> learnt; // by a thread, from a flag
  std::vector<WarpSyncs> of_warp;
  uint32_t last = 0, met = 0; // of a thread; of a thread before a barrier
  unsigned barriers = 0; // at the last one
};

struct Counters {
  unsigned threads = 0;
  unsigned barriers = 0;
  std::vector<unsigned> rounds; // by warp
  std::vector<bool> fenced; // by thread: it has not written since
  uint32_t syncs = 0, grid_barriers = 0;
  unsigned block = 0;
  std::unordered_map<unsigned, BlockSyncs> blocks; // those that have used an atomic function or a fence
  BlockSyncs* own = nullptr; // of the running block
};
Counters& counters() {
  static auto* one = new Counters();
  return *one;
}

BlockSyncs* syncs_of(unsigned block) {
  const auto known = counters().blocks.find(block);
  return known == counters().blocks.end() ? nullptr : &known->second;
}

BlockSyncs& own_syncs() {
  auto& now = counters();
  if (now.own == nullptr) {
    now.own = &now.blocks[now.block];
    now.own->of_thread.resize(now.threads);
    now.own->learnt.resize(now.threads);
    now.own->of_warp.resize(now.rounds.size());
  }
  return *now.own;
}

bool has_told(const Moment& earlier) {
  const auto* block = syncs_of(earlier.block);
  if (block == nullptr) return false;
  const auto& warp = block->of_warp[earlier.thread / kWarp];
  return block->of_thread[earlier.thread] > earlier.syncs || (block->last > earlier.syncs && block->barriers > earlier.barriers) ||
         (warp.last > earlier.syncs && warp.rounds > earlier.rounds);
}

bool has_learnt(const CheckedThread& now, uint32_t since) {
  const auto* block = counters().own;
  if (block == nullptr) return false;
  return block->of_thread[now.number] > since || block->learnt[now.number] > since || block->met > since || block->of_warp[now.warp].met > since;
}

} // namespace

void begin_ordering(unsigned threads) {
  auto& now = counters();
  now.threads = threads;
  now.rounds.assign(threads / kWarp + 1, 0);
  now.fenced.assign(threads, false);
  now.syncs = 0;
  now.blocks.clear();
  now.own = nullptr;
}

void enter_block_of(unsigned number) {
  auto& now = counters();
  if (now.block != number) now.fenced.assign(now.threads, false);
  now.block = number;
  now.own = syncs_of(number);
}

Moment moment_of(const CheckedThread& thread) {
  const auto& now = counters();
  return {thread.block, thread.number, now.barriers, now.rounds[thread.warp], now.syncs, now.grid_barriers};
}

bool ordered_in_block(const Moment& earlier, const CheckedThread& thread) {
  const auto& now = counters();
  if (earlier.barriers != now.barriers) return true;
  if (now.own != nullptr && now.own->of_thread[earlier.thread] > earlier.syncs) return true;
  return earlier.thread / kWarp == thread.warp && earlier.rounds != now.rounds[thread.warp];
}

bool ordered_between_blocks(const Moment& earlier, const CheckedThread& now) {
  if (earlier.grid_barriers != counters().grid_barriers) return true;
  return has_told(earlier) && has_learnt(now, earlier.syncs);
}

void all_have_met() {
  auto& now = counters();
  ++now.barriers;
  if (now.own != nullptr) now.own->met = now.own->last;
}

void warp_has_met(unsigned warp) {
  auto& now = counters();
  if (warp >= now.rounds.size()) return;
  ++now.rounds[warp];
  if (now.own != nullptr) now.own->of_warp[warp].met = now.own->of_warp[warp].last;
}

void grid_has_met() {
  ++counters().barriers;
  ++counters().grid_barriers;
}

void synchronise(const CheckedThread& thread, bool by_fence) {
  auto& now = counters();
  auto& block = own_syncs();
  auto& warp = block.of_warp[thread.warp];
  block.of_thread[thread.number] = warp.last = block.last = ++now.syncs;
  block.barriers = now.barriers;
  warp.rounds = now.rounds[thread.warp];
  if (by_fence) now.fenced[thread.number] = true;
}

// It is later than whatever has been done so far.
void learn(const CheckedThread& thread) {
  auto& block = own_syncs();
  block.learnt[thread.number] = block.last = block.of_warp[thread.warp].last = ++counters().syncs;
}

bool publishes(const CheckedThread& thread) {
  return counters().fenced[thread.number];
}

void has_written(const CheckedThread& thread) {
  counters().fenced[thread.number] = false;
}

} // namespace musart::memcheck
