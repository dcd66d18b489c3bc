#include "reservation.h"

#include "pages.h"
#include "postponed.h"
#include "protected_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace musart {
namespace {

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

off_t place_in_file(const Reservation& in, const char* address) {
  return static_cast<off_t>(address - in.base);
}

bool map_from_file(const Reservation& in, char* address, size_t bytes) {
  const int flags = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
  return mmap(address, bytes, kReadWrite, flags, in.file, place_in_file(in, address)) != MAP_FAILED;
}

bool move_to_file(const Reservation& in, const Allocation& piece) {
  return copy_touched_pages(piece.base, piece.size, in.file, static_cast<size_t>(piece.base - in.base)) &&
      map_from_file(in, piece.base, piece.size);
}

} // namespace

Reservation* reserve(int device, size_t bytes, size_t alignment) {
  const size_t more = alignment > kPage ? alignment : 0;
  void* found = mmap(nullptr, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) {
    return nullptr;
  }
  auto* begin = static_cast<char*>(found);
  const size_t over = more == 0 ? 0 : (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
  if (over != 0) {
    munmap(begin, over);
  }
  if (more != over) {
    munmap(begin + over + bytes, more - over);
  }
  return new Reservation{begin + over, bytes, device};
}

bool map(Reservation& in, char* address, size_t bytes) {
  const DeviceWork work;
  if (!take_memory(in.device, bytes)) {
    return false;
  }
  const bool usable = in.file >= 0 ? map_from_file(in, address, bytes) : mprotect(address, bytes, kReadWrite) == 0;
  usable ? add_piece(in, address, bytes, in.device) : give_memory_back(in.device, bytes);
  return usable;
}

void unmap(Reservation& in, char* address, size_t bytes) {
  postponed::finish();
  remove_piece(address, bytes);
  give_memory_back(in.device, bytes);
  close_off(address, bytes);
#ifdef FALLOC_FL_PUNCH_HOLE
  if (in.file >= 0) { // so that it is zero when it is mapped again
    const int flags = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    fallocate(in.file, flags, place_in_file(in, address), static_cast<off_t>(bytes));
  }
#endif
}

void cancel(Reservation* reservation) {
  munmap(reservation->base, reservation->size);
  if (reservation->file >= 0) {
    close(reservation->file);
  }
  delete reservation;
}

int share(Reservation& reservation) {
  const DeviceWork work;
  if (reservation.file >= 0) {
    return reservation.file;
  }
  reservation.file = memfd_create("musart", MFD_CLOEXEC);
  const auto pieces = pieces_of(reservation);
  const bool moved = reservation.file >= 0 && ftruncate(reservation.file, static_cast<off_t>(reservation.size)) == 0 &&
      std::all_of(pieces.begin(), pieces.end(), [&](const auto& piece) { return move_to_file(reservation, piece); });
  if (!moved && reservation.file >= 0) {
    close(std::exchange(reservation.file, -1));
  }
  return reservation.file;
}

} // namespace musart
