#include "shared_block.h"

#include "../runtime/device.h"

#include <c10/util/Exception.h>
#include <fcntl.h>
#include <musa_runtime_api.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace musasim::mccl {
namespace {

constexpr size_t kPage = size_t{2} << 20;
constexpr size_t kSignals = size_t{64} << 10; // more than torch's largest pad
constexpr int kReadsAndWrites = 3;

size_t rounded(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

size_t mapped_for(size_t bytes) {
  return rounded(rounded(bytes, 16) + kSignals, kPage);
}

void check(musaError_t error) {
  if (error != musaSuccess) {
    raise_musa_error(musaGetErrorString(error));
  }
}

} // namespace

std::shared_ptr<SharedBlock> SharedBlock::make(int device, size_t bytes) {
  unsigned long long handle = 0;
  const auto error = musasim_memory_create(&handle, mapped_for(bytes), device, 1);
  TORCH_CHECK_WITH(
      OutOfMemoryError,
      error != musaErrorMemoryAllocation,
      "MUSA out of memory. Tried to allocate ",
      mapped_for(bytes),
      " bytes of symmetric memory on device ",
      device);
  check(error);
  return std::shared_ptr<SharedBlock>(new SharedBlock(handle, bytes, device));
}

std::shared_ptr<SharedBlock> SharedBlock::open(int64_t process, int descriptor, size_t bytes, int device) {
  const auto path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    raise_musa_error("invalid resource handle"); // the process that made it has ended
  }
  unsigned long long handle = 0;
  const auto error = musasim_memory_import(&handle, file);
  close(file);
  check(error);
  return std::shared_ptr<SharedBlock>(new SharedBlock(handle, bytes, device));
}

SharedBlock::SharedBlock(unsigned long long handle, size_t bytes, int device)
    : handle_(handle), bytes_(bytes), mapped_(mapped_for(bytes)) {
  void* base = nullptr;
  check(musasim_reserve(&base, mapped_, 0));
  address_ = static_cast<char*>(base);
  check(musasim_memory_map(base, mapped_, handle_));
  check(musasim_memory_permit(base, mapped_, device, kReadsAndWrites));
}

SharedBlock::~SharedBlock() {
  if (in_bad_fork()) {
    return;
  }
  musasim_memory_unmap(address_, mapped_);
  musasim_cancel_reservation(address_, mapped_);
  musasim_memory_release(handle_);
}

uint32_t* SharedBlock::signals() const {
  return reinterpret_cast<uint32_t*>(address_ + rounded(bytes_, 16));
}

int SharedBlock::descriptor() const {
  int file = -1;
  check(musasim_memory_export(handle_, &file));
  return file;
}

} // namespace musasim::mccl
