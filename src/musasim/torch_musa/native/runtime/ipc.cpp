#include "ipc.h"

#include "allocator.h"
#include "device.h"
#include "launches.h"

#include <c10/util/Exception.h>

#include <cstring>
#include <mutex>
#include <vector>

namespace musasim {
namespace {

constexpr size_t kNumberBytes = size_t{1} << 30; // address space; pages are committed on first use

// The numbers that this process shares with others.
struct Numbers {
  MemoryFile file{"musasim-counters"};
  std::mutex mutex;
  SharedNumber* first = nullptr;
  std::string handle;
  int64_t next = 0;
  std::vector<int64_t> free;
};

Numbers& numbers() {
  static auto* all = new Numbers();
  return *all;
}

SharedNumber& number_of(const OpenedMemory& memory, int64_t index) {
  TORCH_CHECK(index >= 0 && static_cast<size_t>(index) < memory.size / sizeof(SharedNumber), "invalid counter ", index);
  return reinterpret_cast<SharedNumber*>(memory.address)[index];
}

// The resources of a received storage while it lives.
struct Received {
  std::shared_ptr<OpenedMemory> memory;
  std::shared_ptr<OpenedMemory> counters;
  int64_t index;
};

void put_down(void* context) {
  const std::unique_ptr<Received> received(static_cast<Received*>(context));
  --number_of(*received->counters, received->index);
}

} // namespace

NumberPlace new_shared_number(int64_t value) {
  auto& all = numbers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.first == nullptr) {
    uint64_t offset = 0;
    all.first = static_cast<SharedNumber*>(all.file.map(kNumberBytes, offset));
    TORCH_CHECK(all.first != nullptr, "MUSA error: out of memory");
    all.handle = all.file.handle(offset, kNumberBytes);
  }
  int64_t index = all.next;
  if (all.free.empty()) {
    TORCH_CHECK(static_cast<size_t>(++all.next) < kNumberBytes / sizeof(SharedNumber), "MUSA error: out of handles");
  } else {
    index = all.free.back();
    all.free.pop_back();
  }
  all.first[index] = value;
  return {&all.first[index], all.handle, index};
}

void reuse_shared_number(int64_t index) {
  auto& all = numbers();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.free.push_back(index);
}

SentStorage send_storage(const c10::Storage& storage) {
  refuse_after_fork();
  finish_launches();
  collect_sent();
  TORCH_CHECK(storage.device().type() == kMusa, "_share_musa_: only available on MUSA");
  TORCH_CHECK(
      !storage.unsafeGetStorageImpl()->received_cuda(),
      "Attempted to send MUSA tensor received from another process; this is not currently supported. Consider cloning "
      "before sending.");
  SentStorage sent;
  sent.device = storage.device().index();
  sent.bytes = storage.nbytes();
  if (storage.data() == nullptr) {
    return sent;
  }
  const auto place = place_in_device(storage.data());
  const auto counter = new_shared_number(1);
  keep_while_used(storage.data(), counter);
  sent.memory = place.handle;
  sent.offset = place.offset;
  sent.counter = counter.handle;
  sent.counter_index = counter.index;
  sent.ready_ns = completion_ns(current_stream(sent.device));
  return sent;
}

c10::Storage receive_storage(const SentStorage& sent) {
  refuse_after_fork();
  check_device(sent.device);
  auto memory = open_handle(sent.memory);
  TORCH_CHECK(sent.offset + sent.bytes <= memory->size, "MUSA error: invalid argument");
  char* address = memory->address + sent.offset;
  auto* received = new Received{std::move(memory), open_handle(sent.counter), sent.counter_index};
  const c10::Device device(kMusa, sent.device);
  auto impl = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(),
      sent.bytes,
      c10::DataPtr(address, received, &put_down, device),
      /*allocator=*/nullptr,
      /*resizable=*/false);
  impl->set_received_cuda(true);
  wait_for(current_stream(sent.device), sent.ready_ns);
  return c10::Storage(std::move(impl));
}

void release_sent(const std::string& counter, int64_t index) {
  --number_of(*open_handle(counter), index);
}

namespace {

struct EventHandle {
  char counters[sizeof(IpcHandle)];
  int64_t index;
};

} // namespace

std::string event_handle(EventState& event) {
  refuse_after_fork();
  if (!event.shared) {
    const auto place = new_shared_number(event.when_ns); // never reused, because others may read it at any time
    event.shared = musart::SharedTime{place.number, place.handle, place.index, nullptr};
  }
  EventHandle made{};
  std::memcpy(made.counters, event.shared->handle.data(), sizeof(made.counters));
  made.index = event.shared->index;
  return std::string(reinterpret_cast<const char*>(&made), sizeof(made));
}

void open_event(EventState& event, const std::string& text) {
  EventHandle handle{};
  if (text.size() != sizeof(handle)) {
    raise_musa_error("invalid argument");
  }
  std::memcpy(&handle, text.data(), sizeof(handle));
  const std::string counters(handle.counters, sizeof(handle.counters));
  auto opened = open_handle(counters);
  auto& number = number_of(*opened, handle.index);
  event.shared = musart::SharedTime{&number, counters, handle.index, std::move(opened)};
}

} // namespace musasim
