#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string>

namespace musasim {

// The options of PYTORCH_MUSA_ALLOC_CONF. Those that concern how the driver gets memory (locks, ways to pin) are checked and
// reported, and change nothing here.
struct AllocatorSettings {
  std::string text;
  size_t max_split_size = std::numeric_limits<size_t>::max(); // bytes
  size_t max_non_split_rounding = size_t{20} << 20; // bytes that a block may be too large by where it is not split
  double garbage_collection_threshold = 0;
  std::array<size_t, 16> roundup_divisions{}; // for sizes from 1 MiB, 2 MiB, ... on; 0 is none
  bool expandable_segments = false;
  bool release_lock_on_malloc = false;
  bool pinned_host_register = false;
  bool pinned_background_threads = false;
  size_t pinned_register_threads = 1;
  double memory_fraction = 1; // of a device's memory, for a process that has not set it otherwise
};

// A copy of the settings in force. They are read from the environment at the first use.
AllocatorSettings allocator_settings();
// Raises if `text` has an unknown option or a bad value. Options that were parsed before it stay in force, as in torch_musa.
void set_allocator_settings(const std::string& text);

// The number of bytes that a request takes up under these settings.
size_t allocation_size(size_t bytes);
size_t max_split_size();
size_t max_non_split_rounding();
double garbage_collection_threshold();
bool expandable_segments();
double memory_fraction_setting();

} // namespace musasim
