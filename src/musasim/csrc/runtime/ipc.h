#pragma once

#include "memory_file.h"
#include "stream.h"

#include <c10/core/Storage.h>

#include <atomic>

namespace musasim {

// A number that several processes see.
using SharedNumber = std::atomic<int64_t>;
static_assert(SharedNumber::is_always_lock_free, "atomic between processes only without a lock");

// The place of such a number: in memory of the process that made it, named by `handle`.
struct NumberPlace {
  SharedNumber* number;
  std::string handle;
  int64_t index;
};
NumberPlace new_shared_number(int64_t value);
void reuse_shared_number(int64_t index);

// What another process needs to open a storage. Memory and count as in PyTorch's own scheme for CUDA: the count says whether
// the receiver still uses the memory, and only when it does not is the memory used again.
struct SentStorage {
  c10::DeviceIndex device = -1;
  std::string memory; // empty for a storage without memory
  uint64_t bytes = 0;
  uint64_t offset = 0;
  std::string counter;
  int64_t counter_index = 0;
  int64_t ready_ns = 0; // when the work queued on the sender's stream is done
};

SentStorage send_storage(const c10::Storage& storage);
c10::Storage receive_storage(const SentStorage& sent);
void release_sent(const std::string& counter, int64_t index);
bool collect_sent(); // frees memory that receivers have put down; whether there was any

std::string event_handle(EventState& event);
void open_event(EventState& event, const std::string& handle);

} // namespace musasim
