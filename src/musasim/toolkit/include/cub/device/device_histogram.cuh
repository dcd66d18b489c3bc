// cub::DeviceHistogram of one channel.
#pragma once

#include "cub/detail/on_stream.cuh"

CUB_NAMESPACE_BEGIN

struct DeviceHistogram {
  // num_levels - 1 bins of equal width from lower_level on. Values outside are not counted.
  template <class In, class Counter, class Level, class Count>
  static musaError_t HistogramEven(void* storage, std::size_t& bytes, In samples, Counter* histogram, int num_levels, Level lower_level,
                                   Level upper_level, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      const int bins = num_levels - 1;
      for (int bin = 0; bin < bins; ++bin) histogram[bin] = 0;
      for (Count i = 0; i < count; ++i) {
        const Level level = static_cast<Level>(samples[i]);
        if (level < lower_level || !(level < upper_level)) continue;
        int bin = static_cast<int>(static_cast<double>(level - lower_level) * bins / static_cast<double>(upper_level - lower_level));
        ++histogram[bin < bins ? bin : bins - 1];
      }
    });
  }
  // Bin i is [levels[i], levels[i + 1]).
  template <class In, class Counter, class Level, class Count>
  static musaError_t HistogramRange(void* storage, std::size_t& bytes, In samples, Counter* histogram, int num_levels,
                                    const Level* levels, Count count, musaStream_t stream = nullptr, bool = false) {
    return detail::in_two_calls(storage, bytes, stream, [=]() mutable {
      for (int bin = 0; bin + 1 < num_levels; ++bin) histogram[bin] = 0;
      for (Count i = 0; i < count; ++i) {
        const Level level = static_cast<Level>(samples[i]);
        for (int bin = 0; bin + 1 < num_levels; ++bin) {
          if (!(level < levels[bin]) && level < levels[bin + 1]) ++histogram[bin];
        }
      }
    });
  }
};

CUB_NAMESPACE_END
