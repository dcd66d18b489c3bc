#include "symmetric_memory.h"

#if MUSASIM_HAS_SYMMETRIC_MEMORY
#include "../runtime/capture.h"
#include "../runtime/device.h"
#include "../runtime/launches.h"
#include "../runtime/pluggable.h"
#include "shared_block.h"
#include "signals.h"

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace musasim::mccl {
namespace {

using c10d::symmetric_memory::SymmetricMemory;
using c10d::symmetric_memory::SymmetricMemoryAllocator;
using BlockPtr = std::shared_ptr<SharedBlock>;
using Name = std::optional<std::string>;

// torch_musa's: 32 channels between 8 devices, of 4 bytes each.
constexpr size_t kSignalBytes = 1024;

// The blocks of all ranks of a group, in their order.
struct Peers {
  int rank;
  int device;
  std::vector<BlockPtr> blocks;
  std::vector<void*> buffers;
  std::vector<void*> signals;

  Peers(int rank_, int device_, std::vector<BlockPtr> blocks_) : rank(rank_), device(device_), blocks(std::move(blocks_)) {
    for (const auto& block : blocks) {
      buffers.push_back(block->address());
      signals.push_back(block->signals());
    }
  }
};

class Symmetric final : public SymmetricMemory {
 public:
  Symmetric(std::shared_ptr<Peers> peers, size_t offset) : peers_(std::move(peers)), offset_(offset) {}

  std::vector<void*> get_buffer_ptrs() override {
    return peers_->buffers;
  }
  std::vector<void*> get_signal_pad_ptrs() override {
    return peers_->signals;
  }
  // The host can read what the device can.
  void** get_buffer_ptrs_dev() override {
    return peers_->buffers.data();
  }
  void** get_signal_pad_ptrs_dev() override {
    return peers_->signals.data();
  }
  size_t get_buffer_size() override {
    return peers_->blocks.front()->bytes();
  }
  size_t get_signal_pad_size() { // not virtual in newer releases of torch, hence no override
    return kSignalBytes;
  }
  size_t get_offset() { // newer than the oldest torch that has this interface
    return offset_;
  }
  bool has_multicast_support() override {
    return false;
  }
  void* get_multicast_ptr() override {
    return nullptr;
  }

  void barrier(int channel, size_t timeout_ms) override {
    begin(channel);
    for (int other = 0; other < get_world_size(); ++other) {
      put("barrier", other, channel, timeout_ms);
    }
    for (int other = 0; other < get_world_size(); ++other) {
      take("barrier", other, channel, timeout_ms);
    }
  }
  void put_signal(int to, int channel, size_t timeout_ms) override {
    begin(channel);
    put("put_signal", to, channel, timeout_ms);
  }
  void wait_signal(int from, int channel, size_t timeout_ms) override {
    begin(channel);
    take("wait_signal", from, channel, timeout_ms);
  }

  int get_rank() override {
    return peers_->rank;
  }
  int get_world_size() override {
    return static_cast<int>(peers_->blocks.size());
  }
  c10::Device get_device() { // newer than the oldest torch that has this interface
    return {kMusa, static_cast<c10::DeviceIndex>(peers_->device)};
  }
  bool world_within_direct_access() { // as get_device
    return true;
  }

 private:
  void begin(int channel) {
    const int channels = static_cast<int>(kSignalBytes / sizeof(uint32_t)) / get_world_size();
    TORCH_CHECK(
        channel >= 0 && channel < channels,
        "symmetric memory of ", get_world_size(), " ranks has channels from 0 to ", channels - 1, ", but got ", channel);
    TORCH_CHECK(
        active_capture() == nullptr, "musasim: signals of symmetric memory cannot be captured in a graph, because kernels run at once");
    finish_launches();
  }
  uint32_t* place(int owner, int channel, int from) {
    return peers_->blocks.at(static_cast<size_t>(owner))->signals() + get_world_size() * channel + from;
  }
  void put(const char* what, int to, int channel, size_t timeout_ms) {
    const bool done = to == get_rank() || mccl::put_signal(place(to, channel, get_rank()), std::chrono::milliseconds(timeout_ms));
    TORCH_CHECK(done, what, ": rank ", get_rank(), " could not send a signal to rank ", to, " on channel ", channel,
        " within ", timeout_ms, " ms");
  }
  void take(const char* what, int from, int channel, size_t timeout_ms) {
    const bool done = from == get_rank() || mccl::take_signal(place(get_rank(), channel, from), std::chrono::milliseconds(timeout_ms));
    TORCH_CHECK(done, what, ": rank ", get_rank(), " got no signal from rank ", from, " on channel ", channel,
        " within ", timeout_ms, " ms");
  }

  const std::shared_ptr<Peers> peers_;
  const size_t offset_;
};

// What a rank tells the others of its block.
struct Offer {
  int64_t process;
  int64_t bytes;
  int32_t descriptor;
  int32_t device;
};

// Each rank's bytes, by a store. All ranks meet in the same order, so a number tells the meetings of a group apart.
class Meeting {
 public:
  Meeting(const std::string& group_name, c10d::ProcessGroup& group)
      : prefix_("MUSASymmetricMemory/" + group_name + "/" + std::to_string(count(group_name)) + "/"), group_(group) {}

  std::vector<Offer> exchange(const Offer& mine) {
    std::vector<uint8_t> bytes(sizeof(mine));
    std::memcpy(bytes.data(), &mine, sizeof(mine));
    group_.getStore()->set(key("offer", group_.getRank()), bytes);
    std::vector<Offer> all(static_cast<size_t>(group_.getSize()));
    for (int rank = 0; rank < group_.getSize(); ++rank) {
      const auto theirs = group_.getStore()->get(key("offer", rank));
      TORCH_CHECK(theirs.size() == sizeof(Offer), "rank ", rank, " wrote something else into the store of ", prefix_);
      std::memcpy(&all[static_cast<size_t>(rank)], theirs.data(), sizeof(Offer));
    }
    return all;
  }
  void end() {
    group_.getStore()->set(key("end", group_.getRank()), std::vector<uint8_t>{1});
    for (int rank = 0; rank < group_.getSize(); ++rank) {
      group_.getStore()->get(key("end", rank));
    }
  }

 private:
  static uint64_t count(const std::string& group_name) {
    static std::mutex mutex;
    static auto* meetings = new std::map<std::string, uint64_t>();
    const std::lock_guard<std::mutex> lock(mutex);
    return (*meetings)[group_name]++;
  }
  std::string key(const char* what, int rank) const {
    return prefix_ + what + "/" + std::to_string(rank);
  }

  const std::string prefix_;
  c10d::ProcessGroup& group_;
};

void check_offers(const std::vector<Offer>& offers) {
  std::set<int> devices;
  for (const auto& offer : offers) {
    TORCH_CHECK(
        devices.insert(offer.device).second,
        "rendezvous: two ranks have allocated on device ", offer.device, "; symmetric memory needs a device for each rank");
    TORCH_CHECK(
        offer.bytes == offers[0].bytes,
        "rendezvous: all ranks must allocate the same size, but they allocated ", offers[0].bytes, " and ", offer.bytes, " bytes");
  }
}

std::shared_ptr<Peers> meet(const BlockPtr& mine, int device, const std::string& group_name) {
  const auto group = c10d::resolve_process_group(group_name);
  Meeting meeting(group_name, *group);
  const int descriptor = mine->descriptor();
  const auto offers = meeting.exchange({getpid(), static_cast<int64_t>(mine->bytes()), descriptor, device});
  check_offers(offers);
  std::vector<BlockPtr> blocks;
  for (int rank = 0; rank < group->getSize(); ++rank) {
    const auto& offer = offers[static_cast<size_t>(rank)];
    const bool is_mine = rank == group->getRank();
    blocks.push_back(is_mine ? mine : SharedBlock::open(offer.process, offer.descriptor, mine->bytes(), device));
  }
  meeting.end(); // from here on nobody needs the descriptor
  close(descriptor);
  return std::make_shared<Peers>(group->getRank(), device, std::move(blocks));
}

class Allocator final : public SymmetricMemoryAllocator {
 public:
  void* alloc(size_t size, int device, const Name& group_name) override {
    refuse_after_fork();
    auto block = SharedBlock::make(device, size);
    void* address = block->address();
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_[static_cast<char*>(address)] = {std::move(block), device, group_name, {}};
    return address;
  }
  void free(void* address) override {
    Kept last; // unmapped after the lock has been released
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto kept = kept_.find(static_cast<char*>(address));
    if (kept != kept_.end()) {
      last = std::move(kept->second);
      kept_.erase(kept);
    }
  }
  size_t get_alloc_size(void* address) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto kept = kept_.find(static_cast<char*>(address));
    TORCH_CHECK(kept != kept_.end(), "get_alloc_size: this is no address of an allocation of symmetric memory");
    return kept->second.block->bytes();
  }
  c10::intrusive_ptr<SymmetricMemory> rendezvous(void* address, const Name& asked) override {
    const auto [kept, offset] = covering(static_cast<char*>(address));
    if (kept.block == nullptr) {
      return nullptr;
    }
    const auto name = asked.has_value() && !asked->empty() ? asked : kept.group_name;
    TORCH_CHECK(name.has_value(), "rendezvous: no group was named, neither here nor in the allocation");
    auto peers = kept.met.count(*name) != 0 ? kept.met.at(*name) : meet(kept.block, kept.device, *name);
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.at(kept.block->address()).met[*name] = peers;
    return c10::make_intrusive<Symmetric>(std::move(peers), offset);
  }
  bool has_multicast_support(int /*device*/) override {
    return false;
  }
  c10::DeviceType supported_device_type() { // newer than the oldest torch that has this interface
    return kMusa;
  }
  std::string name() {
    return "MUSA";
  }
  bool has_allocation(void* address) {
    return covering(static_cast<char*>(address)).first.block != nullptr;
  }

 private:
  struct Kept {
    BlockPtr block;
    int device = 0;
    Name group_name;
    std::map<std::string, std::shared_ptr<Peers>> met; // by the group
  };

  // The allocation that the address lies in, and where; without a block if there is none.
  std::pair<Kept, size_t> covering(char* address) {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto next = kept_.upper_bound(address);
    if (next == kept_.begin()) {
      return {};
    }
    const auto& kept = std::prev(next)->second;
    const auto offset = static_cast<size_t>(address - kept.block->address());
    return offset < kept.block->bytes() ? std::pair{kept, offset} : std::pair<Kept, size_t>{};
  }

  std::mutex mutex_;
  std::map<char*, Kept> kept_;
};

// For a pool, whose memory learns of its group in rendezvous().
std::shared_ptr<c10::Allocator> pool_allocator() {
  return std::make_shared<PoolAllocator>(PluggableAllocator{
      [](size_t bytes, int device, void*) { return c10d::symmetric_memory::get_allocator(kMusa)->alloc(bytes, device, std::nullopt); },
      [](void* address, size_t, int, void*) { c10d::symmetric_memory::get_allocator(kMusa)->free(address); }});
}

} // namespace

void register_symmetric_memory() {
  c10d::symmetric_memory::register_allocator(kMusa, c10::make_intrusive<Allocator>());
  c10d::symmetric_memory::register_mempool_allocator(kMusa, pool_allocator());
}

} // namespace musasim::mccl
#else
void musasim::mccl::register_symmetric_memory() {}
#endif
