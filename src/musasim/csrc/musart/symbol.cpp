// __device__, __constant__ and __managed__ variables. All devices share one copy, although each should have its own.
#include "api.h"
#include "include/musasim/engine.h"

#include <cstring>
#include <map>
#include <shared_mutex>

namespace musart {
namespace {

struct Symbols {
  std::shared_mutex mutex;
  std::map<const char*, size_t> by_address;
};

Symbols& symbols() {
  static auto* all = new Symbols();
  return *all;
}

} // namespace

// Unloading a library removes its variables, and another library may get their addresses.
void add_symbol(void* address, size_t bytes) {
  auto& all = symbols();
  const std::unique_lock<std::shared_mutex> lock(all.mutex);
  all.by_address[static_cast<const char*>(address)] = bytes;
}

size_t room_in_symbol(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  auto& all = symbols();
  const std::shared_lock<std::shared_mutex> lock(all.mutex);
  auto after = all.by_address.upper_bound(address);
  if (after == all.by_address.begin()) {
    return 0;
  }
  --after;
  const auto* end = after->first + after->second;
  return address < end ? static_cast<size_t>(end - address) : 0;
}

} // namespace musart

using namespace musart;

void musasim_register_symbol(void* address, size_t bytes, const char*) {
  add_symbol(address, bytes);
}

musaError_t musaGetSymbolAddress(void** address, const void* symbol) {
  if (const auto error = enter()) {
    return remember(error);
  }
  if (address == nullptr || room_in_symbol(symbol) == 0) {
    return remember(musaErrorInvalidSymbol);
  }
  *address = const_cast<void*>(symbol);
  return musaSuccess;
}

musaError_t musaGetSymbolSize(size_t* bytes, const void* symbol) {
  if (const auto error = enter()) {
    return remember(error);
  }
  const size_t room = room_in_symbol(symbol);
  if (bytes == nullptr || room == 0) {
    return remember(musaErrorInvalidSymbol);
  }
  *bytes = room;
  return musaSuccess;
}

namespace {

musaError_t check_symbol(const void* symbol, size_t count, size_t offset) {
  if (const auto error = enter()) {
    return error;
  }
  const size_t room = room_in_symbol(symbol);
  if (room == 0) {
    return musaErrorInvalidSymbol;
  }
  return offset <= room && count <= room - offset ? musaSuccess : musaErrorInvalidValue;
}

} // namespace

musaError_t musaMemcpyToSymbol(const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpy(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, count, kind);
}

musaError_t musaMemcpyFromSymbol(void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpy(to, static_cast<const char*>(symbol) + offset, count, kind);
}

musaError_t musaMemcpyToSymbolAsync(
    const void* symbol, const void* from, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpyAsync(static_cast<char*>(const_cast<void*>(symbol)) + offset, from, count, kind, stream);
}

musaError_t musaMemcpyFromSymbolAsync(
    void* to, const void* symbol, size_t count, size_t offset, musaMemcpyKind kind, musaStream_t stream) {
  if (const auto error = check_symbol(symbol, count, offset)) {
    return remember(error);
  }
  return musaMemcpyAsync(to, static_cast<const char*>(symbol) + offset, count, kind, stream);
}
