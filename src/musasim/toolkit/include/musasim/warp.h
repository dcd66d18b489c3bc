// The common operations of a warp's lanes: shuffles, votes, matches and reductions, which use device.h's exchange.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "musasim/device.h"

namespace musasim {

constexpr int warp_size = MUSASIM_WARP_SIZE;
constexpr unsigned int whole_warp = 0xffffffffu;
constexpr int launch_failure = 719;  // musaErrorLaunchFailure

// The types that the shuffle functions take; headers with numbers of their own add to them.
template <class T>
struct Shuffled : std::is_arithmetic<T> {};

template <class T>
using IfShuffled = std::enable_if_t<Shuffled<T>::value, T>;

// One value of any size from each lane of `mask`. Those of the lanes in `lanes` are valid, and the others are zero.
template <class T>
struct FromLanes {
  unsigned int lanes = 0;
  alignas(T) unsigned char bytes[warp_size][sizeof(T)];

  const T& operator[](int lane) const { return *reinterpret_cast<const T*>(bytes[lane]); }
  bool has(int lane) const { return lanes >> lane & 1; }
};

// `visit(lane, bytes, offset, count)` for every lane and every part of at most 16 bytes of its value.
template <class T, class Visit>
inline unsigned int exchange(unsigned int mask, const T& value, const char* what, Visit visit) {
  constexpr std::size_t part = sizeof(musasim_round::slot[0]);
  const char* const own = reinterpret_cast<const char*>(&value);
  unsigned int lanes = 0;
  for (std::size_t offset = 0; offset < sizeof(T); offset += part) {
    const std::size_t count = sizeof(T) - offset < part ? sizeof(T) - offset : part;
    const musasim_round* const round = musasim_exchange(offset == 0 ? mask : lanes, own + offset, count, what);
    lanes = round->lanes;
    visit(*round, offset, count);
  }
  return lanes;
}

template <class T>
inline FromLanes<T> from_lanes(unsigned int mask, const T& value, const char* what) {
  FromLanes<T> result;
  result.lanes = exchange(mask, value, what, [&](const musasim_round& round, std::size_t offset, std::size_t count) {
    for (int lane = 0; lane < warp_size; ++lane) {
      if (round.lanes >> lane & 1) {
        std::memcpy(result.bytes[lane] + offset, round.slot[lane], count);
      } else {
        std::memset(result.bytes[lane] + offset, 0, count);
      }
    }
  });
  return result;
}

// The value of lane `source`, or zeros if that lane does not take part. On a device the result is then undefined.
template <class T>
inline T from_lane(unsigned int mask, const T& value, int source, const char* what) {
  alignas(T) unsigned char bytes[sizeof(T)] = {};
  exchange(mask, value, what, [&](const musasim_round& round, std::size_t offset, std::size_t count) {
    if (round.lanes >> source & 1) std::memcpy(bytes + offset, round.slot[source], count);
  });
  return *reinterpret_cast<const T*>(bytes);
}

// A warp divided into segments of `width` lanes.
struct Segment {
  int lane, first, last;

  Segment(int width, const char* what) : lane(static_cast<int>(musasim_lane)) {
    if (width <= 0 || width > warp_size || (width & (width - 1)) != 0) musasim_fault(launch_failure, what);
    first = lane & -width;
    last = first + width - 1;
  }
};

inline int source_of_shfl(int width, int source) {
  const Segment segment(width, "__shfl_sync: the width is not a power of two up to 32");
  return segment.first + (source & (width - 1));
}
inline int source_of_shfl_up(int width, unsigned int delta) {
  const Segment segment(width, "__shfl_up_sync: the width is not a power of two up to 32");
  return delta > static_cast<unsigned int>(segment.lane - segment.first) ? segment.lane : segment.lane - static_cast<int>(delta);
}
inline int source_of_shfl_down(int width, unsigned int delta) {
  const Segment segment(width, "__shfl_down_sync: the width is not a power of two up to 32");
  return delta > static_cast<unsigned int>(segment.last - segment.lane) ? segment.lane : segment.lane + static_cast<int>(delta);
}
// Lanes of earlier segments can be reached, those of later ones cannot.
inline int source_of_shfl_xor(int width, int lane_mask) {
  const Segment segment(width, "__shfl_xor_sync: the width is not a power of two up to 32");
  const int source = segment.lane ^ lane_mask;
  return source < 0 || source > segment.last ? segment.lane : source;
}

// The lanes for which `is(lane)` holds, of those in `lanes`.
template <class Predicate>
inline unsigned int lanes_where(unsigned int lanes, Predicate is) {
  unsigned int result = 0;
  for (int lane = 0; lane < warp_size; ++lane) {
    if ((lanes >> lane & 1) && is(lane)) result |= 1u << lane;
  }
  return result;
}

template <class T, class Function>
inline T reduce_lanes(unsigned int mask, T value, const char* what, Function function) {
  const FromLanes<T> values = from_lanes(mask, value, what);
  T result = value;
  for (int lane = 0; lane < warp_size; ++lane) {
    if (values.has(lane) && lane != static_cast<int>(musasim_lane)) result = function(result, values[lane]);
  }
  return result;
}

}  // namespace musasim

