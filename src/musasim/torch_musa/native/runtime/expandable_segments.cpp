// Segments that grow: a range of addresses larger than the device, whose pieces get memory when blocks need them. Pieces are of
// 2 MiB in pools of small blocks, of 20 MiB in the others, as in torch_musa.
#include "device_cache.h"

#include <c10/util/Exception.h>

#include <algorithm>

namespace musasim {
namespace {

size_t piece_size(const BlockPool& pool) {
  return pool.small ? kSmallSegment : kMediumSegment;
}

size_t first_piece_from(const Block* block) {
  const auto offset = static_cast<size_t>(block->address - block->segment->address);
  return round_up(offset, piece_size(*block->segment->pool));
}

bool is_free(const Block* block) {
  return block != nullptr && !block->allocated;
}

bool has_room(const Block* block, size_t size) {
  size_t bytes = 0;
  for (; bytes < size && is_free(block); block = block->next) {
    bytes += block->size;
  }
  return bytes >= size;
}

} // namespace

// Mapping is permitted while anything is captured, where musaMalloc may be refused.
Block* DeviceCache::take_expandable(BlockPool& pool, size_t size, c10::Stream stream, const Context& context) {
  if (!fits(segment_size(size))) {
    return nullptr;
  }
  Block* block = find_expandable(pool, size, stream);
  if (block != nullptr && !block->mapped) {
    block = map_block(block, std::min(block->size, size), context);
  }
  while (block != nullptr && block->size < size) {
    block = map_block(block->next, std::min(block->next->size, size - block->size), context);
  }
  if (block != nullptr) {
    pool.free.erase(block);
  }
  return block;
}

// The lowest block from which on `size` bytes are free or not mapped.
Block* DeviceCache::find_expandable(BlockPool& pool, size_t size, c10::Stream stream) {
  for (Block* unmapped : pool.unmapped) {
    Block* first = is_free(unmapped->previous) ? unmapped->previous : unmapped;
    if (unmapped->segment->stream == stream.id() && has_room(first, size)) {
      return first;
    }
  }
  return reserve_segment(pool, stream);
}

Block* DeviceCache::reserve_segment(BlockPool& pool, c10::Stream stream) {
  const size_t total = device_properties().total_memory;
  const size_t bytes = round_up(total + total / 8, piece_size(pool));
  auto* reservation = musart::reserve(device_, bytes);
  if (reservation == nullptr) {
    return nullptr;
  }
  auto* segment = new Segment{&pool, stream.id(), reservation->base, bytes, nullptr, nullptr, nullptr, reservation};
  segment->first = new Block{segment, segment->address, bytes};
  segment->first->mapped = false;
  segments_[segment->address] = segment;
  pool.unmapped.insert(segment->first);
  return segment->first;
}

void DeviceCache::count_mapped(const Block* block, int sign, const Context& context) {
  const auto& segment = *block->segment;
  ++(sign > 0 ? stats_.num_device_alloc : stats_.num_device_free);
  for_stats(*segment.pool, [&](int i) {
    sign > 0 ? stats_.reserved_bytes[i].increase(block->size) : stats_.reserved_bytes[i].decrease(block->size);
  });
  const auto& told = sign < 0 && context == nullptr ? segment.context : context;
  note(sign > 0 ? "segment_map" : "segment_unmap", block->address, block->size, segment.stream, told);
}

// Maps the first pieces of the block, at least `bytes`; the free block that they are a part of, or nullptr.
Block* DeviceCache::map_block(Block* block, size_t bytes, const Context& context) {
  auto* segment = block->segment;
  auto& pool = *segment->pool;
  const size_t mapped = round_up(bytes, piece_size(pool));
  if (!musart::map(*segment->reservation, block->address, mapped)) {
    return nullptr;
  }
  pool.unmapped.erase(block);
  if (mapped < block->size) {
    pool.unmapped.insert(cut(block, mapped));
  }
  block->mapped = true;
  count_mapped(block, 1, context);
  if (block->previous == nullptr && segment->context == nullptr) {
    segment->context = context;
  }
  block = merge(block, block->previous);
  block = merge(block, block->next);
  pool.keep(block);
  return block;
}

// Gives the memory of whole pieces of a free block back, and the segment when nothing of it is mapped any more.
void DeviceCache::unmap_block(Block* block, const Context& context) {
  auto* segment = block->segment;
  auto& pool = *segment->pool;
  const auto at = static_cast<size_t>(block->address - segment->address);
  const size_t begin = first_piece_from(block);
  const size_t end = (at + block->size) / piece_size(pool) * piece_size(pool);
  if (begin >= end) {
    return;
  }
  pool.free.erase(block);
  if (at + block->size > end) {
    pool.keep(cut(block, end - at));
  }
  if (begin > at) {
    Block* rest = cut(block, begin - at);
    pool.keep(block);
    block = rest;
  }
  musart::unmap(*segment->reservation, block->address, block->size);
  count_mapped(block, -1, context);
  block->mapped = false;
  block->requested = 0;
  block = merge(block, block->previous);
  block = merge(block, block->next);
  if (block->is_split()) {
    pool.unmapped.insert(block);
    return;
  }
  segments_.erase(segment->address);
  musart::cancel(segment->reservation);
  delete block;
  delete segment;
}

// Other processes get the pieces that the block lies in.
DevicePlace DeviceCache::place_of_expandable(const Block* block) {
  const auto& segment = *block->segment;
  const int file = musart::share(*segment.reservation);
  TORCH_CHECK(file >= 0, "MUSA error: invalid argument");
  const size_t piece = piece_size(*segment.pool);
  const auto at = static_cast<size_t>(block->address - segment.address);
  const size_t begin = at / piece * piece;
  return {name_memory(file, begin, round_up(at + block->size, piece) - begin), at - begin};
}

} // namespace musasim
