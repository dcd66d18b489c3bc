#pragma once

#include "memory_file.h"
#include "stream.h"

#include <c10/core/Storage.h>

#include <atomic>

namespace musasim {

// A number that several processes share.
using SharedNumber = std::atomic<int64_t>;
static_assert(SharedNumber::is_always_lock_free, "atomic between processes only without a lock");

// The place of such a number, in memory of its creator that `handle` names.
struct NumberPlace {
  SharedNumber* number;
  std::string handle;
  int64_t index;
};
NumberPlace new_shared_number(int64_t value);
void reuse_shared_number(int64_t index);

// The data that another process needs to open a storage. As in PyTorch's own scheme for CUDA, the count says whether the
// receiver still uses the memory, which is reused only when it does not.
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
bool collect_sent(); // frees memory that receivers have released, and returns whether there was any

std::string event_handle(EventState& event);
void open_event(EventState& event, const std::string& handle);

} // namespace musasim
