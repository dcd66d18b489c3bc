#include "happens_before.h"

#include "../ground/chosen_seed.h"
#include "../ground/environment.h"

#include <algorithm>

namespace musart::streamcheck {
namespace {

struct Order {
  std::vector<Stream*> streams; // by number. Streams are never freed
  Known host;
};
Order& order() {
  static auto* one = new Order();
  return *one;
}

void learn(Known& known, const Known& more) {
  known.resize(std::max(known.size(), more.size()));
  for (size_t number = 0; number < more.size(); ++number) known[number] = std::max(known[number], more[number]);
}

// The default stream and those that the runtime has created without musaStreamNonBlocking wait for each other.
bool waits_unasked(const Stream& stream, const Stream& other) {
  if (stream.device != other.device || !stream.blocking || !other.blocking) return false;
  const auto* by_default = &default_stream(stream.device);
  return (&stream == by_default) != (&other == by_default);
}

// What is queued now comes after what the host has waited for.
Known& settled(Stream& stream) {
  learn(stream.known, order().host);
  for (const auto* other : order().streams) {
    if (waits_unasked(stream, *other)) learn(stream.known, other->known);
  }
  return stream.known;
}

} // namespace

bool enabled() noexcept {
  static const bool wanted = read_flag("MUSASIM_STREAMCHECK");
  return wanted;
}

bool orders_for_seed() noexcept {
  static const bool wanted = chosen_seed().given && !enabled() && !read_flag("MUSASIM_MEMCHECK") && !read_flag("MUSA_LAUNCH_BLOCKING");
  return wanted;
}

bool is_order_kept() noexcept {
  return enabled() || orders_for_seed();
}

std::recursive_mutex& order_lock() {
  static auto* one = new std::recursive_mutex();
  return *one;
}

void record_known(Known& known, Stream& stream) {
  if (!is_order_kept()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  known = settled(stream);
}

void stream_learns(Stream& stream, const Known& known) {
  if (!is_order_kept()) return;
  const std::lock_guard<std::recursive_mutex> lock(order_lock());
  learn(stream.known, known);
}

Moment begin_work(Stream& stream) {
  auto& all = order().streams;
  if (stream.number < 0) {
    stream.number = static_cast<int>(all.size());
    all.push_back(&stream);
  }
  auto& known = settled(stream);
  known.resize(all.size());
  return {stream.number, ++known[stream.number]};
}

bool is_over(const Moment& earlier, const Known& known) {
  const auto stream = static_cast<size_t>(earlier.stream);
  return earlier.stream < 0 || (stream < known.size() && known[stream] >= earlier.work);
}

const Known& known_to_host() {
  return order().host;
}

void host_learns(const Known& known) {
  learn(order().host, known);
}

void host_learns_all_of(int device) {
  for (const auto* stream : order().streams) {
    if (stream->device == device) learn(order().host, stream->known);
  }
}

} // namespace musart::streamcheck