// Functions for the types of C++, to which an argument of another type is converted: c10::BFloat16 to float.
#define MUSASIM_SHUFFLES(T)                                                                                       \
  static inline T __shfl_sync(unsigned int mask, T value, int source, int width = warpSize) {                     \
    return musasim::from_lane(mask, value, musasim::source_of_shfl(width, source), "__shfl_sync");                \
  }                                                                                                               \
  static inline T __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {          \
    return musasim::from_lane(mask, value, musasim::source_of_shfl_up(width, delta), "__shfl_up_sync");           \
  }                                                                                                               \
  static inline T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {        \
    return musasim::from_lane(mask, value, musasim::source_of_shfl_down(width, delta), "__shfl_down_sync");       \
  }                                                                                                               \
  static inline T __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = warpSize) {              \
    return musasim::from_lane(mask, value, musasim::source_of_shfl_xor(width, lane_mask), "__shfl_xor_sync");     \
  }
MUSASIM_SHUFFLES(int)
MUSASIM_SHUFFLES(unsigned int)
MUSASIM_SHUFFLES(long)
MUSASIM_SHUFFLES(unsigned long)
MUSASIM_SHUFFLES(long long)
MUSASIM_SHUFFLES(unsigned long long)
MUSASIM_SHUFFLES(float)
MUSASIM_SHUFFLES(double)
#undef MUSASIM_SHUFFLES

// For the types that other headers add, half and bfloat16.
template <class T>
static inline musasim::IfShuffled<T> __shfl_sync(unsigned int mask, T value, int source, int width = warpSize) {
  return musasim::from_lane(mask, value, musasim::source_of_shfl(width, source), "__shfl_sync");
}
template <class T>
static inline musasim::IfShuffled<T> __shfl_up_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {
  return musasim::from_lane(mask, value, musasim::source_of_shfl_up(width, delta), "__shfl_up_sync");
}
template <class T>
static inline musasim::IfShuffled<T> __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = warpSize) {
  return musasim::from_lane(mask, value, musasim::source_of_shfl_down(width, delta), "__shfl_down_sync");
}
template <class T>
static inline musasim::IfShuffled<T> __shfl_xor_sync(unsigned int mask, T value, int lane_mask, int width = warpSize) {
  return musasim::from_lane(mask, value, musasim::source_of_shfl_xor(width, lane_mask), "__shfl_xor_sync");
}

static inline unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return musasim_vote(mask, predicate, "__ballot_sync")->votes;
}
static inline int __any_sync(unsigned int mask, int predicate) {
  return musasim_vote(mask, predicate, "__any_sync")->votes != 0;
}
static inline int __all_sync(unsigned int mask, int predicate) {
  const musasim_round* const round = musasim_vote(mask, predicate, "__all_sync");
  return round->votes == round->lanes;
}

// Equal means equal bit by bit.
template <class T>
static inline std::enable_if_t<std::is_arithmetic<T>::value && (sizeof(T) >= 4), unsigned int> __match_any_sync(unsigned int mask,
                                                                                                              T value) {
  const auto values = musasim::from_lanes(mask, value, "__match_any_sync");
  return musasim::lanes_where(values.lanes, [&](int lane) { return std::memcmp(&values[lane], &value, sizeof value) == 0; });
}
template <class T>
static inline std::enable_if_t<std::is_arithmetic<T>::value && (sizeof(T) >= 4), unsigned int> __match_all_sync(unsigned int mask,
                                                                                                              T value,
                                                                                                              int* all_equal) {
  const auto values = musasim::from_lanes(mask, value, "__match_all_sync");
  const unsigned int equal =
      musasim::lanes_where(values.lanes, [&](int lane) { return std::memcmp(&values[lane], &value, sizeof value) == 0; });
  *all_equal = equal == values.lanes;
  return *all_equal ? values.lanes : 0;
}

#define MUSASIM_REDUCE(name, type, of_a_and_b)                                                  \
  static inline type name(unsigned int mask, type value) {                                      \
    return musasim::reduce_lanes(mask, value, #name, [](type a, type b) -> type { return of_a_and_b; }); \
  }
MUSASIM_REDUCE(__reduce_add_sync, unsigned int, a + b)
MUSASIM_REDUCE(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b)))
MUSASIM_REDUCE(__reduce_min_sync, unsigned int, b < a ? b : a)
MUSASIM_REDUCE(__reduce_min_sync, int, b < a ? b : a)
MUSASIM_REDUCE(__reduce_max_sync, unsigned int, a < b ? b : a)
MUSASIM_REDUCE(__reduce_max_sync, int, a < b ? b : a)
MUSASIM_REDUCE(__reduce_and_sync, unsigned int, a & b)
MUSASIM_REDUCE(__reduce_or_sync, unsigned int, a | b)
MUSASIM_REDUCE(__reduce_xor_sync, unsigned int, a ^ b)
#undef MUSASIM_REDUCE

static inline unsigned int __lane_id() { return musasim_lane; }
